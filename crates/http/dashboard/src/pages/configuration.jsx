// What holds for all agents: config.yaml and the home's SOUL.md, as texts; its accounts and hooks also
// as forms.
import { useState } from "preact/hooks";
import { checked, drafts, edit, useDrafts, useSchema, useValue } from "../lib/drafts.js";
import { me } from "../lib/me.js";
import { ask, route } from "../lib/router.js";
import { AccountsForm } from "../ui/accounts_form.jsx";
import { names } from "../ui/agent_form.jsx";
import { Editor } from "../ui/editor.jsx";
import { HooksForm } from "../ui/hooks_form.jsx";
import { Loading, Page, Problem, Tabs } from "../ui/parts.jsx";
import { DraftBar, findingsOf } from "../ui/review.jsx";

const FILES = ["config.yaml", "SOUL.md"];

/** What of config.yaml is changed by a form. */
function Form() {
  const value = useValue(drafts.value.get(FILES[0])?.text);
  const [error, setError] = useState(null);
  if (value === undefined) return <Loading />;
  if (value === null) return <Problem error={{ message: "config.yaml can't be read as it is; the text shows what is wrong." }} />;
  return (
    <div class="stack">
      <Problem error={error} />
      <AccountsForm value={value} onError={setError} />
      <HooksForm file={FILES[0]} path={["hooks"]} value={value?.hooks} title="Hooks for every agent" hint="What is asked before any agent does something, or told after it did. Each agent has its own besides." onError={setError} />
    </div>
  );
}

export function Configuration() {
  const { error } = useDrafts(FILES);
  const schema = useSchema();
  const isForm = route.value.query.file === "form" && me.value.changes;
  const file = FILES.includes(route.value.query.file) ? route.value.query.file : FILES[0];
  const draft = drafts.value.get(file);
  const readOnly = !me.value.changes;
  return (
    <Page title="Configuration" lead={readOnly ? "Nothing is changed over HTTP here: api.changes is false. Edit the files on the machine." : "What holds for all agents. What you write is checked as you write, and applied once you looked at what it does."}>
      <Tabs label="Files" tabs={[...FILES.map((it) => [it, it]), ...(readOnly ? [] : [["form", "Accounts and hooks"]])]} value={isForm ? "form" : file} onChange={(next) => ask({ file: next })} />
      <Problem error={error} />
      {!draft && !error && <Loading />}
      {isForm && draft && !draft.trouble && <Form />}
      {draft?.trouble && <Problem error={{ message: draft.trouble }} />}
      {!isForm && draft && !draft.trouble && <Editor key={file} label={`Text of ${file}`} kind={file === "SOUL.md" ? "prose" : "top"} text={draft.text} readOnly={readOnly} schema={schema} names={names()} findings={findingsOf(checked.value?.answer, (it) => it === file)} onInput={(text) => edit(file, text)} />}
      {!readOnly && <DraftBar />}
    </Page>
  );
}

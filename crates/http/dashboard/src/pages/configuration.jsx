// What holds for all agents: config.yaml and the home's SOUL.md, as texts.
import { checked, drafts, edit, useDrafts, useSchema } from "../lib/drafts.js";
import { me } from "../lib/me.js";
import { ask, route } from "../lib/router.js";
import { names } from "../ui/agent_form.jsx";
import { Editor } from "../ui/editor.jsx";
import { Loading, Page, Problem, Tabs } from "../ui/parts.jsx";
import { DraftBar, findingsOf } from "../ui/review.jsx";

const FILES = ["config.yaml", "SOUL.md"];

export function Configuration() {
  const { error } = useDrafts(FILES);
  const schema = useSchema();
  const file = FILES.includes(route.value.query.file) ? route.value.query.file : FILES[0];
  const draft = drafts.value.get(file);
  const readOnly = !me.value.changes;
  return (
    <Page title="Configuration" lead={readOnly ? "Nothing is changed over HTTP here: api.changes is false. Edit the files on the machine." : "What holds for all agents. What you write is checked as you write, and applied once you looked at what it does."}>
      <Tabs label="Files" tabs={FILES.map((it) => [it, it])} value={file} onChange={(next) => ask({ file: next })} />
      <Problem error={error} />
      {!draft && !error && <Loading />}
      {draft?.trouble && <Problem error={{ message: draft.trouble }} />}
      {draft && !draft.trouble && <Editor key={file} label={`Text of ${file}`} kind={file === "SOUL.md" ? "prose" : "top"} text={draft.text} readOnly={readOnly} schema={schema} names={names()} findings={findingsOf(checked.value?.answer, (it) => it === file)} onInput={(text) => edit(file, text)} />}
      {!readOnly && <DraftBar />}
    </Page>
  );
}

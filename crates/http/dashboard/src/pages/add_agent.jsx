// A new agent: by a template, looked at as its files before there is one.
import { useState } from "preact/hooks";
import { api, at } from "../lib/api.js";
import { begin, changed, checked, drafts, edit, useSchema } from "../lib/drafts.js";
import { agents, me } from "../lib/me.js";
import { useResource } from "../lib/resource.js";
import { go, to } from "../lib/router.js";
import { names } from "../ui/agent_form.jsx";
import { Editor } from "../ui/editor.jsx";
import { Button, Field, Page, Problem, Section, Shown, Ticked } from "../ui/parts.jsx";
import { DraftBar, findingsOf, NoChanges } from "../ui/review.jsx";

export function AddAgent() {
  const templates = useResource(({ signal }) => api.get("/api/config/templates", { signal }), []);
  const [wish, setWish] = useState({ template: "assistant", id: "", name: "", model: "" });
  const [error, setError] = useState(null);
  const schema = useSchema();
  const type = (key) => (event) => setWish({ ...wish, [key]: event.currentTarget.value });
  async function draft(event) {
    event.preventDefault();
    setError(null);
    const { template, id, name, model } = wish;
    try {
      const { files } = await api.post(at("config", "templates", template), { id, name: name || undefined, model: model || undefined });
      files.forEach(begin);
    } catch (fault) {
      setError(fault);
    }
  }
  if (!me.value.changes) {
    return (
      <Page title="Add an agent">
        <NoChanges />
      </Page>
    );
  }
  // Also those that were begun before, and left for another page.
  const idOf = (file) => /^agents\/([^/]+)\//.exec(file)?.[1];
  const open = changed.value.map((it) => it.file).filter((file) => idOf(file) && !agents.value.has(idOf(file)));
  return (
    <Page
      title="Add an agent"
      lead={
        <>
          <a class="back" href={to("agents")}>All agents</a> · Nothing is written before you looked at it.
        </>
      }
    >
      {open.length === 0 ? (
        <form class="stack" onSubmit={draft}>
          <Shown of={templates}>
            {(all) => (
              <fieldset class="templates">
                <legend>What is it to be?</legend>
                {all.map((it) => (
                  <label key={it.name}>
                    <input type="radio" name="template" value={it.name} checked={wish.template === it.name} onChange={type("template")} />
                    <span class="strong">{it.name}</span>
                    <span class="quiet small"><Ticked text={it.about} /></span>
                  </label>
                ))}
              </fieldset>
            )}
          </Shown>
          <div class="form-grid">
            <Field label="Id" hint="a to z, 0 to 9, _ and -; it stays for good." required title="a to z, 0 to 9, _ and -" pattern="[a-z0-9][a-z0-9_\-]{0,63}" autocomplete="off" value={wish.id} onInput={type("id")} />
            <Field label="Name" hint="What people see it called; may be left out." value={wish.name} onInput={type("name")} />
            <Field label="Model" hint="provider/name; without one, the model of all agents." value={wish.model} onInput={type("model")} />
          </div>
          <Problem error={error} />
          <div class="row">
            <Button kind="main" type="submit">
              Look at it
            </Button>
          </div>
        </form>
      ) : (
        open.map((file) => (
          <Section key={file} title={file}>
            {/^default: true$/m.test(drafts.value.get(file).text) && <p class="under-tabs">No agent is the default yet, so this one becomes it: it answers wherever no rule leads to another.</p>}
            <Editor label={`Text of ${file}`} kind={file.endsWith(".yaml") ? "agent" : "prose"} text={drafts.value.get(file).text} schema={schema} names={names()} findings={findingsOf(checked.value?.answer, (it) => it === file)} onInput={(text) => edit(file, text)} />
          </Section>
        ))
      )}
      <DraftBar onDone={({ applied }) => applied.added.length > 0 && go(to("agents", [applied.added[0]]))} />
    </Page>
  );
}

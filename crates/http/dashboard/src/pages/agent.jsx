// One agent: what it is and by which settings, and for whoever may, changing it.
import { useState } from "preact/hooks";
import { api, at } from "../lib/api.js";
import { checked, drafts, edit, forget, useDrafts, useSchema } from "../lib/drafts.js";
import { agents, isAdmin, may, me, whoAmI } from "../lib/me.js";
import { useResource } from "../lib/resource.js";
import { ask, go, route, to } from "../lib/router.js";
import { took } from "../lib/words.js";
import { AgentForm, names } from "../ui/agent_form.jsx";
import { Confirm } from "../ui/confirm.jsx";
import { Editor, Findings } from "../ui/editor.jsx";
import { Button, Empty, Facts, Loading, Page, Problem, Search, Section, Shown, State, Tabs } from "../ui/parts.jsx";
import { DraftBar, findingsOf, NoChanges } from "../ui/review.jsx";
import { Table } from "../ui/table.jsx";
import "./agent.css";

const mayChange = () => isAdmin() && me.value.changes;

/** What can be done with it, each for whoever may. */
function Actions({ agent, onDone }) {
  const [asks, setAsks] = useState(null);
  const [error, setError] = useState(null);
  const { id, state } = agent;
  if (!me.value.changes || !may(id, "manage")) return null;
  const done = async () => {
    await whoAmI();
    onDone();
  };
  const post = (what) => async () => {
    await api.post(at("agents", id, what));
    await done();
  };
  const now = (what) => () => (setError(null), post(what)().catch(setError));
  const rests = state === "paused" || state === "archived";
  return (
    <>
      {rests ? <Button kind="main" onClick={now("resume")}>{state === "archived" ? "Unarchive" : "Resume"}</Button> : <Button onClick={now("pause")}>Pause</Button>}
      <Button onClick={now("reload")}>Reload</Button>
      {!rests && <Button onClick={() => setAsks("restart")}>Restart…</Button>}
      {isAdmin() && state !== "archived" && <Button onClick={() => setAsks("archive")}>Archive…</Button>}
      {isAdmin() && (
        <Button kind="danger" onClick={() => setAsks("delete")}>
          Delete…
        </Button>
      )}
      <Problem error={error} />
      {asks === "restart" && (
        <Confirm title={`Restart ${id}?`} verb="Restart" onYes={post("restart")} onClose={() => setAsks(null)}>
          <p>Its turns under way end, with its programs and MCP servers, and say so where they were asked. It begins anew from its files. No other agent is touched.</p>
        </Confirm>
      )}
      {asks === "archive" && (
        <Confirm title={`Archive ${id}?`} verb="Archive" onYes={post("archive")} onClose={() => setAsks(null)}>
          <p>It stops serving and keeps everything. It can be taken out again.</p>
        </Confirm>
      )}
      {asks === "delete" && (
        <Confirm
          title={`Delete ${id}?`}
          verb="Delete for good"
          typed={id}
          onYes={async () => {
            await api.del(at("agents", id));
            forget(`agents/${id}/`);
            await whoAmI();
            go(to("agents"));
          }}
          onClose={() => setAsks(null)}
        >
          <p>Its folder goes, with its memory, conversations, files, secrets and tokens. Nothing of it can be had back. What remains is one record that it existed and was deleted; while config.yaml names it, its name refuses.</p>
        </Confirm>
      )}
    </>
  );
}

function Names({ of, none = "none" }) {
  return of?.length > 0 ? (
    <span class="names">
      {of.map((it) => (
        <span key={it}>{it}</span>
      ))}
    </span>
  ) : (
    <span class="quiet">{none}</span>
  );
}

const limit = (of) =>
  [of?.usd_per_day != null && `$${of.usd_per_day} a day`, of?.tokens_per_day != null && `${of.tokens_per_day} tokens a day`, of?.turns_per_minute != null && `${of.turns_per_minute} turns a minute`].filter(Boolean).join(", ");

function Overview({ context }) {
  const { boundary, identity, memory } = context;
  const { approvals, spawn, integrity } = boundary;
  return (
    <>
      <div class="agent-grid">
        <section class="card" aria-label="What it is">
          <h2>What it is</h2>
          <Facts
            rows={[
              ["Name", identity.name],
              ["Description", identity.description],
              ["Models", <Names of={context.models} />],
              ["Generation", context.generation],
              ["Memory", memory ? `one for each ${memory.scope === "auto" ? "topic, chat or person" : memory.scope}, global writes: ${memory.global_writes}` : "off"],
              ["Also reads", memory?.also_read.length > 0 && memory.also_read.join(", ")],
              ["Conversations", `direct: ${context.sessions.dm.replaceAll("_", " ")}, groups: ${context.sessions.group.replaceAll("_", " ")}`],
              ["Time zone", identity.timezone],
              ["Skills", context.skills.names.length > 0 && <Names of={context.skills.names} />],
            ]}
          />
        </section>
        <section class="card" aria-label="Boundary">
          <h2>What it may do</h2>
          <Facts
            rows={[
              ["Isolation", boundary.isolation],
              ["Network", <Names of={boundary.network.map((it) => it.join(", "))} none="none" />],
              ["Secrets", <Names of={boundary.secrets} />],
              ["Shared folders", boundary.files.shared.length > 0 && <Names of={boundary.files.shared.map((it) => `${it.path} (${it.mode})`)} />],
              ["Workspace", `${context.workspace.path}, one for each ${boundary.files.workspace}`],
              ["Approvals", `${approvals.mode}, ${took(approvals.timeout_ms)} to answer`],
              ["Integrity", integrity.profile],
              ["Budget", limit(boundary.budget) || "no limit of its own"],
              ["Sub-agents", spawn.max_depth > 0 ? `${spawn.max_children} at once, ${spawn.max_depth} deep` : "none"],
              ["Links", boundary.links.length > 0 && <Names of={boundary.links.map((it) => `${it.as} ${it.to}`)} />],
              ["Sends to", boundary.messages.to.length > 0 && <Names of={boundary.messages.to} />],
            ]}
          />
        </section>
        <section class="card" aria-label="Tools">
          <h2>Tools</h2>
          <Names of={context.tools} />
        </section>
        <section class="card" aria-label="Who it is">
          <h2>
            Who it is <span class="quiet small mono">{identity.soul_origin}</span>
          </h2>
          <pre class="soul" tabIndex={0}>{identity.soul}</pre>
        </section>
        {identity.instructions && (
          <section class="card" aria-label="What it is told">
            <h2>
              What it is told <span class="quiet small mono">{identity.instructions_origin}</span>
            </h2>
            <pre class="soul" tabIndex={0}>{identity.instructions}</pre>
          </section>
        )}
      </div>
    </>
  );
}

function Settings({ context }) {
  const [text, setText] = useState("");
  const wanted = text.toLowerCase();
  const value = (it) => (typeof it.value === "string" ? it.value : JSON.stringify(it.value));
  const rows = context.settings.filter((it) => it.setting.toLowerCase().includes(wanted) || it.origin.toLowerCase().includes(wanted) || value(it).toLowerCase().includes(wanted));
  return (
    <Section title="Every setting it runs by, and where it stands" actions={<Search label="Search settings" value={text} onInput={setText} />}>
      {rows.length === 0 ? (
        <Empty title={context.settings.length === 0 ? "Nothing is written about it: it runs by what is built in." : "No setting says that."} />
      ) : (
        <Table
          label="Settings"
          rows={rows}
          rowKey={(it) => it.setting}
          columns={[
            { key: "setting", title: "Setting", cell: (it) => <span class="strong">{it.setting}</span> },
            { key: "value", title: "Value", cell: (it) => <span class="setting-value">{value(it)}</span> },
            { key: "origin", title: "Where", cell: (it) => <span class="mono small">{it.origin}</span> },
          ]}
        />
      )}
    </Section>
  );
}

/** The files and the form. */
function Change({ id, settings, onDone }) {
  const own = `agents/${id}/agent.yaml`;
  const files = [own, `agents/${id}/SOUL.md`, `agents/${id}/AGENTS.md`, "config.yaml"];
  const { error, ready } = useDrafts(files);
  const schema = useSchema();
  const { query } = route.value;
  const view = query.view ?? "form";
  const file = { agent: own, soul: files[1], told: files[2], config: "config.yaml" }[view];
  const draft = file && drafts.value.get(file);
  const findings = findingsOf(checked.value?.answer, (it) => it === file);
  const wrong = findingsOf(checked.value?.answer, (it) => files.includes(it)).filter((it) => it.tone === "bad");
  return (
    <>
      <Tabs
        label="How it is changed"
        value={view}
        onChange={(next) => ask({ view: next })}
        tabs={[["form", "Form"], ["agent", "agent.yaml"], ["soul", "SOUL.md"], ["told", "AGENTS.md"], ["config", "config.yaml"]]}
      />
      <Problem error={error} />
      {!ready && !error && <Loading />}
      {ready && view === "form" && (
        <>
          <AgentForm agent={id} settings={settings} />
          <Findings findings={wrong} onGo={(it) => ask({ view: it.file === own ? "agent" : "config" })} />
        </>
      )}
      {draft && draft.trouble && <Problem error={{ message: draft.trouble }} />}
      {draft && !draft.trouble && (
        <>
          {draft.base === null && <p class="quiet under-tabs">There is no such file yet; it comes to be with what you write.</p>}
          <Editor key={file} label={`Text of ${file}`} kind={view === "agent" ? "agent" : view === "config" ? "top" : "prose"} text={draft.text} schema={schema} names={names()} findings={findings} onInput={(text) => edit(file, text)} />
        </>
      )}
      <DraftBar onDone={onDone} />
    </>
  );
}

export function Agent({ id }) {
  const agent = agents.value.get(id);
  const context = useResource(({ signal }) => api.get(at("agents", id, "context"), { signal }), [id, agent?.generation, agent?.state], (told) => told.agent === id && told.event === "health");
  if (!agent || !may(id, "read")) {
    return (
      <Page title="Not here">
        <Empty title="There is no such agent, or it is not yours.">
          <a href={to("agents")}>To the agents</a>
        </Empty>
      </Page>
    );
  }
  const { query } = route.value;
  const canChange = isAdmin();
  const tab = query.tab ?? (agent.state === "failed" && canChange ? "change" : "overview");
  const tabs = [["overview", "Overview"], ["settings", "Settings"], ...(canChange ? [["change", "Change"]] : [])];
  return (
    <Page
      title={id}
      lead={
        <>
          <a class="back" href={to("agents")}>All agents</a> · <State state={agent.state} /> {agent.description ?? agent.name}
        </>
      }
      actions={<Actions agent={agent} onDone={context.reload} />}
    >
      {agent.reason && <Problem error={{ message: agent.reason }} />}
      <p class="row small under-tabs">
        {may(id, "chat") && <a href={to("chat", [id])}>Talk to it</a>}
        <a href={to("map", [], { agent: id })}>On the map, and why</a>
      </p>
      <Tabs tabs={tabs} value={tab} onChange={(next) => ask({ tab: next, view: undefined })} />
      {tab === "change" && canChange ? (
        mayChange() ? <Change id={id} settings={context.data?.settings} onDone={context.reload} /> : <NoChanges />
      ) : agent.state === "failed" ? (
        <Empty title="It can't start, so there is nothing that it has." />
      ) : (
        <Shown of={context}>{(it) => (tab === "settings" ? <Settings context={it} /> : <Overview context={it} />)}</Shown>
      )}
    </Page>
  );
}

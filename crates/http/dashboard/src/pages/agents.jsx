// The agents that whoever signed in may do anything with.
import { useState } from "preact/hooks";
import { listen } from "../lib/events.js";
import { askAgain, isAdmin, me } from "../lib/me.js";
import { go, route, to } from "../lib/router.js";
import { many } from "../lib/words.js";
import { Empty, Page, Search, State, Ticked } from "../ui/parts.jsx";
import { Table } from "../ui/table.jsx";
import { Agent } from "./agent.jsx";
import "../ui/narrow.css";

// How an agent is stands in what `/api/me` says; it is asked again when one changes.
listen(({ event }) => event === "health" && askAgain());

export function Agents() {
  const [id] = route.value.rest;
  return id === undefined ? <All /> : <Agent key={id} id={id} />;
}

function All() {
  const [text, setText] = useState("");
  const all = me.value.agents;
  const wanted = text.toLowerCase();
  const rows = all.filter((it) => [it.id, it.name, it.description, it.model].some((part) => part?.toLowerCase().includes(wanted)));
  return (
    <Page title="Agents" lead={many(all.length, "agent")} actions={
        <>
          <Search label="Search agents" value={text} onInput={setText} />
          {isAdmin() && me.value.changes && (
            <a class="button main" href={to("add-agent")}>
              Add an agent
            </a>
          )}
        </>
      }
      wide
    >
      {rows.length === 0 ? (
        <Empty title={all.length === 0 ? "There are no agents yet." : "No agent is called like that."} />
      ) : (
        <div class="narrow">
        <Table
          label="Agents"
          card={172}
          rows={rows}
          rowKey={(it) => it.id}
          onOpen={(it) => go(to("agents", [it.id]))}
          columns={[
            { key: "id", title: "Agent", width: "34%", wraps: true, cell: (it) => <a class="strong" href={to("agents", [it.id])}>{it.id}</a> },
            { key: "state", title: "State", width: "9rem", cell: (it) => <State state={it.state} title={it.reason} /> },
            { key: "model", title: "Model", width: "22%", wraps: true, cell: (it) => it.model && <span>{it.model}</span> },
            { key: "about", title: "About", cell: (it) => (it.reason ? <Ticked text={it.reason} /> : it.description && <span>{it.description}</span>) },
          ]}
        />
        </div>
      )}
    </Page>
  );
}

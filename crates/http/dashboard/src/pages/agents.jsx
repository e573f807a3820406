// The agents that whoever signed in may do anything with.
import { useState } from "preact/hooks";
import { listen } from "../lib/events.js";
import { me, whoAmI } from "../lib/me.js";
import { many } from "../lib/words.js";
import { Empty, Page, Search, State } from "../ui/parts.jsx";
import { Table } from "../ui/table.jsx";

// How an agent is stands in what `/api/me` says; it is asked again when one changes.
listen(({ event }) => event === "health" && whoAmI().catch(() => {}));

export function Agents() {
  const [text, setText] = useState("");
  const all = me.value.agents;
  const wanted = text.toLowerCase();
  const rows = all.filter((it) => [it.id, it.name, it.description, it.model].some((part) => part?.toLowerCase().includes(wanted)));
  return (
    <Page title="Agents" lead={many(all.length, "agent")} actions={<Search label="Search agents" value={text} onInput={setText} />}>
      {rows.length === 0 ? (
        <Empty title={all.length === 0 ? "There are no agents yet." : "No agent is called like that."} />
      ) : (
        <Table
          label="Agents"
          rows={rows}
          rowKey={(it) => it.id}
          columns={[
            { key: "id", title: "Agent", cell: (it) => <span class="strong">{it.id}</span> },
            { key: "state", title: "State", cell: (it) => <State state={it.state} title={it.reason} /> },
            { key: "model", title: "Model", cell: (it) => it.model ?? "" },
            { key: "about", title: "About", cell: (it) => it.reason ?? it.description ?? "" },
          ]}
        />
      )}
    </Page>
  );
}

// What it costs: over time, by agent, model, person, scope or key, and what budgets leave of today.
import { useMemo, useState } from "preact/hooks";
import { api, query } from "../lib/api.js";
import { BY, MEASURES, RANGES, asked, budgetBars, drawn, firstUse, from, nearness, since, sum } from "../lib/costs.js";
import { agents, me } from "../lib/me.js";
import { useResource } from "../lib/resource.js";
import { ask, route, to } from "../lib/router.js";
import { useSoon } from "../lib/soon.js";
import { count, usd } from "../lib/words.js";
import { Choice, Empty, Page, Search, Section, Shown, Tabs, Ticked } from "../ui/parts.jsx";
import { Plot } from "../ui/plot.jsx";
import { Table } from "../ui/table.jsx";
import "../ui/narrow.css";
import "./costs.css";

const dollars = (value) => usd(Math.round(value * 1e6));
/** How soon after a turn its cost is read: many end where there are many agents. */
const PAUSE_MS = 2_000;

/** A day of the costs, which begin at midnight UTC. */
const dayOf = (time) => new Date(time * 1000).toLocaleDateString([], { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" });

/** The key of what none of the names used; no name is like that. */
const OTHERS = "\n";

/** Writes an amount of a measure. */
const writer = { usd: dollars, tokens: (value) => count(Math.round(value)), turns: (value) => count(Math.round(value)) };

function Figures({ costs, measure, byCalls }) {
  const say = writer[measure];
  const { usd: money, tokens, turns } = costs.total;
  const own = costs.total[measure];
  const used = own.filter((it) => it > 0).length;
  const most = own.reduce((best, it, index) => (it > own[best] ? index : best), 0);
  const hourly = costs.step === "hour";
  const today = hourly ? sum(own.slice(-24)) : own.at(-1);
  return (
    <div class="figures">
      <div>
        <b>{dollars(sum(money))}</b>
        <span class="quiet">in all</span>
      </div>
      <div>
        <b>{say(today)}</b>
        <span class="quiet">{hourly ? "in the last 24 hours" : "today"}</span>
      </div>
      <div>
        <b>{say(used > 0 ? sum(own) / used : 0)}</b>
        <span class="quiet">{hourly ? "in an hour with use" : "on a day with use"}</span>
      </div>
      {sum(own) > 0 && !hourly && (
        <div>
          <b>{say(own[most])}</b>
          <span class="quiet">on {new Date(costs.times[most] * 1000).toLocaleDateString([], { day: "numeric", month: "long", timeZone: "UTC" })}, the most</span>
        </div>
      )}
      <div>
        <b>{count(sum(tokens))}</b>
        <span class="quiet">tokens</span>
      </div>
      {!byCalls && (
        <div>
          <b>{count(sum(turns))}</b>
          <span class="quiet">turns</span>
        </div>
      )}
    </div>
  );
}

/** How much of a budget is used, as a bar and in words. */
function Bar({ of, label }) {
  const say = writer[of.what];
  return (
    <div class="budget-bar">
      <div class="row small">
        <span>{say(of.used)}</span>
        <span class="quiet">of {say(of.limit)}{of.what === "tokens" ? " tokens" : ""}</span>
        <span class={`push ${nearness(of.part) === "bad" ? "bad" : "quiet"}`}>{of.part >= 1 ? "used up" : `${Math.floor(of.part * 100)} %`}</span>
      </div>
      <meter class={nearness(of.part)} aria-label={label} min={0} max={1} value={of.part} />
    </div>
  );
}

function Budgets({ costs }) {
  const [text, setText] = useState("");
  const all = costs.budgets.flatMap((it) => budgetBars(it).map((bar) => ({ ...bar, agent: it.agent })));
  const rows = all.filter((it) => it.agent.includes(text.toLowerCase())).sort((a, b) => b.part - a.part || a.agent.localeCompare(b.agent));
  const ofAll = costs.budget ? budgetBars(costs.budget) : [];
  return (
    <Section title="Budgets of today" actions={all.length > 12 && <Search label="Search budgets" value={text} onInput={setText} />}>
      {ofAll.length > 0 && (
        <div class="card budget-of-all">
          <h3>All agents together</h3>
          {ofAll.map((it) => (
            <Bar key={it.what} of={it} label={`Used of the ${it.what === "usd" ? "money" : "tokens"} of all agents together`} />
          ))}
        </div>
      )}
      {all.length === 0 && ofAll.length === 0 ? (
        <p class="quiet">
          Nobody has a budget. <code>budget: {"{usd_per_day: 5}"}</code> of an agent, or of the daemon, sets one.
        </p>
      ) : (
        rows.length > 0 && (
          <Table
            label="Budgets of agents"
            rows={rows}
            rowKey={(it) => `${it.agent}:${it.what}`}
            height={56}
            columns={[
              { key: "agent", title: "Agent", width: "34%", cell: (it) => <a href={to("costs", [], { ...route.value.query, agent: it.agent })}>{it.agent}</a> },
              { key: "bar", title: "Used today", cell: (it) => <Bar of={it} label={`Used of the ${it.what === "usd" ? "money" : "tokens"} of ${it.agent}`} /> },
            ]}
          />
        )
      )}
    </Section>
  );
}

function Parts({ costs, by, measure }) {
  const value = (it) => (measure === "usd" ? it.usd : measure === "turns" ? it.turns : it.input_tokens + it.output_tokens);
  const calls = by === "model" || by === "key";
  const rows = [...costs.parts].sort((a, b) => value(b) - value(a));
  // Turns are no calls: of these it is not known how many are nobody's.
  const { unnamed } = costs;
  if (unnamed) rows.push({ ...unnamed, name: OTHERS, rest: true, turns: calls ? 0 : unnamed.turns });
  const total = calls && measure === "turns" ? sum(costs.parts.map(value)) : sum(costs.total[measure]);
  const called = (it) => (it.rest ? "all others" : it.name.replaceAll("`", ""));
  if (rows.length === 0) return null;
  return (
    <Section title={BY.find(([key]) => key === by)[1]}>
      <div class="broad narrow">
      <Table
        label={BY.find(([key]) => key === by)[1]}
        rows={rows}
        rowKey={(it) => it.name}
        columns={[
          { key: "name", title: by === "agent" ? "Agent" : by[0].toUpperCase() + by.slice(1), width: "34%", cell: (it) => (by === "agent" && agents.value.has(it.name) ? <a href={to("costs", [], { ...route.value.query, agent: it.name })}>{it.name}</a> : it.rest ? "all others" : <Ticked text={it.name} />) },
          { key: "part", title: "Part", cell: (it) => <span class="part"><meter aria-label={`Part of ${called(it)}`} min={0} max={1} value={total > 0 ? value(it) / total : 0} /> <span class="quiet small">{total > 0 ? `${Math.round((value(it) / total) * 100)} %` : ""}</span></span> },
          { key: "usd", title: "Dollars", num: true, cell: (it) => dollars(it.usd) },
          { key: "in", title: "Tokens in", num: true, cell: (it) => <span title={it.cached_tokens > 0 ? `${count(it.cached_tokens)} of them were kept by the provider` : undefined}>{count(it.input_tokens)}</span> },
          { key: "out", title: "Tokens out", num: true, cell: (it) => count(it.output_tokens) },
          { key: "turns", title: calls ? "Calls" : "Turns", num: true, cell: (it) => (it.rest && calls ? "" : count(it.turns)) },
        ]}
      />
      </div>
    </Section>
  );
}

export function Costs() {
  const { query: q } = route.value;
  const range = RANGES.some(([key]) => key === q.range) ? q.range : "30";
  const by = range === "48h" ? "agent" : BY.some(([key]) => key === q.by) ? q.by : "agent";
  const measure = MEASURES.some(([key]) => key === q.measure) ? q.measure : "usd";
  const agent = agents.value.has(q.agent) ? q.agent : undefined;
  const of = useResource(({ signal }) => api.get(query("/api/costs", asked({ range, by, agent })), { signal }), [range, by, agent], ({ event }) => event === "turn.ended" && soon());
  const soon = useSoon(of.reload, PAUSE_MS);
  const readers = me.value.agents.filter((it) => it.verbs.includes("read")).map((it) => it.id);
  const shown = useMemo(() => {
    if (!of.data) return null;
    const cut = from(of.data, since(of.data));
    return { ...cut, rest: cut.rest && { ...cut.rest, rest: true } };
  }, [of.data]);
  const series = useMemo(() => (shown ? drawn(shown, measure) : []), [shown, measure]);
  const calls = by === "model" || by === "key";
  const measures = MEASURES.map(([key, text]) => [key, key === "turns" && calls ? "Calls" : text]);
  return (
    <Page
      title="Costs"
      lead={agent ? `What ${agent} used.` : "What your agents used, and what their budgets leave."}
      actions={
        <>
          {readers.length > 1 && <AgentChoice agents={readers} agent={agent} />}
          {range !== "48h" && <Choice label="What it is told by" value={by} options={BY} onChange={(it) => ask({ by: it })} />}
          <Choice label="Since when" value={range} options={RANGES} onChange={(it) => ask({ range: it })} />
        </>
      }
    >
      <Shown of={of}>
        {(costs) => (
          <>
            <Figures costs={costs} measure={measure} byCalls={calls} />
            <div class="card">
              <Tabs label="What is drawn" tabs={measures} value={measure} onChange={(it) => ask({ measure: it })} />
              {series.length === 0 ? (
                <Empty title={sum(costs.total.tokens) + sum(costs.total.turns) === 0 ? "Nothing was used in this time." : measure === "usd" ? "Nothing cost money in this time." : "Nothing of this kind."}>
                  {measure === "usd" && sum(costs.total.tokens) > 0 ? "Models of your own cost nothing, and neither do those without a price: prices stand under `prices` in config.yaml." : "Every turn of an agent is counted here, as soon as it has ended."}
                </Empty>
              ) : (
                <Plot times={shown.times} series={series} measure={measure} say={writer[measure]} byHour={costs.step === "hour"} label={`${measures.find(([key]) => key === measure)[1]} ${BY.find(([key]) => key === by)[1].toLowerCase()} over time, since ${costs.since}. The table below says the same in sums.`} />
              )}
              {series.length > 0 && shown.times.length < costs.times.length && <p class="quiet small">Nothing was used before {dayOf(firstUse(costs))}, so no more is drawn.</p>}
            </div>
            <Parts costs={costs} by={by} measure={measure} />
            <Budgets costs={costs} />
            <p class="quiet small foot">Days begin at midnight UTC. {calls && "What was used before this version told models apart is among all others."}</p>
          </>
        )}
      </Shown>
    </Page>
  );
}

/** One agent, or all: a list where there are few, a field that helps where there are many. */
function AgentChoice({ agents: all, agent }) {
  if (all.length <= 30) return <Choice label="Whose" value={agent ?? ""} options={[["", "All agents"], ...all]} onChange={(it) => ask({ agent: it || null })} />;
  return (
    <>
      <input class="search" type="search" list="costs-agents" aria-label="Whose" placeholder="All agents" value={agent ?? ""} onChange={(event) => ask({ agent: event.currentTarget.value || null })} />
      <datalist id="costs-agents">
        {all.map((it) => (
          <option key={it} value={it} />
        ))}
      </datalist>
    </>
  );
}

// The common settings of an agent as a form. Every field writes one key into the text of the file
// where it stands, or where it would stand; what is written in another way stays with the text.
import { useEffect, useRef, useState } from "preact/hooks";
import { drafts, typed as untaken, useValue, write } from "../lib/drafts.js";
import { me } from "../lib/me.js";
import { HooksForm } from "./hooks_form.jsx";
import { Button, Choice, Field, Loading, Problem } from "./parts.jsx";
import "./agent_form.css";

const PROFILES = ["minimal", "messaging", "coding", "full"];
const SCOPES = ["auto", "topic", "chat", "user", "global"];
const MODES = ["manual", "smart", "off"];
const PLATFORMS = ["telegram", "discord", "slack", "matrix", "whatsapp", "signal", "webchat", "webhook"];

const isMap = (it) => it !== null && typeof it === "object" && !Array.isArray(it);
const list = (text) => text.split(/[,\s]+/).filter(Boolean);

/** Where a key of an agent stands, or would. */
export function placeOf(agent, own, shared, key) {
  const [file, config] = [`agents/${agent}/agent.yaml`, shared?.agents?.[agent]];
  const inConfig = { file: "config.yaml", path: ["agents", agent], of: config };
  const inOwn = { file, path: [], of: own };
  if (isMap(config) && key in config) return inConfig;
  if (isMap(own) && key in own) return inOwn;
  const hasOwn = drafts.value.get(file)?.text.trim() !== "";
  const isNamed = isMap(shared?.agents) && agent in shared.agents;
  return !hasOwn && isNamed ? inConfig : inOwn;
}

/** How long after the last key a line is taken. */
const PAUSE_MS = 400;

/**
 * A line of text that is taken as it is typed, a moment after the last key, and when it is left.
 * What is typed since stays as it is.
 */
export function Line({ label, value, hint, placeholder, onTake, type = "text", multi }) {
  const [typed, setTyped] = useState(null);
  const mark = useRef({ timer: null, isLeft: true }).current;
  const latest = useRef(null);
  latest.current = { value: String(value ?? ""), onTake };
  useEffect(() => setTyped((now) => (mark.isLeft || now === latest.current.value ? null : now)), [value]);
  useEffect(() => () => (clearTimeout(mark.timer), untaken(mark, false)), []);
  async function take(input) {
    clearTimeout(mark.timer);
    // What is no number yet is nothing that could be taken.
    if (input.validity.badInput) return;
    const text = input.value;
    if (text !== latest.current.value) await latest.current.onTake(text);
    if (input.value === text) untaken(mark, false);
  }
  const shared = {
    value: typed ?? value ?? "",
    placeholder,
    onInput: ({ currentTarget: input }) => {
      mark.isLeft = false;
      setTyped(input.value);
      untaken(mark, true);
      clearTimeout(mark.timer);
      mark.timer = setTimeout(() => take(input), PAUSE_MS);
    },
    onChange: (event) => {
      mark.isLeft = true;
      take(event.currentTarget);
    },
  };
  return (
    <Field label={label} hint={hint}>
      {multi ? <textarea rows={3} {...shared} /> : <input type={type} step={type === "number" ? "any" : undefined} min={type === "number" ? 0 : undefined} {...shared} />}
    </Field>
  );
}

/** `settings` are those the agent runs by now, with their origins. */
export function AgentForm({ agent, settings }) {
  const file = `agents/${agent}/agent.yaml`;
  const own = useValue(drafts.value.get(file)?.text);
  const shared = useValue(drafts.value.get("config.yaml")?.text);
  const [error, setError] = useState(null);
  if (own === undefined || shared === undefined) return <Loading />;
  if (own === null || shared === null) {
    return <Problem error={{ message: `${own === null ? file : "config.yaml"} can't be read as it is; the text shows what is wrong.` }} />;
  }
  const at = (key) => placeOf(agent, own, shared, key);
  const get = (key, ...inner) => inner.reduce((node, part) => (isMap(node) ? node[part] : undefined), at(key).of?.[key]);
  async function change(key, edits) {
    setError(null);
    const { file: to, path } = at(key);
    try {
      await write(to, edits.map((it) => ({ ...it, path: [...path, ...it.path] })));
    } catch (fault) {
      setError(fault);
    }
  }
  const set = (path, value) => change(path[0], [value === "" || value === null ? { path, remove: true } : { path, value }]);
  const number = (path) => (text) => set(path, text === "" ? null : Number(text));
  const now = (name) => {
    const found = settings?.find((it) => it.setting === name);
    if (!found) return undefined;
    const value = typeof found.value === "string" ? found.value : Array.isArray(found.value) ? found.value.join(", ") : JSON.stringify(found.value);
    return `runs by ${value.length > 60 ? `${value.slice(0, 60)}…` : value}, from ${found.origin}`;
  };

  const model = get("model");
  const tools = get("tools");
  const profile = isMap(tools) ? tools.profile : tools;
  const memory = get("memory");
  const remembers = isMap(memory) ? (memory.enabled ?? true) : memory;
  const access = get("access");
  const budget = get("budget");
  const personality = get("personality");
  const bindings = (Array.isArray(shared.bindings) ? shared.bindings : []).filter((it) => isMap(it) && it.agent === agent);
  const same = (one) => (other) => JSON.stringify(one) === JSON.stringify(other);
  const takeOut = (rule) => write("config.yaml", (value) => [{ path: ["bindings", value.bindings.findIndex(same(rule))], remove: true }]).catch(setError);

  return (
    <div class="stack">
      <Problem error={error} />
      <div class="form-grid">
        <Line label="Name" value={get("name")} onTake={(text) => set(["name"], text)} hint="What people see it called." />
        <Line label="Description" value={get("description")} onTake={(text) => set(["description"], text)} hint="What it is for, in a few words." />
        <Line
          label="Model"
          value={Array.isArray(model) ? model.join(", ") : model}
          placeholder="provider/name"
          hint={now("model") ?? "Several, with commas between: each is asked when those before fail."}
          onTake={(text) => set(["model"], text === "" ? null : list(text).length > 1 ? list(text) : list(text)[0])}
        />
        {Array.isArray(tools) ? (
          <Line label="Tools" value={tools.join(", ")} hint={now("tools") ?? "With commas between."} onTake={(text) => set(["tools"], list(text))} />
        ) : (
          <Field label="Tools" hint={now("tools") ?? "A profile; single tools are written in the text."}>
            <Choice
              label="Tools"
              value={profile ?? ""}
              options={[["", "not said here"], ...PROFILES, ...(profile && !PROFILES.includes(profile) ? [profile] : [])]}
              onChange={(value) => set(isMap(tools) ? ["tools", "profile"] : ["tools"], value)}
            />
          </Field>
        )}
        <Field label="Memory" hint={now("memory") ?? "Whether it remembers."}>
          <Choice
            label="Memory"
            value={remembers === undefined || remembers === null ? "" : String(remembers)}
            options={[["", "not said here"], ["true", "on"], ["false", "off"]]}
            onChange={(value) => set(isMap(memory) && value !== "" ? ["memory", "enabled"] : ["memory"], value === "" ? null : value === "true")}
          />
        </Field>
        <Field label="Memory scope" hint={now("memory.scope") ?? "What one memory is kept for."}>
          <Choice
            label="Memory scope"
            value={isMap(memory) ? (memory.scope ?? "") : ""}
            options={[["", "not said here"], ...SCOPES, ...(isMap(memory) && memory.scope && !SCOPES.includes(memory.scope) ? [memory.scope] : [])]}
            onChange={(value) => (isMap(memory) ? set(["memory", "scope"], value) : value !== "" && set(["memory"], { enabled: remembers ?? true, scope: value }))}
          />
        </Field>
        <Field label="Approvals" hint={now("approvals.mode") ?? "Who is asked before something dangerous."}>
          <Choice label="Approvals" value={get("approvals", "mode") ?? ""} options={[["", "not said here"], ...MODES]} onChange={(value) => set(["approvals", "mode"], value)} />
        </Field>
        <Line label="Dollars a day" type="number" value={isMap(budget) ? budget.usd_per_day : undefined} hint={now("budget.usd_per_day")} onTake={number(["budget", "usd_per_day"])} />
        <Line label="Tokens a day" type="number" value={isMap(budget) ? budget.tokens_per_day : undefined} hint={now("budget.tokens_per_day")} onTake={number(["budget", "tokens_per_day"])} />
        <Line label="Turns a minute" type="number" value={isMap(budget) ? budget.turns_per_minute : undefined} hint={now("budget.turns_per_minute")} onTake={number(["budget", "turns_per_minute"])} />
        <Line label="Who may talk to it" value={isMap(access) ? access.allow?.join(", ") : ""} placeholder="telegram:12345, discord:role:staff" hint="With commas between." onTake={(text) => set(["access", "allow"], text === "" ? null : list(text))} />
        <Line label="Its admins" value={isMap(access) ? access.admins?.join(", ") : ""} placeholder="telegram:12345" hint="Who answers what it may not do by itself." onTake={(text) => set(["access", "admins"], text === "" ? null : list(text))} />
      </div>
      <Line
        label="Personality"
        multi
        value={typeof personality === "string" ? personality : ""}
        hint={personality ? "It stands in place of SOUL.md." : "Usually it stands in SOUL.md; what is written here is taken instead."}
        onTake={(text) => set(["personality"], text)}
      />
      <fieldset class="card bindings">
        <legend>Chats that lead here</legend>
        {bindings.length === 0 && <p class="quiet">No binding of config.yaml leads to it.</p>}
        <ul>
          {bindings.map((it, at) => (
            <li key={at} class="row">
              <span class="mono">{Object.entries(it).filter(([key]) => key !== "agent").map(([key, value]) => `${key}: ${isMap(value) ? JSON.stringify(value) : value}`).join(", ") || "every message"}</span>
              <Button class="button small danger" aria-label={`Take out ${JSON.stringify(it)}`} onClick={() => takeOut(it)}>
                Take out
              </Button>
            </li>
          ))}
        </ul>
        <AddBinding agent={agent} onError={setError} />
      </fieldset>
      <HooksForm file={at("hooks").file} path={[...at("hooks").path, "hooks"]} value={get("hooks")} title="Its hooks" hint="What is asked before this agent does something, or told after it did. Those of config.yaml’s top are asked first." onError={setError} />
    </div>
  );
}

function AddBinding({ agent, onError }) {
  const [of, setOf] = useState({ platform: "telegram", chat: "", topic: "" });
  async function add() {
    const rule = { agent, [of.platform]: of.chat.trim() || "*", ...(of.topic.trim() ? { topic: of.topic.trim() } : {}) };
    try {
      onError(null);
      await write("config.yaml", (value) => [{ path: ["bindings", value.bindings?.length ?? 0], value: rule }]);
      setOf({ ...of, chat: "", topic: "" });
    } catch (fault) {
      onError(fault);
    }
  }
  const type = (key) => (event) => setOf({ ...of, [key]: event.currentTarget.value });
  return (
    <div class="row add-binding">
      <Choice label="Platform" value={of.platform} options={PLATFORMS} onChange={(platform) => setOf({ ...of, platform })} />
      <input aria-label="Chat, or nothing for all of the platform" placeholder="chat, or all" value={of.chat} onInput={type("chat")} />
      <input aria-label="Topic" placeholder="topic" value={of.topic} onInput={type("topic")} />
      <Button onClick={add}>Add</Button>
    </div>
  );
}

/** Names that complete what is typed. */
export const names = () => ({
  agents: me.value.agents.map((it) => it.id),
  models: [...new Set(me.value.agents.map((it) => it.model).filter(Boolean))],
});

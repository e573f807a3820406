// One of our accounts on a platform, and one more: what it takes there and here.
import { useState } from "preact/hooks";
import { api, at } from "../lib/api.js";
import { accountsOf, command, edits, freeName, secretName, whyNot, yaml } from "../lib/channel.js";
import { useDrafts, useValue, write } from "../lib/drafts.js";
import { changes, isAdmin, me } from "../lib/me.js";
import { useResource } from "../lib/resource.js";
import { go, to } from "../lib/router.js";
import { many } from "../lib/words.js";
import { Confirm } from "./confirm.jsx";
import { Button, Choice, Code, Dialog, Facts, Field, Problem, Shown, State, When, Ticked } from "./parts.jsx";

const FOUND = { good: ["works", "good"], notice: ["works, but", "warn"], bad: ["does not work", "bad"], off: ["is off", "calm"] };

/** What asking the platform came to. */
function Found({ of }) {
  const [word, tone] = FOUND[of.status] ?? [of.status, "calm"];
  return (
    <p class="found" role="status">
      <State state={word} tone={tone} /> <Ticked text={of.detail} />
    </p>
  );
}

/** Keeps a secret of the daemon, sealed. It is never shown again, and replaced only where that is meant. */
export function KeepSecret({ name, onKept }) {
  const [value, setValue] = useState("");
  const [error, setError] = useState(null);
  const [sure, setSure] = useState(false);
  async function put() {
    await api.put(at("daemon", "secrets", name), { value });
    setValue("");
    onKept();
  }
  async function keep(event) {
    event.preventDefault();
    setError(null);
    try {
      const kept = await api.get("/api/daemon/secrets");
      if (kept.some((it) => it.name === name)) setSure(true);
      else await put();
    } catch (fault) {
      setError(fault);
    }
  }
  return (
    <>
      <form class="keep-secret" onSubmit={keep}>
        <Problem error={error} />
        <div class="row">
          <input type="password" autocomplete="off" required aria-label={`The value of ${name}`} placeholder={`The value of ${name}`} value={value} onInput={(event) => setValue(event.currentTarget.value)} />
          <Button type="submit">Keep it sealed</Button>
        </div>
      </form>
      {sure && (
        <Confirm title={`${name} is kept already: replace it?`} verb="Replace it" onClose={() => setSure(false)} onYes={put}>
          <p>Whatever uses it now uses the new one from then on. The one that is kept can’t be had back.</p>
        </Confirm>
      )}
    </>
  );
}

export function Account({ account, onChange }) {
  const [found, setFound] = useState(null);
  const [error, setError] = useState(null);
  const name = `${account.platform} ${account.account}`;
  const missing = account.secrets.filter((it) => !it.kept);
  async function test() {
    setError(null);
    try {
      setFound(await api.post("/api/accounts/test", { platform: account.platform, account: account.account }));
    } catch (fault) {
      setFound(null);
      setError(fault);
    }
    onChange();
  }
  return (
    <section class="card account" aria-label={name}>
      <div class="title small">
        <h2>
          <span class="quiet">{account.platform}</span> {account.account}
        </h2>
        <State state={account.state} tone={account.state === "refused" ? "bad" : undefined} />
      </div>
      {account.reason && <p class={account.state === "connected" ? "" : "why-blocked"}><Ticked text={account.reason} /></p>}
      <Facts
        rows={[
          ["Since", <When at={account.since} />],
          ["Heard", `${many(account.events, "event")}, ${many(account.errors, "failure")} since the daemon started`],
          ["Leads to", account.agents.length === 0 ? <span class="quiet">nobody by a rule of its own</span> : <AgentLinks agents={account.agents} />],
        ]}
      />
      {missing.map((it) => (
        <div key={it.name}>
          <p>
            Its secret <code>{it.name}</code> is not kept yet.
          </p>
          {changes() && <KeepSecret name={it.name} onKept={onChange} />}
        </div>
      ))}
      <div class="row">
        {changes() && (
          <Button onClick={test} aria-label={`Test it: ${account.platform} ${account.account}`}>
            Test it
          </Button>
        )}
        {account.platform === "webhook" && <code class="small">{`${location.origin}/hooks/webhook/${account.account}`}</code>}
      </div>
      {found && <Found of={found} />}
      <Problem error={error} />
    </section>
  );
}

/** Agents as links; where there are many, the first of them. */
function AgentLinks({ agents }) {
  const few = agents.slice(0, 6);
  return (
    <span>
      {few.map((it, index) => (
        <span key={it}>
          {index > 0 && ", "}
          <a href={to("map", [], { agent: it })}>{it}</a>
        </span>
      ))}
      {agents.length > few.length && <span class="quiet"> and {agents.length - few.length} more</span>}
    </span>
  );
}

const HINTS = {
  homeserver: "https://matrix.example.org",
  user: "@bot:example.org",
  base_url: "only for a server of your own",
  number: "+4915112345678",
  mode: "polling, or webhook",
  public_url: "where the platform reaches this daemon",
  origins: "pages that may talk, with commas between",
};

function Steps({ platform, account, wrong, setAccount, values, setValues, agent, setAgent }) {
  const set = (key) => (event) => setValues({ ...values, [key]: event.currentTarget.value.trim() });
  const others = platform.required.filter((key) => !platform.secrets.includes(key));
  const optional = platform.optional.filter((key) => key !== "secret");
  return (
    <>
      {platform.steps.length > 0 && (
        <div>
          <h3>On the side of {platform.platform}</h3>
          <ol class="steps">
            {platform.steps.map((it) => (
              <li key={it}>
                <Ticked text={it} />
              </li>
            ))}
          </ol>
        </div>
      )}
      <div class="pair">
        <Field label="What it is called here" required value={account} error={wrong} onInput={(event) => setAccount(event.currentTarget.value.trim())} />
        <Field label="Who answers there" hint="without one, whoever answers by the other rules" list="account-agents" value={agent} onInput={(event) => setAgent(event.currentTarget.value.trim())} />
        <datalist id="account-agents">
          {me.value.agents.map((it) => (
            <option key={it.id} value={it.id} />
          ))}
        </datalist>
        {others.map((key) => (
          <Field key={key} label={key} hint={HINTS[key]} required value={values[key] ?? ""} onInput={set(key)} />
        ))}
      </div>
      {optional.length > 0 && (
        <details>
          <summary>What else it may have</summary>
          <div class="pair">
            {optional.map((key) => (
              <Field key={key} label={key} hint={HINTS[key]} value={values[key] ?? ""} onInput={set(key)} />
            ))}
          </div>
        </details>
      )}
    </>
  );
}

/** Writes an account into the draft of config.yaml, and goes to look at what it would do. */
function WriteIt({ platform, account, values, agent }) {
  const { error, ready } = useDrafts(["config.yaml"]);
  const [fault, setFault] = useState(null);
  async function writeIt() {
    setFault(null);
    try {
      await write("config.yaml", (value) => {
        // Somebody may have written one of that name meanwhile.
        const wrong = whyNot(account, namesOf(accountsOf(value), platform));
        if (wrong) throw new Error(wrong);
        return edits(platform, account, values, agent, value);
      });
      go(to("config", [], { file: "form" }));
    } catch (wrong) {
      setFault(wrong);
    }
  }
  return (
    <>
      <div class="row">
        <Button kind="main" disabled={!ready} onClick={writeIt}>
          Write it, and look at what it does
        </Button>
      </div>
      <Problem error={error ?? fault} />
    </>
  );
}

/** How the accounts of a platform are called. */
const namesOf = (accounts, platform) => accounts.filter((it) => it.platform === platform.platform).map((it) => it.account);

/** What there is: platforms, and accounts that run. */
async function known(signal) {
  const [platforms, accounts] = await Promise.all([api.get("/api/platforms", { signal }), api.get("/api/accounts", { signal })]);
  return { platforms, accounts };
}

export function NewAccount({ onClose, onChange }) {
  const of = useResource(({ signal }) => known(signal), []);
  const { all: [draft] } = useDrafts(["config.yaml"]);
  const written = useValue(draft?.text);
  const [name, setName] = useState("telegram");
  const [called, setCalled] = useState(null);
  const [values, setValues] = useState({});
  const [agent, setAgent] = useState("");
  const [kept, setKept] = useState([]);
  return (
    <Dialog title="Connect a platform" onClose={onClose}>
      <Shown of={of}>
        {({ platforms, accounts }) => {
          const platform = platforms.find((it) => it.platform === name) ?? platforms[0];
          const taken = namesOf([...accounts, ...accountsOf(written)], platform);
          const account = called ?? freeName(taken);
          const wrong = whyNot(account, taken);
          const missing = platform.required.filter((key) => !platform.secrets.includes(key) && !values[key]);
          const ready = wrong === null && missing.length === 0;
          return (
            <div class="stack">
              <Field label="Platform">
                <Choice label="Platform" value={platform.platform} options={platforms.map((it) => it.platform)} onChange={(it) => (setName(it), setValues({}), setKept([]))} />
              </Field>
              <Steps key={platform.platform} platform={platform} account={account} wrong={wrong} setAccount={(it) => (setCalled(it), setKept([]))} values={values} setValues={setValues} agent={agent} setAgent={setAgent} />
              {platform.secrets.map((key) => (
                <div class="stack" key={key}>
                  <h3>Its {key}</h3>
                  {kept.includes(key) ? (
                    <p role="status">
                      <State state="kept" tone="good" /> It is kept sealed, as <code>{secretName(platform, account, key)}</code>.
                    </p>
                  ) : !changes() ? (
                    <p class="quiet">Nothing is changed over HTTP here: <code>insula secret set</code> keeps it.</p>
                  ) : wrong === null ? (
                    <KeepSecret key={account} name={secretName(platform, account, key)} onKept={() => (setKept([...kept, key]), onChange())} />
                  ) : null}
                </div>
              ))}
              <h3>In the configuration</h3>
              {ready ? (
                <>
                  <Code label="config.yaml" text={yaml(platform, account, values, agent)} />
                  {isAdmin() && changes() && <WriteIt platform={platform} account={account} values={values} agent={agent} />}
                  <p>Or let the command line write it:</p>
                  <Code label="The same by the command line" text={command(platform, account, values, agent)} />
                  <p class="quiet">The daemon connects as soon as that is written. Who may talk there is said by <code>access.allow</code> of the agent; who asks to be let in stands under pairing.</p>
                </>
              ) : (
                <p class="quiet">{missing.length > 0 ? `It still takes ${missing.join(" and ")}.` : "It needs a name of its own."}</p>
              )}
            </div>
          );
        }}
      </Shown>
    </Dialog>
  );
}

// What the model was shown in a turn, byte for byte: each request as it was sent.
import { useEffect, useState } from "preact/hooks";
import { api, at } from "../lib/api.js";
import { laidOut, requestSays, size } from "../lib/parts.js";
import { useResource } from "../lib/resource.js";
import { many } from "../lib/words.js";
import { Code, Copy, Dialog, Empty, Facts, Shown, State, Tabs } from "./parts.jsx";
import { Table } from "./table.jsx";
import "./narrow.css";

/** The SHA-256 of a text, in hexadecimal; null where the browser gives none. */
async function sha256(text) {
  if (!globalThis.crypto?.subtle) return null;
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return [...new Uint8Array(hash)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Whether the text is what was sent: the daemon compares it with the hash that it noted then, and
 * this page what arrived here with what the daemon put together.
 */
function Same({ text, hash, verified }) {
  const [own, setOwn] = useState(undefined);
  useEffect(() => {
    let alive = true;
    sha256(text).then((it) => alive && setOwn(it));
    return () => (alive = false);
  }, [text]);
  if (own === undefined) return <State state="comparing" />;
  if (own === null) return <State state="not compared" title="this browser computes no hashes here" />;
  return verified && own === hash ? <State state="the very bytes" tone="good" title={`SHA-256 ${hash}`} /> : <State state="not what was noted" tone="bad" title={`SHA-256 ${own} here, ${hash} at the daemon`} />;
}

function OneCall({ agent, turn, call }) {
  const of = useResource(({ signal }) => api.get(at("agents", agent, "turns", String(turn), "shown", String(call)), { signal }), [agent, turn, call]);
  const [view, setView] = useState("says");
  return (
    <Shown of={of}>
      {(it) => {
        const says = it.body === null ? null : requestSays(it.body);
        const views = [];
        if (says) views.push(["says", "Message by message"]);
        if (it.body !== null) views.push(["exact", "Byte for byte"]);
        views.push(["parts", `Parts (${it.parts.length})`]);
        const now = views.some(([key]) => key === view) ? view : views[0][0];
        return (
          <div class="stack">
            <Facts
              rows={[
                ["Model", `${it.provider} ${it.model}`],
                ["Size", size(it.bytes)],
                ["Noted as it was sent", it.hash ? <span class="mono small">{it.hash}</span> : "not known any more: some of it was forgotten"],
                ["SHA-256", it.sha256 && <span class="mono small">{it.sha256}</span>],
                ["Compared", it.body !== null && it.sha256 && <Same text={it.body} hash={it.sha256} verified={it.verified} />],
                ["What differs", it.why],
              ]}
            />
            {it.body === null && <Empty title="The request can’t be put together again.">{it.why}</Empty>}
            <Tabs label="How to show it" tabs={views} value={now} onChange={setView} />
            {now === "says" && (
              <div class="says" tabIndex={0} role="region" aria-label="Message by message">
                {says.map((one, index) => (
                  <section key={index} class={one.who === "user" ? "is-user" : undefined}>
                    <span class="quiet small">{one.who}</span>
                    <pre>{one.text}</pre>
                  </section>
                ))}
              </div>
            )}
            {now === "exact" && (
              <div class="code exact">
                <Copy text={it.body} />
                <pre tabIndex={0} aria-label="The request as it was sent">
                  {it.body}
                </pre>
              </div>
            )}
            {now === "parts" &&
              (it.parts.length === 0 ? (
                <Empty title="No parts were noted." />
              ) : (
                <div class="narrow"><Table
                  label="Parts of the request"
                  rows={it.parts.map((part, index) => ({ ...part, index }))}
                  rowKey={(part) => part.index}
                  columns={[
                    { key: "name", title: "Part", cell: (part) => part.name },
                    { key: "bytes", title: "Size", num: true, cell: (part) => size(part.bytes) },
                    { key: "hash", title: "SHA-256", cell: (part) => (part.sha256 ? <span class="mono small">{part.sha256}</span> : <span class="quiet">forgotten</span>) },
                  ]}
                /></div>
              ))}
            {now === "parts" &&
              it.parts
                .filter((part) => part.text)
                .map((part) => <Code key={part.name} text={laidOut(part.text)} label={`${part.name}, which the request was made from`} />)}
          </div>
        );
      }}
    </Shown>
  );
}

/** Every request of a turn. */
export function ShownToModel({ agent, turn, onClose }) {
  const of = useResource(
    // That nothing was kept is an answer, too.
    ({ signal }) => api.get(at("agents", agent, "turns", String(turn), "shown"), { signal }).catch((error) => (error.status === 404 ? [] : Promise.reject(error))),
    [agent, turn],
  );
  const [call, setCall] = useState(null);
  return (
    <Dialog title="What the model was shown" onClose={onClose}>
      <Shown
        of={of}
        empty={
          <Empty title="Nothing was kept of what the model was shown.">Requests are kept while the agent’s configuration says so, and for as long as it says. What was said and called stands in the transcript.</Empty>
        }
      >
        {(calls) => {
          const chosen = calls.find((it) => it.call === call) ?? calls.at(-1);
          return (
            <div class="stack wide-inside">
              <p class="quiet">{many(calls.length, "request")} in this turn, in the order they were sent.</p>
              <Tabs label="Requests" tabs={calls.map((it, index) => [it.call, `${index + 1}. ${it.model} · ${size(it.bytes)}`])} value={chosen.call} onChange={setCall} />
              <OneCall key={chosen.call} agent={agent} turn={turn} call={chosen.call} />
            </div>
          );
        }}
      </Shown>
    </Dialog>
  );
}

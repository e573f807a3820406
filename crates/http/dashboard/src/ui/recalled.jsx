// Which of an agent's memory was in an answer: what its model was shown, and where that came from.
import { api, at } from "../lib/api.js";
import { recalled, sourceName } from "../lib/memory.js";
import { useResource } from "../lib/resource.js";
import { to } from "../lib/router.js";
import { scopeOf } from "../lib/where.js";
import { Dialog, Empty, Shown, When } from "./parts.jsx";

/** The entries that the last request of a turn had in it; null where no request is kept. */
async function read(agent, turn, signal) {
  const calls = await api.get(at("agents", agent, "turns", String(turn), "shown"), { signal }).catch((error) => (error.status === 404 ? [] : Promise.reject(error)));
  if (calls.length === 0) return null;
  const [last, entries] = await Promise.all([
    api.get(at("agents", agent, "turns", String(turn), "shown", String(calls.at(-1).call)), { signal }),
    api.get(at("agents", agent, "memory"), { signal }),
  ]);
  return last.body === null ? null : recalled(entries, last.body);
}

function Entry({ agent, of }) {
  const { provenance: from } = of;
  return (
    <li class="card">
      {of.text}
      <p class="quiet small">
        {scopeOf(of.scope)}
        {from && (
          <>
            {" · "}
            {sourceName(from.source)} by {from.principal} <When at={from.at} />
            {from.session !== null && (
              <>
                {" in "}
                <a href={to("sessions", [agent, String(from.session)], { message: from.message ?? "" })}>this conversation</a>
              </>
            )}
          </>
        )}
      </p>
    </li>
  );
}

export function Recalled({ agent, turn, onClose }) {
  const of = useResource(({ signal }) => read(agent, turn, signal).then((entries) => ({ entries })), [agent, turn]);
  return (
    <Dialog title="Memory in this answer" onClose={onClose}>
      <Shown of={of}>
        {({ entries }) =>
          entries === null ? (
            <Empty title="What the model was shown is not kept any more.">So nobody can say what of its memory was in it.</Empty>
          ) : entries.length === 0 ? (
            <Empty title="Nothing that is remembered was in it." />
          ) : (
            <ul class="stack">
              {entries.map((it) => (
                <Entry key={`${it.id}/${it.text}`} agent={agent} of={it} />
              ))}
            </ul>
          )
        }
      </Shown>
    </Dialog>
  );
}

// Accounts on platforms as a form: their settings that are no secrets. Secrets stand sealed in the
// vault, and the text names them.
import { useState } from "preact/hooks";
import { api } from "../lib/api.js";
import { accountsOf } from "../lib/channel.js";
import { write } from "../lib/drafts.js";
import { useResource } from "../lib/resource.js";
import { Line } from "./agent_form.jsx";
import { Confirm } from "./confirm.jsx";
import { Button, Shown } from "./parts.jsx";

/** `value` is what `config.yaml` says. */
export function AccountsForm({ value, onError }) {
  const of = useResource(({ signal }) => api.get("/api/platforms", { signal }), []);
  const [leaving, setLeaving] = useState(null);
  const change = (edit) => (onError(null), write("config.yaml", [edit]).catch(onError));
  const all = accountsOf(value);
  return (
    <fieldset class="card accounts-form">
      <legend>Accounts on platforms</legend>
      <p class="quiet small">Another one is connected under Channels. Settings that are a list or a map are written in the text.</p>
      {all.length === 0 && <p>No account stands in config.yaml.</p>}
      {all.length > 0 && <Shown of={of}>
        {(platforms) => (
          <div class="stack">
            {all.map(({ platform, account, settings }) => {
              const known = platforms.find((it) => it.platform === platform);
              const keys = known ? [...known.required, ...known.optional].filter((key) => !known.secrets.includes(key) && key !== "secret") : [];
              const path = ["channels", platform, "accounts", account];
              return (
                <section key={`${platform}/${account}`} class="stack" aria-label={`Settings of ${platform} ${account}`}>
                  <div class="row">
                    <h3>
                      <span class="quiet">{platform}</span> {account}
                    </h3>
                    <Button class="button small danger" aria-label={`Take out ${platform} ${account}`} onClick={() => setLeaving({ platform, account, path })}>
                      Take out…
                    </Button>
                  </div>
                  <div class="form-grid">
                    {keys
                      .filter((key) => settings[key] === undefined || settings[key] === null || typeof settings[key] !== "object")
                      .map((key) => (
                        <Line key={key} label={key} value={settings[key]} hint={known.required.includes(key) ? "it needs this" : undefined} onTake={(text) => change(text === "" ? { path: [...path, key], remove: true } : { path: [...path, key], value: text })} />
                      ))}
                  </div>
                </section>
              );
            })}
          </div>
        )}
      </Shown>}
      {leaving && (
        <Confirm title={`Take out ${leaving.platform} ${leaving.account}?`} verb="Take it out of the text" onClose={() => setLeaving(null)} onYes={() => change({ path: leaving.path, remove: true })}>
          <p>Nothing is applied before you looked at what it does. Its secrets stay in the vault.</p>
        </Confirm>
      )}
    </fieldset>
  );
}

// Signing in by a token. A link of `insula open` needs no form.
import { useState } from "preact/hooks";
import { signIn } from "../lib/me.js";
import { sentence } from "../lib/words.js";
import { Button, Field, Ticked } from "./parts.jsx";

export function SignIn({ why }) {
  const [token, setToken] = useState("");
  const [error, setError] = useState(null);
  async function enter(event) {
    event.preventDefault();
    setError(null);
    try {
      await signIn({ token: token.trim() });
    } catch (fault) {
      setError(fault.status === 401 ? "This token is nobody's. It may have been revoked." : fault.message);
    }
  }
  return (
    <main class="door" id="main">
      <h1>Insula</h1>
      {why && (
        <p role="status">
          <Ticked text={sentence(why)} />
        </p>
      )}
      <form onSubmit={enter}>
        <Field label="Token" type="password" autocomplete="current-password" spellcheck={false} required value={token} onInput={(event) => setToken(event.currentTarget.value)} error={error} />
        <Button kind="main" type="submit">
          Sign in
        </Button>
      </form>
      <p class="quiet">
        On the machine itself, <code>insula open</code> signs you in without a token. A token is made by <code>insula token create --agent NAME</code>.
      </p>
    </main>
  );
}

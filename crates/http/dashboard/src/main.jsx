// Begins: who is here, what happens, and the first page.
import { render } from "preact";
import { signedOut } from "./lib/api.js";
import * as events from "./lib/events.js";
import { signIn, whoAmI } from "./lib/me.js";
import * as router from "./lib/router.js";
import * as theme from "./lib/theme.js";
import { Shell } from "./ui/shell.jsx";
import "./style.css";

/** The code of a link that `insula open` made. It opens the page once, and leaves the address at once. */
function takeLink() {
  const { open } = Object.fromEntries(new URLSearchParams(location.hash.replace(/^#/, "")));
  if (!open) return null;
  history.replaceState(null, "", location.pathname);
  router.route.value = router.parse("");
  return open;
}

async function begin() {
  theme.start();
  router.start();
  events.start();
  const link = takeLink();
  if (link) {
    try {
      await signIn({ link });
      return;
    } catch (error) {
      signedOut.value = error.status === 401 ? "This link was used before, or is too old. Make another by `insula open`." : error.message;
      return;
    }
  }
  // A daemon that does not answer yet is tried again.
  for (let wait = 300; ; wait = Math.min(wait * 2, 5000)) {
    try {
      await whoAmI();
      return;
    } catch {
      await new Promise((done) => setTimeout(done, wait));
    }
  }
}

const at = document.getElementById("app");
begin().then(() => {
  at.replaceChildren();
  render(<Shell />, at);
});

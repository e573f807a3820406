// Begins: who is here, what happens, and the first page.
import { render } from "preact";
import { signedOut } from "./lib/api.js";
import * as events from "./lib/events.js";
import * as focus from "./lib/focus.js";
import { followTabs, signIn, whoAmI } from "./lib/me.js";
import * as router from "./lib/router.js";
import { goOn } from "./lib/talk.js";
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

async function enter(link) {
  try {
    await signIn({ link });
  } catch (error) {
    signedOut.value = error.status === 401 ? "This link was used before, or is too old. Make another by `insula open`." : error.message;
  }
}

async function begin() {
  theme.start();
  router.start();
  followTabs();
  events.start();
  focus.start();
  const link = takeLink();
  // In a window that has the page already a link changes nothing but what stands behind the `#`.
  addEventListener("hashchange", () => {
    const later = takeLink();
    if (later) enter(later);
  });
  if (link) return enter(link);
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
  if (signedOut.value === null) goOn();
  at.replaceChildren();
  render(<Shell />, at);
});

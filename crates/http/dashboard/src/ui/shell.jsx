// What is around every page: the bar, the ways to pages, and what is said when nothing is heard.
import { useEffect } from "preact/hooks";
import { signedOut } from "../lib/api.js";
import { connection } from "../lib/events.js";
import { me, signOut } from "../lib/me.js";
import { go, route, to } from "../lib/router.js";
import { next, theme } from "../lib/theme.js";
import { pages } from "../pages/index.js";
import { Button, Empty, Page } from "./parts.jsx";
import { SignIn } from "./sign_in.jsx";

const THEMES = { system: "Auto", light: "Light", dark: "Dark" };

/** The page of members: chat and nothing else. */
const isMembers = location.pathname === "/chat";

function open() {
  const { page } = route.value;
  const there = pages.filter((it) => !it.for || it.for(me.value));
  return { there, now: isMembers ? pages.find((it) => it.path === "chat") : (there.find((it) => it.path === page) ?? (page === "" ? there[0] : null)) };
}

function Bar({ there, now }) {
  const who = me.value;
  return (
    <header class="bar">
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), document.getElementById("main")?.focus())}>
        Skip to the page
      </a>
      <a class="brand" href={isMembers ? "/chat" : "#/"}>
        Insula
      </a>
      {!isMembers && (
        <nav aria-label="Pages">
          {there
            .filter((it) => it.title)
            .map((it) => (
              <a key={it.path} href={to(it.path)} aria-current={it === now ? "page" : undefined}>
                {it.title}
                {it.badge?.() ? <span class="badge">{it.badge()}</span> : null}
              </a>
            ))}
        </nav>
      )}
      <div class="actions">
        <span class="quiet small who" title={who.admin ? "the admin of this daemon" : `token ${who.who}`}>
          {who.admin ? "admin" : (who.note ?? who.who)}
        </span>
        <button type="button" class="button small" onClick={next} aria-label={`Theme: ${THEMES[theme.value]}`} title="Theme: as the system says, light or dark">
          ◐ {THEMES[theme.value]}
        </button>
        <Button class="button small" onClick={signOut}>
          Sign out
        </Button>
      </div>
    </header>
  );
}

export function Shell() {
  // Out of a page that is not there any more one comes to the first.
  const { page } = route.value;
  useEffect(() => {
    document.getElementById("main")?.scrollTo?.(0, 0);
    scrollTo(0, 0);
    // There may be more pages than the bar has room for.
    document.querySelector(".bar nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [page]);
  if (signedOut.value !== null) return <SignIn why={signedOut.value} />;
  if (!me.value) return null;
  const { there, now } = open();
  const Now = now?.page;
  return (
    <>
      {connection.value === "offline" && (
        <div class="offline" role="status">
          The daemon does not answer. What you see may be old; it is tried again by itself.
        </div>
      )}
      <div class="top">
        <Bar there={there} now={now} />
      </div>
      {Now ? (
        <Now key={now.path} />
      ) : (
        <Page title="Not here">
          <Empty title="There is no such page, or it is not for you.">
            <Button onClick={() => go("#/")}>To the first page</Button>
          </Empty>
        </Page>
      )}
    </>
  );
}

// Where something is said, as people call it: keys of conversations, and scopes.

const decoded = (text) => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

/** What this page calls a conversation that is begun in it. */
const OWN = /^web-[0-9a-z]+-([0-9a-f]{6})$/;

/** A platform, and the account there where it has a name of its own. */
function platformName(platform, account) {
  if (platform === "cli") return "command line";
  if (platform === "api") return `API ${account.slice(0, 8)}`;
  return account === "main" || account === "default" ? platform : `${platform} ${account}`;
}

/** A conversation by its key: `telegram, group -100123, topic 7`. What is no key stays as it is. */
export function whereOf(key) {
  const [head, , platform, account, kind, chat, ...rest] = String(key).split(":").map(decoded);
  if (head !== "agent" || chat === undefined) return String(key);
  const more = {};
  for (let at = 0; at + 1 < rest.length; at += 2) more[rest[at]] = rest[at + 1];
  const where = platformName(platform, account ?? "");
  // On the command line and over the API a chat is what its session is called.
  const own = OWN.exec(chat)?.[1];
  if (own) return platform === "cli" ? `dashboard ${own}` : `dashboard ${own}, ${where}`;
  if (platform === "cli" || platform === "api") return `${where}, ${chat}`;
  const place = kind === "dm" ? `direct with ${more.user ?? chat}` : `${kind} ${chat}`;
  const topic = more.topic === undefined ? "" : `, topic ${more.topic}`;
  const user = kind !== "dm" && more.user !== undefined ? `, ${more.user} alone` : "";
  return `${where}, ${place}${topic}${user}`;
}

/** What a conversation is called by who has it on the command line or over the API. */
export const nameIn = (key) => decoded(String(key).split(":")[5] ?? "");

/** A scope: `chat garden on the command line`, `user 5 on telegram`, `global`. */
export function scopeOf(scope) {
  const [kind, platform, account, ...rest] = String(scope).split(":").map(decoded);
  if (platform === undefined) return kind;
  if (rest.length === 0) return [kind, platform, account].filter((it) => it !== undefined).join(" ");
  const where = platformName(platform, account);
  const own = OWN.exec(rest[0])?.[1];
  if (own) return `${kind} ${own} · dashboard`;
  return `${kind} ${rest.join(" ")} · ${where}`;
}

/** Where words of others came from: `attachment letter.txt`, `web docs.rs`. */
export function sourceOf(source) {
  const cut = String(source).indexOf(":");
  return cut < 0 ? String(source) : `${source.slice(0, cut)} ${decoded(source.slice(cut + 1))}`;
}

/** All of them: what of `{own, sources, many}` is told. */
export const sourcesOf = ({ many, sources }) => (many ? ["many places"] : sources.map(sourceOf));

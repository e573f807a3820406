// Who reaches what, as a graph: ways in, agents, and what agents reach.

/** Kinds of things that agents reach, in the order they are shown, with how each is asked about. */
export const KINDS = [
  { kind: "tool", title: "Tools", verb: "call", of: (it) => it.tools },
  { kind: "mcp", title: "MCP servers", verb: null, of: (it) => it.mcp },
  { kind: "file", title: "Files", verb: "read", of: (it) => it.files.map((file) => `${file.path} (${file.mode})`) },
  { kind: "host", title: "Hosts", verb: "connect", of: (it) => it.hosts },
  { kind: "secret", title: "Secrets", verb: null, of: (it) => it.secrets },
  { kind: "link", title: "Links", verb: "ask", of: (it) => it.links.map((link) => `${link.to} (${link.as})`) },
  { kind: "board", title: "Boards", verb: "read", of: (it) => it.boards },
  { kind: "scope", title: "Memory by", verb: "remember", of: (it) => (it.scope ? [it.scope] : []) },
  { kind: "model", title: "Models", verb: null, of: (it) => it.models },
];

/** What `what` is asked for as: without what is only said beside its name. */
export const bare = (name) => name.replace(/ \([a-z]+\)$/, "");

/**
 * Three columns of `{id, kind, label, note, state, group}` and the lines between them, as pairs of
 * ids. Ids begin with their kind, so that no two things of different kinds are one.
 */
export function graph(map) {
  const ways = [];
  const lines = [];
  const accounts = new Map();
  const account = (platform, name) => {
    const id = `account:${platform}:${name ?? ""}`;
    if (!accounts.has(id)) accounts.set(id, { id, kind: "account", label: name ? `${platform} ${name}` : platform, note: name ? "" : "any account", group: platform });
    return id;
  };
  for (const it of map.accounts) Object.assign(accounts.get(account(it.platform, it.account)), { state: it.state, note: it.reason ?? "" });
  map.bindings.forEach((it, index) => {
    const id = `binding:${index}`;
    // Columns are narrow: the platform stands below.
    const label = it.rule.startsWith(`${it.platform} `) ? it.rule.slice(it.platform.length + 1) : it.rule;
    ways.push({ id, kind: "binding", label, note: `${it.platform} · ${it.place ?? it.tier}`, group: it.platform, of: it, state: it.refusal ? "refused" : undefined });
    lines.push([id, `agent:${it.agent}`]);
    const named = [...accounts.values()].filter((known) => known.group === it.platform && known.id === `account:${it.platform}:${it.account}`);
    const all = it.account ? named : [...accounts.values()].filter((known) => known.group === it.platform && known.label !== it.platform);
    const from = all.length > 0 ? all.map((known) => known.id) : [account(it.platform, it.account)];
    for (const one of from) lines.push([one, id]);
  });
  const agents = map.agents.map((it) => ({ id: `agent:${it.id}`, kind: "agent", label: it.id, note: it.models[0] ?? "", state: it.state, group: it.isolation ?? "", of: it }));
  const things = new Map();
  for (const it of map.agents) {
    for (const { kind, title, of } of KINDS) {
      for (const name of of(it)) {
        const id = `${kind}:${name}`;
        const known = things.get(id) ?? { id, kind, label: name, group: title, count: 0 };
        known.count += 1;
        things.set(id, known);
        lines.push([`agent:${it.id}`, id]);
      }
    }
  }
  const order = new Map(KINDS.map(({ kind }, index) => [kind, index]));
  const reached = [...things.values()].sort((a, b) => order.get(a.kind) - order.get(b.kind) || a.label.localeCompare(b.label));
  for (const it of reached) it.note = `${it.group} · ${it.count} of ${agents.length}`;
  return { ways: [...accounts.values(), ...ways], agents, reached, lines };
}

/** Whether a search finds a thing: by its name, what it is of, or the agent that a rule leads to. */
export const isLike = (it, wanted) => [it.label, it.group, it.kind === "binding" ? it.of.agent : null].some((part) => part?.toLowerCase().includes(wanted));

/** All that a thing has to do with: what leads to it, and what it leads to. */
export function related({ lines }, id) {
  const found = new Set([id]);
  for (const [from, end] of [[0, 1], [1, 0]]) {
    const next = new Map();
    for (const line of lines) {
      if (!next.has(line[from])) next.set(line[from], []);
      next.get(line[from]).push(line[end]);
    }
    const open = [id];
    while (open.length > 0) {
      for (const there of next.get(open.pop()) ?? []) {
        if (found.has(there)) continue;
        found.add(there);
        open.push(there);
      }
    }
  }
  return found;
}

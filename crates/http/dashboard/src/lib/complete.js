// What could stand at a place of a YAML text, by the schema of the configuration: keys, and values
// where there are few. Looks at the text line by line, as somebody who types it does; it need not be
// whole YAML.

/** How many suggestions are shown. */
const SHOWN_MAX = 12;

const KEY = /^(?:"([^"]*)"|'([^']*)'|([^\s#{}[\],&*!|>'"%@`:][^:#]*?))\s*:(?=\s|$)/;

/** The marks of lists before what a line says, and how far to the right that begins. */
function begun(line) {
  const marks = /^(\s*)((?:-\s+)*(?:-$)?)/.exec(line);
  return { lists: (marks[2].match(/-/g) ?? []).length, dashAt: marks[1].length, at: marks[0].length, says: line.slice(marks[0].length) };
}

/** What brackets are open at the end of a piece of flow style: `{key: [a, {b: ` and so on. */
function flow(text) {
  const open = [];
  let word = "";
  let quote = null;
  for (const c of text) {
    const top = open.at(-1);
    if (quote) {
      if (c === quote) quote = null;
      else word += c;
    } else if (c === '"' || c === "'") quote = c;
    else if (c === "{" || c === "[") {
      open.push({ list: c === "[", key: null });
      word = "";
    } else if (c === "}" || c === "]") {
      open.pop();
      word = "";
    } else if (c === "," && top) {
      top.key = null;
      word = "";
    } else if (c === ":" && top && !top.list && top.key === null) {
      top.key = word.trim();
      word = "";
    } else word += c;
  }
  return { open, word: word.trimStart() };
}

/** Where a place is: the keys down to it (`[]` for an item), and whether a key or a value stands there. */
export function placeAt(text, at) {
  const lines = text.slice(0, at).split("\n");
  const line = lines.pop();
  const here = begun(line);
  const path = [];
  // The lines above that this one stands below, from the nearest to the farthest.
  let column = here.at;
  if (here.lists > 0) path.unshift(...Array(here.lists).fill("[]"));
  let edge = here.lists > 0 ? here.dashAt : column;
  let isItem = here.lists > 0;
  for (let up = lines.length - 1; up >= 0 && (edge > 0 || isItem); up -= 1) {
    if (/^\s*(#|$)/.test(lines[up])) continue;
    const above = begun(lines[up]);
    const key = KEY.exec(above.says);
    if (!key) continue;
    // A list may stand as far to the left as the key that it belongs to.
    const isBelow = above.at < edge || (isItem && above.at === edge && above.lists === 0);
    if (!isBelow) {
      // The first key of the item that this line is a part of.
      if (above.lists > 0 && above.at === edge) {
        path.unshift(...Array(above.lists).fill("[]"));
        edge = above.dashAt;
        isItem = true;
      }
      continue;
    }
    path.unshift(key[1] ?? key[2] ?? key[3].trim());
    if (above.lists > 0) {
      path.unshift(...Array(above.lists).fill("[]"));
      edge = above.dashAt;
      isItem = true;
    } else {
      edge = above.at;
      isItem = false;
    }
  }
  const says = here.says;
  if (/(^|\s)#/.test(says.replace(/"[^"]*"|'[^']*'/g, ""))) return null;
  const key = KEY.exec(says);
  const rest = key ? says.slice(key[0].length) : says;
  if (key) path.push(key[1] ?? key[2] ?? key[3].trim());
  const isFlow = /^\s*[{[]/.test(rest);
  if (isFlow) {
    const { open, word } = flow(rest);
    for (const it of open) {
      if (it.list) path.push("[]");
      else if (it.key !== null) path.push(it.key);
    }
    const top = open.at(-1);
    if (!top) return null;
    return { path, kind: top.list || top.key !== null ? "value" : "key", word, from: at - word.length };
  }
  if (key) {
    const word = rest.trimStart().replace(/^["']/, "");
    // Right behind the colon a space is missing yet.
    if (rest === "" || /^\s*[|>&*]/.test(rest)) return null;
    return { path, kind: "value", word, from: at - word.length };
  }
  return { path, kind: here.lists > 0 ? "either" : "key", word: says, from: at - says.length };
}

/** All that a schema can be, with references followed. */
function forms(root, node, depth = 0) {
  if (!node || typeof node !== "object" || depth > 8) return [];
  if (node.$ref) return forms(root, node.$ref.replace("#/$defs/", "").split("/").reduce((at, name) => at?.[name], root.$defs), depth + 1);
  const more = node.anyOf && !node.anyOf.every((it) => it.required) ? node.anyOf.flatMap((it) => forms(root, it, depth + 1)) : [];
  return [node, ...more];
}

function down(root, nodes, step) {
  return nodes.flatMap((node) => {
    if (step === "[]") return forms(root, node.items);
    const own = node.properties?.[step];
    if (own) return forms(root, own);
    return typeof node.additionalProperties === "object" ? forms(root, node.additionalProperties) : [];
  });
}

/** The schemas of a place. `of` is `agent` for an `agent.yaml`. */
function schemasOf(schema, of, path) {
  const root = of === "agent" ? forms(schema, schema.$defs?.agent) : forms(schema, schema);
  return path.reduce((nodes, step) => down(schema, nodes, step), root);
}

function keysOf(nodes) {
  const all = new Map();
  for (const node of nodes) {
    for (const [key, it] of Object.entries(node.properties ?? {})) {
      if (!it.deprecated && !all.has(key)) all.set(key, it.description ?? "");
    }
    for (const key of node.propertyNames?.enum ?? []) if (!all.has(key)) all.set(key, "");
  }
  return [...all].map(([text, about]) => ({ text, about, insert: `${text}: ` }));
}

function valuesOf(nodes, path, names) {
  const all = new Set();
  for (const node of nodes) {
    for (const it of node.enum ?? []) all.add(String(it));
    // Any text may be written as a boolean; that is no choice between two.
    const types = [node.type].flat();
    if (types.includes("boolean") && !types.includes("string")) ["true", "false"].forEach((it) => all.add(it));
  }
  const last = path.filter((it) => it !== "[]").at(-1);
  if (last === "agent" || last === "to") (names.agents ?? []).forEach((it) => all.add(it));
  if (last === "model") (names.models ?? []).forEach((it) => all.add(it));
  return [...all].map((text) => ({ text, about: "", insert: text }));
}

/** What could stand at a place: `{from, items: [{text, about, insert}]}`, or null. */
export function complete(schema, of, text, at, names = {}) {
  const place = placeAt(text, at);
  if (!place || !schema) return null;
  const nodes = schemasOf(schema, of, place.path);
  const found = [...(place.kind !== "value" ? keysOf(nodes) : []), ...(place.kind !== "key" ? valuesOf(nodes, place.path, names) : [])];
  const word = place.word.toLowerCase();
  const behind = text.slice(at).split("\n")[0];
  const items = found
    .filter((it) => it.text.toLowerCase().includes(word) && it.text !== place.word)
    .sort((a, b) => Number(b.text.startsWith(word)) - Number(a.text.startsWith(word)))
    .slice(0, SHOWN_MAX)
    .map((it) => (/^\s*:/.test(behind) ? { ...it, insert: it.text } : it));
  return items.length === 0 ? null : { from: place.from, items };
}

/** What the schema says of the key that a place is in. */
export function about(schema, of, text, at) {
  if (!schema) return null;
  const end = text.indexOf("\n", at);
  const place = placeAt(text, at) ?? placeAt(text, end === -1 ? text.length : end);
  if (!place) return null;
  const path = place.kind === "key" ? [...place.path, place.word.replace(/\s*:.*$/, "")] : place.path;
  while (path.at(-1) === "[]") path.pop();
  const said = schemasOf(schema, of, path).find((it) => it.description);
  return said && path.length > 0 ? { key: path.filter((it) => it !== "[]").join("."), text: said.description } : null;
}

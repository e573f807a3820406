// Reads Markdown into a tree of plain values. Whatever is not understood stays text; nothing of it
// is ever HTML.

/** How deep lists and quotes may nest. Deeper is text. */
const DEPTH_MAX = 8;

/** An address that a link may have; null for any other. */
export function address(text) {
  try {
    const url = new URL(text);
    return ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

const INLINE = /(`+)([\s\S]*?[^`])\1(?!`)|!?\[([^\]\n]*)\]\(\s*<?([^\s)>]+)>?(?:\s+"[^"\n]*")?\s*\)|\*\*(?=\S)([\s\S]*?\S)\*\*|__(?=\S)([\s\S]*?\S)__(?!\w)|~~(?=\S)([\s\S]*?\S)~~|\*(?=[^\s*])([^*]*?[^\s*])\*(?!\*)|(?<!\w)_(?=[^\s_])([^_]*?[^\s_])_(?!\w)|\bhttps?:\/\/[^\s<>()\[\]"'`]+[^\s<>()\[\]"'`.,;:!?]|\\([\\`*_{}\[\]()#+\-.!~>|])/;

/** What stands within a line: texts and `{kind, …}`. */
export function inline(text, depth = 0) {
  const out = [];
  let rest = text;
  while (rest !== "") {
    const found = depth < DEPTH_MAX ? INLINE.exec(rest) : null;
    if (!found) {
      out.push(rest);
      break;
    }
    if (found.index > 0) out.push(rest.slice(0, found.index));
    rest = rest.slice(found.index + found[0].length);
    const [all, ticks, code, label, href, strong, strong2, gone, em, em2, escaped] = found;
    if (ticks !== undefined) out.push({ kind: "code", text: code.replace(/^ (.*) $/s, "$1") });
    else if (href !== undefined) {
      const to = address(href);
      // A picture from elsewhere would tell that place who reads this: it is a link.
      if (to) out.push({ kind: "link", to, children: inline(label || href, depth + 1) });
      else out.push(all);
    } else if (strong !== undefined || strong2 !== undefined) out.push({ kind: "strong", children: inline(strong ?? strong2, depth + 1) });
    else if (gone !== undefined) out.push({ kind: "del", children: inline(gone, depth + 1) });
    else if (em !== undefined || em2 !== undefined) out.push({ kind: "em", children: inline(em ?? em2, depth + 1) });
    else if (escaped !== undefined) out.push(escaped);
    else out.push({ kind: "link", to: address(all) ?? "", children: [all] });
  }
  return out.map((it) => (it.kind === "link" && it.to === "" ? it.children[0] : it));
}

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^\s`]*)[^`]*$/;
const ITEM = /^( *)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const cells = (line) =>
  line
    .trim()
    .replace(/^\||\|$/g, "")
    .split(/(?<!\\)\|/)
    .map((it) => it.trim().replaceAll("\\|", "|"));

/** The blocks of a text. */
export function blocks(text, depth = 0) {
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  const out = [];
  let at = 0;
  const isBreak = (line, next) =>
    line.trim() === "" || FENCE.test(line) || RULE.test(line) || /^ {0,3}#{1,6}\s/.test(line) || /^ {0,3}>/.test(line) || ITEM.test(line) || (line.includes("|") && isDivider(next));
  while (at < lines.length) {
    const line = lines[at];
    const fence = FENCE.exec(line);
    if (line.trim() === "") {
      at += 1;
    } else if (fence) {
      const body = [];
      at += 1;
      const mark = fence[1];
      const ends = new RegExp(`^ {0,3}\\${mark[0]}{${mark.length},}\\s*$`);
      while (at < lines.length && !ends.test(lines[at])) body.push(lines[at++]);
      at += 1;
      out.push({ kind: "pre", language: fence[2], text: body.join("\n") });
    } else if (RULE.test(line)) {
      out.push({ kind: "rule" });
      at += 1;
    } else if (/^ {0,3}#{1,6}\s/.test(line)) {
      const [, marks, title] = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/.exec(line) ?? [null, "#", line];
      out.push({ kind: "heading", level: marks.length, children: inline(title) });
      at += 1;
    } else if (/^ {0,3}>/.test(line) && depth < DEPTH_MAX) {
      const body = [];
      while (at < lines.length && /^ {0,3}>/.test(lines[at])) body.push(lines[at++].replace(/^ {0,3}> ?/, ""));
      out.push({ kind: "quote", children: blocks(body.join("\n"), depth + 1) });
    } else if (ITEM.test(line) && depth < DEPTH_MAX) {
      const [list, next] = listAt(lines, at, depth);
      out.push(list);
      at = next;
    } else if (line.includes("|") && isDivider(lines[at + 1])) {
      const head = cells(line).map((it) => inline(it));
      const rows = [];
      at += 2;
      while (at < lines.length && lines[at].includes("|")) rows.push(cells(lines[at++]).map((it) => inline(it)));
      out.push({ kind: "table", head, rows });
    } else {
      const body = [line];
      at += 1;
      while (at < lines.length && !isBreak(lines[at], lines[at + 1])) body.push(lines[at++]);
      out.push({ kind: "text", children: inline(body.join("\n")) });
    }
  }
  return out;
}

function isDivider(line) {
  return line !== undefined && line.includes("-") && /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/.test(line) && line.includes("|");
}

function listAt(lines, start, depth) {
  const [, indent, mark] = ITEM.exec(lines[start]);
  const ordered = /\d/.test(mark);
  const items = [];
  let at = start;
  while (at < lines.length) {
    const item = ITEM.exec(lines[at]);
    if (!item || item[1].length < indent.length || item[1].length > indent.length + 1 || /\d/.test(item[2]) !== ordered) break;
    const body = [item[3]];
    const inner = item[1].length + item[2].length + 1;
    at += 1;
    while (at < lines.length) {
      const line = lines[at];
      const deeper = line.search(/\S/);
      if (line.trim() === "") {
        // An empty line goes on with the item only where something of it follows.
        const next = lines[at + 1];
        if (next === undefined || next.trim() === "" || next.search(/\S/) < Math.min(inner, 2)) break;
        body.push("");
      } else if (deeper >= Math.min(inner, item[1].length + 2)) body.push(line.slice(Math.min(deeper, inner)));
      else if (ITEM.test(line) || FENCE.test(line) || /^ {0,3}[#>]/.test(line)) break;
      else body.push(line);
      at += 1;
    }
    items.push(blocks(body.join("\n"), depth + 1));
    while (at < lines.length && lines[at].trim() === "" && ITEM.test(lines[at + 1] ?? "")) at += 1;
  }
  const first = ordered ? Number.parseInt(mark, 10) : null;
  return [{ kind: "list", ordered, first, items }, Math.max(at, start + 1)];
}

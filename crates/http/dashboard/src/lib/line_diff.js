// What differs between two texts, line by line.

/** Beyond this many pairs of lines what differs is shown as taken out and put in, whole. */
const PAIRS_MAX = 4_000_000;
/** Lines that are shown around what differs. */
const AROUND = 3;

/** Every line: `{kind: "same" | "out" | "in", text, before, after}` with its numbers. */
export function lines(before, after) {
  const split = (text) => (text === "" ? [] : text.replace(/\n$/, "").split("\n"));
  const [a, b] = [split(before), split(after)];
  let first = 0;
  while (first < a.length && first < b.length && a[first] === b[first]) first += 1;
  let last = 0;
  while (last < a.length - first && last < b.length - first && a[a.length - 1 - last] === b[b.length - 1 - last]) last += 1;
  const [midA, midB] = [a.slice(first, a.length - last), b.slice(first, b.length - last)];
  const all = [];
  const same = (text, i, j) => all.push({ kind: "same", text, before: i + 1, after: j + 1 });
  for (let i = 0; i < first; i += 1) same(a[i], i, i);
  for (const [kind, i, j] of between(midA, midB)) {
    if (kind === "same") same(midA[i], first + i, first + j);
    else if (kind === "out") all.push({ kind, text: midA[i], before: first + i + 1, after: null });
    else all.push({ kind, text: midB[j], before: null, after: first + j + 1 });
  }
  for (let n = last; n > 0; n -= 1) same(a[a.length - n], a.length - n, b.length - n);
  return all;
}

/** The longest that both have in common, and what is beside it. */
function between(a, b) {
  if (a.length * b.length > PAIRS_MAX) return [...a.map((_, i) => ["out", i, 0]), ...b.map((_, j) => ["in", 0, j])];
  const width = b.length + 1;
  const longest = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      longest[i * width + j] = a[i] === b[j] ? longest[(i + 1) * width + j + 1] + 1 : Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
    }
  }
  const steps = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) steps.push(["same", i++, j++]);
    else if (j === b.length || (i < a.length && longest[(i + 1) * width + j] >= longest[i * width + j + 1])) steps.push(["out", i++, j]);
    else steps.push(["in", i, j++]);
  }
  return steps;
}

/** The same with long runs of equal lines left out: `{kind: "gap", count}` in their place. */
export function folded(before, after) {
  const all = lines(before, after);
  const near = new Uint8Array(all.length);
  all.forEach((it, at) => {
    if (it.kind !== "same") near.fill(1, Math.max(0, at - AROUND), at + AROUND + 1);
  });
  const out = [];
  for (let at = 0; at < all.length; at += 1) {
    if (near[at]) out.push(all[at]);
    else if (out.at(-1)?.kind === "gap") out.at(-1).count += 1;
    else out.push({ kind: "gap", count: 1 });
  }
  return out;
}

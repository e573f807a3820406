// Times, amounts and names as people read them.

/** How long ago, or until when: `3 min ago`, `in 2 h`. */
export function ago(moment, now = Date.now()) {
  if (!moment) return "never";
  const then = new Date(moment).getTime();
  const s = Math.round((now - then) / 1000);
  const far = Math.abs(s);
  const text =
    far < 5 ? null : far < 60 ? `${far} s` : far < 3600 ? `${Math.round(far / 60)} min` : far < 86400 ? `${Math.round(far / 3600)} h` : `${Math.round(far / 86400)} d`;
  if (text === null) return "now";
  return s >= 0 ? `${text} ago` : `in ${text}`;
}

/** A moment in full, in this place's time. */
export function moment(text) {
  return text ? new Date(text).toLocaleString() : "";
}

/** A duration in milliseconds. */
export function took(ms) {
  if (ms === null || ms === undefined) return "";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  const s = Math.round(ms / 1000);
  return s < 3600 ? `${Math.floor(s / 60)} min ${s % 60} s` : `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
}

/** Millionths of a dollar. */
export function usd(micros) {
  if (micros === null || micros === undefined) return "";
  const dollars = micros / 1e6;
  return dollars === 0 ? "$0" : dollars > 0 && dollars < 0.00005 ? "< $0.0001" : dollars < 0.01 ? `$${dollars.toFixed(4)}` : `$${dollars.toFixed(2)}`;
}

/** A count: 1234567 is `1.2 M`. */
export function count(n) {
  if (n === null || n === undefined) return "";
  if (n < 10_000) return String(n);
  return n < 1_000_000 ? `${(n / 1000).toFixed(n < 100_000 ? 1 : 0)} k` : `${(n / 1e6).toFixed(1)} M`;
}

/** `1 turn`, `2 turns`. */
export function many(n, one, more = `${one}s`) {
  return `${n} ${n === 1 ? one : more}`;
}

/** What the daemon said, as a sentence of its own. */
export const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);

const CUT = {
  length: "the model reached the most it may say",
  filtered: "its provider withheld the rest",
  repeating: "it said the same again and again",
};

/** Why a reply is not whole, after `cut off`; nothing of one that is. */
export const cutOff = (cut) => (cut ? `cut off: ${CUT[cut] ?? cut}` : null);

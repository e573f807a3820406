// Files of the configuration as somebody is changing them: kept while pages come and go, and lost
// neither by a refusal nor by somebody else's change.
import { computed, effect, signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { api, at } from "./api.js";
import { unsaved } from "./unsaved.js";

/** How long after the last key the daemon is asked what is wrong. */
const PAUSE_MS = 350;

/** By file: `{file, base, mark, text, trouble, crlf}`; `base` is null where there is no such file. */
export const drafts = signal(new Map());

/** What the daemon said of the drafts as they are; null while it is asked. */
export const checked = signal(null);

/** Fields whose words are in no draft yet: nothing is good before they were looked at. */
const typing = signal(new Set());

/** Whether something was typed that is in no draft yet. */
export const untaken = computed(() => typing.value.size > 0);

/** Says of a field, by any mark of its own, whether what was typed in it is in no draft yet. */
export function typed(field, is) {
  if (typing.value.has(field) === is) return;
  const next = new Set(typing.value);
  if (is) next.add(field);
  else next.delete(field);
  typing.value = next;
}

const put = (draft) => (drafts.value = new Map(drafts.value).set(draft.file, draft));

function taken({ file, text, mark, trouble }) {
  // A text field knows one kind of line break only.
  const crlf = /\r\n/.test(text ?? "");
  const base = text === null ? null : text.replaceAll("\r\n", "\n");
  return { file, base, mark, trouble: trouble ?? null, crlf };
}

const differs = (it) => it.text !== (it.base ?? "");

/** The drafts that say something else than their files. */
export const changed = computed(() => [...drafts.value.values()].filter(differs));

// Loading the page anew would lose them.
effect(() => unsaved("drafts of the configuration", changed.value.length > 0));

/** What is sent of a draft. A note that says nothing any more is removed. */
export function sent({ file, text, mark, crlf, base }) {
  const gone = text.trim() === "" && base !== null && file.endsWith(".md");
  return { file, text: gone ? null : crlf ? text.replaceAll("\n", "\r\n") : text, was: mark };
}

/** Reads a file that is not being changed. */
export async function read(file, options) {
  const found = taken(await api.get(at("config", "files", file), options));
  const known = drafts.value.get(file);
  if (!known || !differs(known)) put({ ...found, text: found.base ?? "" });
}

/** Begins with a text for a file that is not there. */
export function begin({ file, text, was }) {
  put({ file, base: null, mark: was ?? null, trouble: null, crlf: false, text });
}

export function edit(file, text) {
  const known = drafts.value.get(file);
  if (known && known.text !== text) put({ ...known, text });
}

/** Leaves a draft, as its file is. */
export function drop(file) {
  const known = drafts.value.get(file);
  if (known) put({ ...known, text: known.base ?? "" });
}

/** Knows nothing any more of the files of a folder that is gone. */
export function forget(folder) {
  drafts.value = new Map([...drafts.value].filter(([file]) => !file.startsWith(folder)));
}

/** Goes on with a draft over what somebody else wrote meanwhile. */
export function over(view) {
  const known = drafts.value.get(view.file);
  if (known) put({ ...known, ...taken(view) });
}

/** Takes what somebody else wrote, and leaves the draft. */
export function theirs(view) {
  const found = taken(view);
  put({ ...found, text: found.base ?? "" });
}

/** What was written is how the files are now. */
export function wrote(files) {
  for (const view of files) theirs(view);
  checked.value = null;
}

/** The drafts of these files, read where they are not yet. */
export function useDrafts(files) {
  const [error, setError] = useState(null);
  useEffect(() => {
    const stop = new AbortController();
    setError(null);
    for (const file of files) read(file, { signal: stop.signal }).catch((fault) => !stop.signal.aborted && setError(fault));
    return () => stop.abort();
  }, [files.join("\n")]);
  const all = files.map((file) => drafts.value.get(file));
  return { all, error, ready: all.every(Boolean) };
}

/** Asks what is wrong with the drafts, a moment after they were last changed. */
export function useCheck() {
  const mine = changed.value;
  const key = mine.map((it) => `${it.file}\n${it.mark}\n${it.text}`).join("\0");
  useEffect(() => {
    if (mine.length === 0) {
      checked.value = null;
      return undefined;
    }
    const stop = new AbortController();
    const timer = setTimeout(() => {
      api.post("/api/config/check", { files: mine.map(sent) }, { signal: stop.signal }).then(
        (answer) => (checked.value = { answer, key }),
        (error) => !stop.signal.aborted && (checked.value = { error, key }),
      );
    }, PAUSE_MS);
    return () => (clearTimeout(timer), stop.abort());
  }, [key]);
  return checked.value?.key === key ? checked.value : null;
}

/** What a text of YAML says; undefined until it is known, null where it can't be read. */
export function useValue(text) {
  const [known, setKnown] = useState({ text: undefined, value: undefined });
  useEffect(() => {
    if (text === undefined) return undefined;
    const stop = new AbortController();
    api.post("/api/config/edit", { text }, { signal: stop.signal }).then(
      ({ value }) => setKnown({ text, value }),
      () => !stop.signal.aborted && setKnown({ text, value: null }),
    );
    return () => stop.abort();
  }, [text]);
  return known.value;
}

let last = Promise.resolve();

/**
 * Writes settings into a draft, one after the other: `edits` are `{path, value}` or
 * `{path, remove: true}`, or a function that gives them for what the text says by then.
 */
export function write(file, edits) {
  const made = last.then(async () => {
    const { text } = drafts.value.get(file);
    const wanted = typeof edits === "function" ? edits((await api.post("/api/config/edit", { text })).value) : edits;
    const done = await api.post("/api/config/edit", { text, edits: wanted });
    edit(file, done.text);
  });
  last = made.catch(() => {});
  return made;
}

let schema = null;

/** The schema of the configuration; null until it is known. */
export function useSchema() {
  const [known, setKnown] = useState(schema);
  useEffect(() => {
    if (known) return;
    api.get("/api/config/schema").then((it) => setKnown((schema = it)), () => {});
  }, []);
  return known;
}

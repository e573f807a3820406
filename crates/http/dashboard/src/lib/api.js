// The one way to the daemon: the public API, as whoever signed in.
import { signal } from "@preact/signals";
import { reader } from "./sse.js";

/** Where the page keeps its half of what it signed in by. The other half is a cookie that no page reads. */
const KEY = "insula.page";

/** Why nobody is signed in: null while somebody is, a text to show otherwise. */
export const signedOut = signal(null);

/** What the daemon refused, in its words. */
export class Fault extends Error {
  constructor(status, code, message, body) {
    super(message);
    this.status = status;
    this.code = code;
    this.body = body;
  }
}

export const pageKey = {
  get: () => localStorage.getItem(KEY),
  set: (key) => (key ? localStorage.setItem(KEY, key) : localStorage.removeItem(KEY)),
};

function headers(more = {}) {
  const key = pageKey.get();
  return key ? { "x-insula-page": key, ...more } : more;
}

async function fault(answer) {
  const body = await answer.json().catch(() => ({}));
  const error = body.error ?? {};
  return new Fault(answer.status, error.code ?? "failed", error.message ?? `the daemon answered ${answer.status}`, body);
}

async function ask(method, path, body, options = {}) {
  let answer;
  const init = { method, headers: headers(options.headers), signal: options.signal, credentials: "same-origin", cache: "no-store" };
  if (body instanceof Blob) {
    init.body = body;
  } else if (body !== undefined) {
    init.headers["content-type"] = "application/json";
    init.body = JSON.stringify(body);
  }
  try {
    answer = await fetch(path, init);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Fault(0, "offline", "the daemon does not answer");
  }
  if (answer.ok) return answer;
  const why = await fault(answer);
  if (why.status === 401 && !options.quiet) signedOut.value = "You are signed out.";
  throw why;
}

async function json(method, path, body, options) {
  const answer = await ask(method, path, body, options);
  const text = await answer.text();
  return text === "" ? null : JSON.parse(text);
}

/** Joins a path of names that come from outside: `at("agents", id, "turns")`. */
export function at(...parts) {
  return `/api/${parts.map((it) => encodeURIComponent(it)).join("/")}`;
}

/** Adds a query of those values that are set. */
export function query(path, values) {
  const set = Object.entries(values).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return set.length === 0 ? path : `${path}?${new URLSearchParams(set)}`;
}

/** Where the rest of a list is, as its answer says. */
export function nextOf(link) {
  return /^<([^>]+)>; rel="next"$/.exec(link ?? "")?.[1] ?? null;
}

/** A whole list that comes in parts, one after the other. */
async function list(path, options) {
  const all = [];
  for (let next = path; next !== null; ) {
    const answer = await ask("GET", next, undefined, options);
    all.push(...(await answer.json()));
    next = nextOf(answer.headers.get("link"));
  }
  return all;
}

export const api = {
  get: (path, options) => json("GET", path, undefined, options),
  list,
  post: (path, body = {}, options) => json("POST", path, body, options),
  put: (path, body, options) => json("PUT", path, body, options),
  del: (path, options) => json("DELETE", path, undefined, options),
  /** Sends a file as it is. */
  upload: (path, file, options) => json("POST", path, file, options),
  /** A file, as an address that only this page can open. Give it to `URL.revokeObjectURL` when done. */
  async blob(path, { type = "application/octet-stream", ...options } = {}) {
    const answer = await ask("GET", path, undefined, options);
    return URL.createObjectURL(new Blob([await answer.arrayBuffer()], { type }));
  },
  /** Tells every event of a stream until it ends. */
  async stream(method, path, body, tell, options = {}) {
    const answer = await ask(method, path, body, options);
    options.onOpen?.();
    const text = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    const take = reader(tell);
    for (;;) {
      const { done, value } = await text.read();
      if (done) return;
      take(value);
    }
  },
};

// Which page is open. It stands behind the `#` of the address: `#/agents/coder?tab=tools`.
import { signal } from "@preact/signals";

/** Reads what stands behind the `#`. */
export function parse(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?");
  const decode = (part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  };
  const [page = "", ...rest] = path.split("/").filter(Boolean).map(decode);
  return { page, rest, query: Object.fromEntries(new URLSearchParams(query)) };
}

/** The address of a page: `to("agents", [id], {tab})`. */
export function to(page, rest = [], query = {}) {
  const set = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const path = [page, ...rest].map((it) => encodeURIComponent(it)).join("/");
  return `#/${path}${set.length > 0 ? `?${new URLSearchParams(set)}` : ""}`;
}

export const route = signal(parse(globalThis.location?.hash ?? ""));

/** Opens a page. With `replace` the way back leads past this one. */
export function go(address, { replace = false } = {}) {
  if (replace) {
    history.replaceState(null, "", address);
    route.value = parse(address);
  } else {
    location.hash = address;
  }
}

/** Changes what is asked of the open page, without a step of the way back. */
export function ask(values) {
  const { page, rest, query } = route.value;
  go(to(page, rest, { ...query, ...values }), { replace: true });
}

export function start() {
  addEventListener("hashchange", () => (route.value = parse(location.hash)));
}

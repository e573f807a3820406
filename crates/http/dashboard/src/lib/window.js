// Which rows of a long list are drawn: those in sight and a few around them.

/** Rows that are drawn beyond what is in sight, on either side. */
export const AROUND = 8;

/** The first row to draw and the one after the last. */
export function inSight({ count, height, top, view }) {
  const first = Math.max(0, Math.min(count, Math.floor(top / height)) - AROUND);
  const last = Math.min(count, Math.ceil((top + view) / height) + AROUND);
  return { first: Math.min(first, last), last };
}

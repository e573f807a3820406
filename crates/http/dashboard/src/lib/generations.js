// What differs between two generations of an agent, by the records of the steps between them.

/** The names of what a step changed. */
const namesOf = (content) => [...(content.settings ?? []), ...(content.soul_changed ? ["SOUL.md"] : []), ...(content.instructions_changed ? ["instructions"] : [])];

/** The digest of all settings that held at a record. */
const digestAt = (records, at) => records.slice(0, at + 1).findLast((it) => it.content.digest)?.content.digest;

/**
 * What is another at `until` than at `from`: what was changed and changed back is as it was. Records
 * have no values and a mark of each; those of before there were marks tell of a change alone.
 */
export function differing(records, from, until) {
  const digest = digestAt(records, from);
  if (digest !== undefined && digest === digestAt(records, until)) return [];
  const first = new Map();
  const last = new Map();
  for (const { content } of records.slice(from + 1, until + 1)) {
    for (const name of namesOf(content)) {
      const [was, is] = content.marks?.[name] ?? [undefined, undefined];
      if (!first.has(name)) first.set(name, was);
      last.set(name, is);
    }
  }
  return [...first].filter(([name, was]) => was === undefined || was !== last.get(name)).map(([name]) => name);
}

// Tables and lists of any length: only rows in sight are drawn.
import { useEffect, useRef, useState } from "preact/hooks";
import { inSight } from "../lib/window.js";

/** How many rows are drawn whole, without a window. */
const WHOLE_MAX = 60;

/** Where a table's rows are cards: the same as in narrow.css. */
const telephone = matchMedia("(max-width: 640px)");

function useTelephone() {
  const [is, setIs] = useState(telephone.matches);
  useEffect(() => {
    const look = () => setIs(telephone.matches);
    telephone.addEventListener("change", look);
    return () => telephone.removeEventListener("change", look);
  }, []);
  return is;
}

/** How much larger than usual text is drawn here: rows grow with it. */
const scale = () => Number.parseFloat(getComputedStyle(document.documentElement).fontSize) / 15.6;

/** What of a long list is in sight, as it is scrolled. `height` is that of a row where text is as large as usual. */
function useWindow(count, usual) {
  const height = Math.round(usual * scale());
  const at = useRef(null);
  const [seen, setSeen] = useState({ top: 0, view: 800 });
  useEffect(() => {
    const box = at.current;
    if (!box) return undefined;
    const look = () => setSeen({ top: box.scrollTop, view: box.clientHeight });
    look();
    box.addEventListener("scroll", look, { passive: true });
    const sized = new ResizeObserver(look);
    sized.observe(box);
    return () => (box.removeEventListener("scroll", look), sized.disconnect());
  }, [count > WHOLE_MAX]);
  if (count <= WHOLE_MAX) return { at, first: 0, last: count, before: 0, after: 0, height };
  const { first, last } = inSight({ count, height, ...seen });
  return { at, first, last, before: first * height, after: (count - last) * height, height };
}

/**
 * A table. `columns` are `{key, title, cell(row), width, num, wraps}`: what wraps takes two lines
 * also in a long table. `rowKey(row)` names a row; `onOpen(row)` makes rows open by click and
 * Enter; `height` is that of a row in a long table, `card` that of one on a telephone, where it is
 * a card.
 */
export function Table({ label, columns, rows, rowKey, onOpen, height: usual = 44, card, selected }) {
  const isCards = useTelephone() && card !== undefined;
  const { at, first, last, before, after, height } = useWindow(rows.length, isCards ? card : usual);
  const long = rows.length > WHOLE_MAX;
  const open = (row) => (event) => {
    if (event.target.closest("a, button, input, select")) return;
    if (event.type === "click" || event.key === "Enter") onOpen(row);
  };
  return (
    <div ref={at} class={long ? (isCards ? "table long cards" : "table long") : "table"} tabIndex={0} role="region" aria-label={label}>
      <table aria-rowcount={rows.length + 1} style={long ? { "--row": `${height}px` } : undefined}>
        <thead>
          <tr>
            {columns.map((it) => (
              <th key={it.key} scope="col" class={it.num ? "num" : undefined} style={it.width ? { width: it.width } : undefined}>
                {it.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {before > 0 && <tr aria-hidden="true" class="gap" style={{ height: `${before}px` }}><td colSpan={columns.length} /></tr>}
          {rows.slice(first, last).map((row, index) => (
            <tr
              key={rowKey(row)}
              aria-rowindex={first + index + 2}
              class={onOpen ? "opens" : undefined}
              aria-selected={selected !== undefined && selected === rowKey(row) ? "true" : undefined}
              tabIndex={onOpen ? 0 : undefined}
              onClick={onOpen && open(row)}
              onKeyDown={onOpen && open(row)}
            >
              {columns.map((it) => (
                <td key={it.key} class={it.num ? "num" : it.wraps ? "wraps" : undefined} data-title={it.title}>
                  {it.cell(row)}
                </td>
              ))}
            </tr>
          ))}
          {after > 0 && <tr aria-hidden="true" class="gap" style={{ height: `${after}px` }}><td colSpan={columns.length} /></tr>}
        </tbody>
      </table>
    </div>
  );
}

/** A list whose rows are all of one height. `row(item)` draws one. */
export function List({ label, items, itemKey, row, height: usual = 44 }) {
  const { at, first, last, before, after, height } = useWindow(items.length, usual);
  return (
    <div ref={at} class={items.length > WHOLE_MAX ? "list long" : "list"} tabIndex={0} role="region" aria-label={label}>
      <ul style={{ "--row": `${height}px` }}>
        {before > 0 && <li aria-hidden="true" style={{ height: `${before}px` }} />}
        {items.slice(first, last).map((item) => (
          <li key={itemKey(item)}>{row(item)}</li>
        ))}
        {after > 0 && <li aria-hidden="true" style={{ height: `${after}px` }} />}
      </ul>
    </div>
  );
}

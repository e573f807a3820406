// A plot of stacked bars over time. What it shows stands beside it as a table too: a picture alone
// tells nothing to whoever can't see it.
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { stacked } from "../lib/costs.js";
import { theme } from "../lib/theme.js";
import { Ticked } from "./parts.jsx";
import "./plot.css";

/** Colours that series have, by their place: the last is for what all others used. */
export const COLOURS = 10;

const colour = (style, index) => style.getPropertyValue(index === null ? "--series-rest" : `--series-${index % COLOURS}`).trim();

/** Bars, one on top of the other, drawn from the highest to the lowest. */
function options({ series, names, width, height, style, say, tell, byHour }) {
  const ink = style.getPropertyValue("--quiet").trim();
  const line = style.getPropertyValue("--line").trim();
  const text = Number.parseFloat(style.fontSize) * 0.76;
  const font = `${text}px ${style.fontFamily}`;
  const bars = uPlot.paths.bars({ size: [0.72, 64], radius: 0, gap: 1 });
  const axis = { stroke: ink, font, ticks: { stroke: line, size: 5 }, grid: { stroke: line, width: 1 } };
  const days = (self, splits) => splits.map((at) => new Date(at * 1000).toLocaleDateString([], { day: "numeric", month: "short", timeZone: "UTC" }));
  const hours = (self, splits) => splits.map((at) => new Date(at * 1000).toLocaleString([], { weekday: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23" }));
  return {
    width,
    height,
    padding: [10, 8, 0, 0],
    legend: { show: false },
    tzDate: (at) => (byHour ? new Date(at * 1000) : uPlot.tzDate(new Date(at * 1000), "UTC")),
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
    scales: { x: { time: true, range: (self, min, max) => [min - names.apart / 2, max + names.apart / 2] }, y: { range: (self, min, max) => [0, max > 0 ? max * 1.08 : 1] } },
    axes: [
      { ...axis, size: text * 2.8, grid: { show: false }, values: byHour ? hours : days, space: text * (byHour ? 7.5 : 5.3), incrs: byHour ? [3600, 7200, 10800, 21600, 43200, 86400] : [86400, 2 * 86400, 7 * 86400, 14 * 86400, 30 * 86400, 61 * 86400] },
      { ...axis, values: (self, splits) => splits.map(say), size: text * 5 },
    ],
    series: [{}, ...series.map((it) => ({ label: it.name, stroke: it.colour, fill: it.colour, width: 0, paths: bars, points: { show: false } }))],
    hooks: { setCursor: [(self) => tell(self.cursor.idx ?? null)] },
  };
}

/**
 * `times` in seconds, `series` as `{name, [measure]: numbers, rest}`; `say` writes an amount.
 * `label` is what the picture shows, for whoever can't see it.
 */
export function Plot({ times, series, measure, say, label, byHour }) {
  const box = useRef(null);
  const [at, setAt] = useState(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const sized = new ResizeObserver(([it]) => setWidth(Math.floor(it.contentRect.width)));
    sized.observe(box.current);
    return () => sized.disconnect();
  }, []);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const [, setTheme] = useState(0);
  useEffect(() => {
    const look = () => setTheme((was) => was + 1);
    dark.addEventListener("change", look);
    return () => dark.removeEventListener("change", look);
  }, []);
  const shade = `${theme.value}:${dark.matches}`;
  useEffect(() => {
    if (width < 60 || times.length === 0) return undefined;
    const style = getComputedStyle(box.current);
    const sums = stacked(series, measure);
    const apart = byHour ? 3600 : 86400;
    const coloured = series.map((it, index) => ({ name: it.name, colour: colour(style, it.rest ? null : index) }));
    const height = Math.round(Math.min(Math.max(width * 0.3, 200), Math.max(innerHeight * 0.36, 220)));
    const plot = new uPlot(options({ series: coloured.toReversed(), names: { apart }, width, height, style, say, tell: setAt, byHour }), [times, ...sums.toReversed()], box.current);
    plot.root.querySelector("canvas")?.setAttribute("aria-hidden", "true");
    return () => plot.destroy();
  }, [times, series, measure, width, shade]);
  const index = at !== null && at < times.length ? at : null;
  return (
    <figure class="plot" aria-label={label}>
      <div ref={box} class="plot-box" role="img" aria-label={label} />
      <figcaption>
        <p class="plot-at small" aria-hidden="true">
          {index === null ? (
            <span class="quiet">Point at a bar to read it.</span>
          ) : (
            <>
              <span class="strong">{new Date(times[index] * 1000).toLocaleString([], byHour ? { weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" } : { weekday: "short", day: "numeric", month: "short", year: "numeric", timeZone: "UTC" })}</span>{" "}
              <span>{say(series.reduce((all, it) => all + it[measure][index], 0))}</span>
            </>
          )}
        </p>
        <ul class="legend small">
          {series.map((it, place) => (
            <li key={it.name}>
              <svg aria-hidden="true" width="10" height="10" viewBox="0 0 10 10">
                <rect width="10" height="10" rx="2" class={it.rest ? "swatch-rest" : `swatch-${place % COLOURS}`} />
              </svg>
              <span class="name">{it.rest ? "all others" : <Ticked text={it.name} />}</span>
              <span class="quiet num">{say(index === null ? it[measure].reduce((all, value) => all + value, 0) : it[measure][index])}</span>
            </li>
          ))}
        </ul>
      </figcaption>
    </figure>
  );
}

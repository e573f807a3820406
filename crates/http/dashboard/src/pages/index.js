// Every page there is. One line adds one: its path behind the `#`, its name in the bar, what draws
// it, and whom it is for. A page without a title stands in no bar.
import { isAdmin, mayAny } from "../lib/me.js";
import { Agents } from "./agents.jsx";

const readers = () => mayAny("read");

export const pages = [
  { path: "agents", title: "Agents", page: Agents, for: readers },
];

export { isAdmin, readers };

// Every page there is. One line adds one: its path behind the `#`, its name in the bar, what draws
// it, and whom it is for. A page without a title stands in no bar.
import { isAdmin, mayAny } from "../lib/me.js";
import { Agents } from "./agents.jsx";
import { Chat } from "./chat.jsx";
import { MapPage } from "./map.jsx";
import { Now } from "./now.jsx";

const readers = () => mayAny("read");

export const pages = [
  { path: "now", title: "Now", page: Now, for: readers },
  { path: "chat", title: "Chat", page: Chat, for: () => mayAny("chat") },
  { path: "map", title: "Map", page: MapPage, for: readers },
  { path: "agents", title: "Agents", page: Agents, for: readers },
];

export { isAdmin, readers };

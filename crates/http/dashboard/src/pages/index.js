// Every page there is. One line adds one: its path behind the `#`, its name in the bar, what draws
// it, and whom it is for. A page without a title stands in no bar.
import { isAdmin, mayAny } from "../lib/me.js";
import { count } from "../lib/inbox.js";
import { AddAgent } from "./add_agent.jsx";
import { Agents } from "./agents.jsx";
import { Approvals } from "./approvals.jsx";
import { Audit } from "./audit.jsx";
import { Boards, hasBoards } from "./boards.jsx";
import { Channels, hasChannels } from "./channels.jsx";
import { Chat } from "./chat.jsx";
import { Costs } from "./costs.jsx";
import { Configuration } from "./configuration.jsx";
import { Gauntlet } from "./gauntlet.jsx";
import { MapPage } from "./map.jsx";
import { Memory } from "./memory.jsx";
import { Now } from "./now.jsx";
import { Sessions } from "./sessions.jsx";
import { Schedules } from "./schedules.jsx";
import { Tools } from "./tools.jsx";

const readers = () => mayAny("read");

export const pages = [
  { path: "now", title: "Now", page: Now, for: readers },
  { path: "chat", title: "Chat", page: Chat, for: () => mayAny("chat") },
  { path: "approvals", title: "Approvals", page: Approvals, for: () => mayAny("approve") || readers(), badge: count },
  { path: "boards", title: "Boards", page: Boards, for: hasBoards },
  { path: "schedules", title: "Schedules", page: Schedules, for: readers },
  { path: "map", title: "Map", page: MapPage, for: readers },
  { path: "agents", title: "Agents", page: Agents, for: readers },
  { path: "tools", title: "Tools", page: Tools, for: readers },
  { path: "channels", title: "Channels", page: Channels, for: hasChannels },
  { path: "sessions", title: "Conversations", page: Sessions, for: readers },
  { path: "memory", title: "Memory", page: Memory, for: readers },
  { path: "costs", title: "Costs", page: Costs, for: readers },
  { path: "audit", title: "Audit", page: Audit, for: readers },
  { path: "add-agent", page: AddAgent, for: isAdmin },
  { path: "config", title: "Configuration", page: Configuration, for: isAdmin },
  { path: "gauntlet", title: "Gauntlet", page: Gauntlet, for: isAdmin },
];

export { isAdmin, readers };

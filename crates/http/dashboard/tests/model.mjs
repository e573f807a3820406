// A model for tests, over OpenAI's protocol: what it says depends on the last thing it was told.
import { createServer } from "node:http";

/** What a page must show as text and never run. */
export const HOSTILE = '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>[a](javascript:window.pwned=1) **bold**';

/** More columns than a telephone has room for. */
const COLUMNS = ["Description", "Responsible", "Deadline", "Department", "Consequence", "Alternative"];

function chunk(delta, finish = null) {
  return `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
}

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

async function answer(asked, response) {
  const messages = asked.messages ?? [];
  const last = messages.at(-1) ?? {};
  const text = typeof last.content === "string" ? last.content : (last.content ?? []).map((it) => it.text ?? "").join(" ");
  response.writeHead(200, { "content-type": "text/event-stream" });
  const words = async (all, wait = 0) => {
    for (const word of all) {
      if (response.destroyed) return;
      response.write(chunk({ content: word }));
      if (wait) await pause(wait);
    }
  };
  if (last.role === "tool") {
    await words(["The tool said: ", String(text).slice(0, 200)]);
  } else if (/\bslow\b/.test(text)) {
    await words(
      Array.from({ length: 300 }, (_, n) => `word${n} `),
      100,
    );
  } else if (/\bwide table\b/.test(text)) {
    await words([`| ${COLUMNS.join(" | ")} |\n|${"---|".repeat(COLUMNS.length)}\n| ${COLUMNS.map((it) => `${it} of one`).join(" | ")} |\n`]);
  } else if (/\bcircles\b/.test(text)) {
    await words(Array.from({ length: 400 }, () => "and again. "));
  } else if (/\bhostile\b/.test(text)) {
    await words([HOSTILE]);
  } else if (/\bcall ([a-z_]+) (\{.*\})/.test(text)) {
    const [, name, args] = /\bcall ([a-z_]+) (\{.*\})/.exec(text);
    response.write(chunk({ tool_calls: [{ index: 0, id: `call_${Date.now()}`, type: "function", function: { name, arguments: args } }] }));
    response.write(chunk({}, "tool_calls"));
    response.end("data: [DONE]\n\n");
    return;
  } else {
    await words(["# Heard\n\n", "You said **", text.slice(0, 200), "**.\n\n", "```rust\nfn main() {}\n```\n\n", "- one\n- two\n"]);
  }
  if (response.destroyed) return;
  response.write(chunk({}, "stop"));
  response.end("data: [DONE]\n\n");
}

/** Serves it; gives its address and how to end it. */
export function serve() {
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (piece) => (body += piece));
    request.on("end", () => {
      if (request.method !== "POST") {
        response.writeHead(200, { "content-type": "application/json" });
        response.end('{"object":"list","data":[{"id":"m","object":"model"}]}');
        return;
      }
      answer(JSON.parse(body || "{}"), response).catch(() => response.destroy());
    });
  });
  return new Promise((done) => server.listen(0, "127.0.0.1", () => done({ url: `http://127.0.0.1:${server.address().port}/v1`, end: () => server.close(() => {}) || server.closeAllConnections() })));
}

// The `openai` package from npm, unchanged, against a running daemon.
//
// INSULA_URL is its base URL, INSULA_TOKEN a token for agent `a`; agent `b` is somebody else's.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

// Installed beside the build, not beside this file.
const require = createRequire(pathToFileURL(`${process.env.INSULA_CLIENTS}/`));
const { default: OpenAI } = await import(pathToFileURL(require.resolve("openai")).href);
const about = `${process.env.INSULA_CLIENTS}/node_modules/openai/package.json`;
const { version } = JSON.parse(readFileSync(about, "utf8"));

const client = new OpenAI({
  baseURL: process.env.INSULA_URL,
  apiKey: process.env.INSULA_TOKEN,
});
const user = (content) => [{ role: "user", content }];
const done = [];

async function step(name, test) {
  await test();
  done.push(name);
}

async function collect(stream) {
  const all = [];
  for await (const one of stream) all.push(one);
  return all;
}

await step("models are the agents of the token", async () => {
  const models = await collect(client.models.list());
  assert.deepEqual(models.map((model) => model.id), ["a"]);
});

await step("an agent chats", async () => {
  const reply = await client.chat.completions.create({ model: "a", messages: user("say hello there") });
  assert.equal(reply.choices[0].message.content, "hello there");
  assert.equal(reply.choices[0].finish_reason, "stop");
});

await step("a reply is streamed", async () => {
  const stream = await client.chat.completions.create({
    model: "a",
    messages: user("say a few words"),
    stream: true,
  });
  const chunks = await collect(stream);
  const text = chunks.map((chunk) => chunk.choices[0]?.delta?.content ?? "").join("");
  assert.equal(text, "a few words");
});

await step("a session is continued", async () => {
  const session = { headers: { "X-Insula-Session": `node-${randomUUID()}` } };
  const ask = (text, options) =>
    client.chat.completions.create({ model: "a", messages: user(text) }, options);
  await ask("todo water the plants", session);
  const after = await ask("call todo {}", session);
  assert.match(after.choices[0].message.content, /water the plants/);
  const alone = await ask("call todo {}");
  assert.doesNotMatch(alone.choices[0].message.content, /water/);
});

await step("the same key is the same turn", async () => {
  const once = { headers: { "Idempotency-Key": randomUUID() } };
  const ask = () =>
    client.chat.completions.create({ model: "a", messages: user("say once") }, once);
  const [first, again] = [await ask(), await ask()];
  assert.equal(again.id, first.id);
  assert.equal(again.choices[0].message.content, "once");
});

await step("a response is given, and given again", async () => {
  const response = await client.responses.create({ model: "a", input: "say hello there" });
  assert.equal(response.status, "completed");
  assert.equal(response.output_text, "hello there");
  const again = await client.responses.retrieve(response.id);
  assert.equal(again.output_text, "hello there");
});

await step("a response is streamed", async () => {
  const stream = await client.responses.create({ model: "a", input: "say a few words", stream: true });
  const events = await collect(stream);
  const kinds = events.map((event) => event.type);
  assert.deepEqual(kinds.slice(0, 2), ["response.created", "response.in_progress"]);
  assert.equal(kinds.at(-1), "response.completed");
  const deltas = events.filter((event) => event.type === "response.output_text.delta");
  assert.equal(deltas.map((event) => event.delta).join(""), "a few words");
});

await step("the package's own stream helpers agree", async () => {
  const responses = client.responses.stream({ model: "a", input: "say a few words" });
  assert.equal((await responses.finalResponse()).output_text, "a few words");
  const chat = client.chat.completions.stream({ model: "a", messages: user("say a few words") });
  assert.equal(await chat.finalContent(), "a few words");
});

await step("a response is continued", async () => {
  const first = await client.responses.create({ model: "a", input: "todo feed the cat" });
  const after = await client.responses.create({
    model: "a",
    input: [{ role: "user", content: [{ type: "input_text", text: "call todo {}" }] }],
    previous_response_id: first.id,
  });
  assert.match(after.output_text, /feed the cat/);
});

const weather = {
  name: "get_weather",
  description: "The weather somewhere.",
  parameters: {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
    additionalProperties: false,
  },
  strict: true,
};
const asked = 'call get_weather {"city":"Rome"}';

await step("the client runs its own tool", async () => {
  const tools = [{ type: "function", function: weather }];
  for (const headers of [{}, { "X-Insula-Session": `tools-${randomUUID()}` }]) {
    const messages = user(asked);
    const ask = () => client.chat.completions.create({ model: "a", messages, tools }, { headers });
    const [first] = (await ask()).choices;
    assert.equal(first.finish_reason, "tool_calls");
    const [call] = first.message.tool_calls;
    assert.deepEqual(JSON.parse(call.function.arguments), { city: "Rome" });
    const result = { role: "tool", tool_call_id: call.id, content: "sunny, 24 degrees" };
    messages.push(first.message, result);
    const [last] = (await ask()).choices;
    assert.match(last.message.content, /sunny, 24 degrees/);
    messages.push(last.message, ...user("say and so on"));
    assert.equal((await ask()).choices[0].message.content, "and so on");
  }
});

await step("the package runs tools by itself, streamed and not", async () => {
  const run = (text) => `${JSON.parse(text).city}: sunny, 24 degrees`;
  const tools = [
    { type: "function", function: { ...weather, parse: undefined, function: run } },
  ];
  for (const stream of [false, true]) {
    const runner = client.chat.completions.runTools({
      model: "a",
      messages: user(asked),
      tools,
      stream,
    });
    assert.match(await runner.finalContent(), /Rome: sunny, 24 degrees/);
  }
});

await step("a response is continued with what a tool brought", async () => {
  const tools = [{ type: "function", ...weather }];
  const first = await client.responses.create({ model: "a", input: asked, tools });
  const call = first.output.find((item) => item.type === "function_call");
  const output = { type: "function_call_output", call_id: call.call_id, output: "sunny, 24" };
  const next = await client.responses.create({
    model: "a",
    tools,
    input: [output],
    previous_response_id: first.id,
  });
  assert.match(next.output_text, /sunny, 24/);
  const streamed = client.responses.stream({ model: "a", input: asked, tools });
  const final = await streamed.finalResponse();
  assert.equal(final.output.at(-1).type, "function_call");
});

await step("a response is erased", async () => {
  const response = await client.responses.create({ model: "a", input: "say hello there" });
  await client.responses.delete(response.id);
  await assert.rejects(() => client.responses.retrieve(response.id), OpenAI.NotFoundError);
});

await step("errors are the package's own", async () => {
  const stranger = client.withOptions({ apiKey: "insula_0_0" });
  await assert.rejects(() => collect(stranger.models.list()), OpenAI.AuthenticationError);
  const ask = (body) => client.chat.completions.create({ messages: user("hi"), ...body });
  for (const model of ["b", "nobody"]) {
    await assert.rejects(() => ask({ model }), (error) => error.code === "model_not_found");
  }
  const tools = [{ type: "function", function: { name: "todo", parameters: {} } }];
  await assert.rejects(() => ask({ model: "a", tools }), (error) => error.param === "tools[0]");
  const unknown = `resp_${"0".repeat(48)}`;
  await assert.rejects(() => client.responses.retrieve(unknown), OpenAI.NotFoundError);
});

console.log(`openai ${version} (Node.js): ${done.length} steps hold`);
for (const name of done) console.log(`  ${name}`);

// The package `ai` from npm with both of its OpenAI providers, unchanged, against a running daemon:
// it talks over several turns, streams, and runs tools of its own.
//
// INSULA_URL is the base URL, INSULA_TOKEN a token for agent `a`.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

// Installed beside the build, not beside this file.
const folder = process.env.INSULA_CLIENTS;
const require = createRequire(pathToFileURL(`${folder}/`));
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const { generateText, stepCountIs, streamText, tool } = await load("ai");
const { createOpenAI } = await load("@ai-sdk/openai");
const { createOpenAICompatible } = await load("@ai-sdk/openai-compatible");
const { z } = await load("zod");
const versionOf = (name) =>
  JSON.parse(readFileSync(`${folder}/node_modules/${name}/package.json`, "utf8")).version;

const settings = { baseURL: process.env.INSULA_URL, apiKey: process.env.INSULA_TOKEN };
const openai = createOpenAI(settings);
const compatible = createOpenAICompatible({ name: "insula", ...settings });
const asked = 'call get_weather {"city":"Rome"}';
const tools = {
  get_weather: tool({
    description: "The weather somewhere.",
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => `${city}: sunny, 24 degrees`,
  }),
};
const user = (content) => ({ role: "user", content });

async function whole(model, messages) {
  const options = { model, messages, tools, stopWhen: stepCountIs(4), maxRetries: 0 };
  const { text, steps, response } = await generateText(options);
  return { text, steps, said: response.messages };
}

async function streamed(model, messages) {
  const errors = [];
  const onError = ({ error }) => errors.push(error);
  const options = { model, messages, tools, stopWhen: stepCountIs(4), maxRetries: 0, onError };
  const result = streamText(options);
  let text = "";
  for await (const piece of result.textStream) text += piece;
  assert.deepEqual(errors, []);
  return { text, steps: await result.steps, said: (await result.response).messages };
}

const models = {
  "@ai-sdk/openai, responses": openai.responses("a"),
  "@ai-sdk/openai, chat": openai.chat("a"),
  "@ai-sdk/openai-compatible": compatible("a"),
};
for (const [name, model] of Object.entries(models)) {
  for (const ask of [whole, streamed]) {
    const messages = [user("say hello there")];
    const first = await ask(model, messages);
    assert.equal(first.text, "hello there", name);
    messages.push(...first.said, user(asked));
    const second = await ask(model, messages);
    assert.match(second.text, /Rome: sunny, 24 degrees/, name);
    assert.equal(second.steps.length, 2, name);
    messages.push(...second.said, user("say and so on"));
    assert.equal((await ask(model, messages)).text, "and so on", name);
  }
  const [by] = name.split(",");
  console.log(`ai ${versionOf("ai")} with ${name} ${versionOf(by)}: talks, streams, and runs its own tools`);
}

"""Packages from PyPI that speak OpenAI's API, unchanged, against a running daemon: `langchain-openai`,
`pydantic-ai`, `litellm` and `llm`. Each talks over several turns, streams, and runs tools of its own.

INSULA_URL is the base URL, INSULA_TOKEN a token for agent `a`.
"""

import asyncio
import json
import os
import pathlib
import sys
import tempfile
from importlib.metadata import version

URL, TOKEN = os.environ["INSULA_URL"], os.environ["INSULA_TOKEN"]
ASKED = 'call get_weather {"city":"Rome"}'
RESULT = "sunny, 24 degrees"


def get_weather(city: str) -> str:
    """The weather somewhere."""
    assert city == "Rome", city
    return RESULT


def langchain_openai():
    from langchain_core.messages import HumanMessage, ToolMessage
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI

    for responses in [False, True]:
        plain = ChatOpenAI(
            model="a", base_url=URL, api_key=TOKEN, use_responses_api=responses, max_retries=0
        )
        model = plain.bind_tools([tool(get_weather)])
        for stream in [False, True]:

            def ask(messages):
                if not stream:
                    return model.invoke(messages)
                whole = None
                for chunk in model.stream(messages):
                    whole = chunk if whole is None else whole + chunk
                return whole

            messages = [HumanMessage("say hello there")]
            messages.append(ask(messages))
            assert messages[-1].text == "hello there", messages
            messages.append(HumanMessage(ASKED))
            messages.append(ask(messages))
            (call,) = messages[-1].tool_calls
            assert (call["name"], call["args"]) == ("get_weather", {"city": "Rome"}), call
            messages.append(ToolMessage(get_weather(**call["args"]), tool_call_id=call["id"]))
            messages.append(ask(messages))
            assert RESULT in messages[-1].text, messages[-1]
            messages.append(HumanMessage("say and so on"))
            assert ask(messages).text == "and so on"


def pydantic_ai():
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    provider = OpenAIProvider(base_url=URL, api_key=TOKEN)

    async def talk(agent):
        first = await agent.run("say hello there")
        assert first.output == "hello there", first
        second = await agent.run(ASKED, message_history=first.all_messages())
        assert RESULT in second.output, second
        last = await agent.run("say and so on", message_history=second.all_messages())
        assert last.output == "and so on", last
        async with agent.run_stream("say a few words") as streamed:
            words = [piece async for piece in streamed.stream_text(delta=True)]
        assert "".join(words) == "a few words", words
        async with agent.run_stream_events(ASKED) as streamed:
            events = [event async for event in streamed]
        assert RESULT in events[-1].result.output, events[-1]

    for kind in [OpenAIChatModel, OpenAIResponsesModel]:
        agent = Agent(kind("a", provider=provider))
        agent.tool_plain(get_weather)
        asyncio.run(talk(agent))


def litellm():
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    import litellm

    parameters = {"type": "object", "properties": {"city": {"type": "string"}}}
    function = {"name": "get_weather", "description": "The weather.", "parameters": parameters}
    tools = [{"type": "function", "function": function}]
    for stream in [False, True]:

        def ask(messages):
            given = litellm.completion(
                model="openai/a",
                api_base=URL,
                api_key=TOKEN,
                messages=messages,
                tools=tools,
                stream=stream,
            )
            whole = litellm.stream_chunk_builder(list(given)) if stream else given
            return whole.choices[0].message

        messages = [{"role": "user", "content": "say hello there"}]
        messages.append(ask(messages).model_dump())
        assert messages[-1]["content"] == "hello there", messages
        messages.append({"role": "user", "content": ASKED})
        messages.append(ask(messages).model_dump())
        (call,) = messages[-1]["tool_calls"]
        assert call["function"]["name"] == "get_weather", call
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": RESULT})
        messages.append(ask(messages).model_dump())
        assert RESULT in messages[-1]["content"], messages
        messages.append({"role": "user", "content": "say and so on"})
        assert ask(messages).content == "and so on"


def llm():
    folder = pathlib.Path(tempfile.mkdtemp())
    os.environ["LLM_USER_PATH"] = str(folder)
    model = {
        "model_id": "insula",
        "model_name": "a",
        "api_base": URL,
        "api_key_name": "insula",
        "supports_tools": True,
    }
    # What is JSON is YAML.
    (folder / "extra-openai-models.yaml").write_text(json.dumps([model]))
    (folder / "keys.json").write_text(json.dumps({"insula": TOKEN}))
    import llm

    model = llm.get_model("insula")
    for stream in [False, True]:
        conversation = model.conversation(tools=[get_weather])
        assert conversation.prompt("say hello there", stream=stream).text() == "hello there"
        chain = conversation.chain(ASKED, stream=stream)
        said = "".join(chain)
        assert RESULT in said, said
        assert conversation.prompt("say and so on", stream=stream).text() == "and so on"


failed = False
for client, package in [
    (langchain_openai, "langchain-openai"),
    (pydantic_ai, "pydantic-ai-slim"),
    (litellm, "litellm"),
    (llm, "llm"),
]:
    try:
        client()
        print(f"{package} {version(package)}: talks, streams, and runs its own tools")
    except Exception:
        import traceback

        failed = True
        print(f"{package} {version(package)}: fails")
        traceback.print_exc()
sys.exit(failed)

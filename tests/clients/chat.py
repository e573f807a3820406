"""The `openai` package from PyPI, unchanged, against a running daemon.

INSULA_URL is its base URL, INSULA_TOKEN a token for agent `a`; agent `b` is somebody else's.
"""

import os
import uuid

import openai
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

client = openai.OpenAI(base_url=os.environ["INSULA_URL"], api_key=os.environ["INSULA_TOKEN"])
done = []


def step(test):
    test()
    done.append(test.__name__.replace("_", " "))


def user(text):
    return [{"role": "user", "content": text}]


def valid(kind, value):
    """Checks an answer against the package's own types, which it does not do by itself."""
    TypeAdapter(kind).validate_python(value.model_dump(), strict=False)
    return value


def fails(error, call):
    try:
        call()
    except error as raised:
        return raised
    raise AssertionError(f"no {error.__name__}")


@step
def models_are_the_agents_of_the_token():
    assert [model.id for model in client.models.list()] == ["a"]


@step
def an_agent_chats():
    reply = client.chat.completions.create(model="a", messages=user("say hello there"))
    valid(ChatCompletion, reply)
    assert reply.choices[0].message.content == "hello there", reply
    assert reply.choices[0].finish_reason == "stop"
    assert reply.usage.total_tokens == reply.usage.prompt_tokens + reply.usage.completion_tokens


@step
def a_reply_is_streamed():
    chunks = list(
        client.chat.completions.create(
            model="a",
            messages=user("say a few words"),
            stream=True,
            stream_options={"include_usage": True},
        )
    )
    for chunk in chunks:
        valid(ChatCompletionChunk, chunk)
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert text == "a few words", text
    assert chunks[-1].usage is not None and not chunks[-1].choices


@step
def a_session_is_continued():
    headers = {"X-Insula-Session": f"python-{uuid.uuid4()}"}
    ask = lambda text, headers: client.chat.completions.create(
        model="a", messages=user(text), extra_headers=headers
    )
    ask("todo water the plants", headers)
    assert "water the plants" in ask("call todo {}", headers).choices[0].message.content
    assert "water" not in ask("call todo {}", {}).choices[0].message.content


@step
def the_same_key_is_the_same_turn():
    headers = {"Idempotency-Key": str(uuid.uuid4())}
    ask = lambda: client.chat.completions.create(
        model="a", messages=user("say once"), extra_headers=headers
    )
    first, again = ask(), ask()
    assert first.id == again.id
    assert first.choices[0].message.content == again.choices[0].message.content == "once"


@step
def a_response_is_given():
    response = client.responses.create(model="a", input="say hello there")
    valid(Response, response)
    assert response.status == "completed" and response.output_text == "hello there", response
    again = valid(Response, client.responses.retrieve(response.id))
    assert again.output_text == "hello there" and again.id == response.id


@step
def a_response_is_streamed():
    kinds, text = [], ""
    for event in client.responses.create(model="a", input="say a few words", stream=True):
        valid(ResponseStreamEvent, event)
        kinds.append(event.type)
        if event.type == "response.output_text.delta":
            text += event.delta
        if event.type == "response.completed":
            assert event.response.output_text == "a few words"
    assert text == "a few words", text
    assert kinds[:2] == ["response.created", "response.in_progress"], kinds
    assert kinds[-1] == "response.completed", kinds


@step
def the_packages_own_stream_helpers_agree():
    with client.responses.stream(model="a", input="say a few words") as stream:
        assert stream.get_final_response().output_text == "a few words"
    with client.chat.completions.stream(model="a", messages=user("say a few words")) as stream:
        final = stream.get_final_completion()
        assert final.choices[0].message.content == "a few words"


@step
def a_response_is_continued():
    first = client.responses.create(model="a", input="todo feed the cat")
    item = {"role": "user", "content": [{"type": "input_text", "text": "call todo {}"}]}
    after = client.responses.create(model="a", input=[item], previous_response_id=first.id)
    assert "feed the cat" in after.output_text, after
    assert after.previous_response_id == first.id


WEATHER = {
    "name": "get_weather",
    "description": "The weather somewhere.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
    "strict": True,
}
ASKED = 'call get_weather {"city":"Rome"}'


@step
def the_client_runs_its_own_tool():
    tools = [{"type": "function", "function": WEATHER}]
    for headers in [{}, {"X-Insula-Session": f"tools-{uuid.uuid4()}"}]:
        messages = user(ASKED)
        ask = lambda: valid(
            ChatCompletion,
            client.chat.completions.create(
                model="a", messages=messages, tools=tools, extra_headers=headers
            ),
        )
        first = ask().choices[0]
        assert first.finish_reason == "tool_calls", first
        (call,) = first.message.tool_calls
        assert (call.function.name, call.function.arguments) == ("get_weather", '{"city":"Rome"}')
        messages += [
            first.message.model_dump(exclude_none=True),
            {"role": "tool", "tool_call_id": call.id, "content": "sunny, 24 degrees"},
        ]
        last = ask().choices[0]
        assert last.finish_reason == "stop" and "sunny, 24 degrees" in last.message.content, last
        messages += [last.message.model_dump(exclude_none=True), *user("say and so on")]
        assert ask().choices[0].message.content == "and so on"


@step
def calls_are_streamed():
    tools = [{"type": "function", "function": WEATHER}]
    with client.chat.completions.stream(model="a", messages=user(ASKED), tools=tools) as stream:
        for event in stream:
            if event.type == "chunk":
                valid(ChatCompletionChunk, event.chunk)
        (call,) = stream.get_final_completion().choices[0].message.tool_calls
    assert call.function.name == "get_weather", call
    assert call.function.arguments == '{"city":"Rome"}', call
    flat = [{"type": "function", **WEATHER}]
    with client.responses.stream(model="a", input=ASKED, tools=flat) as stream:
        for event in stream:
            pass
        final = stream.get_final_response()
    assert [item.type for item in final.output][-1] == "function_call", final


@step
def a_response_is_continued_with_what_a_tool_brought():
    flat = [{"type": "function", **WEATHER}]
    ask = lambda **more: valid(Response, client.responses.create(model="a", tools=flat, **more))
    first = ask(input=ASKED)
    (call,) = [item for item in first.output if item.type == "function_call"]
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "sunny, 24"}
    by_id = ask(input=[result], previous_response_id=first.id)
    assert "sunny, 24" in by_id.output_text, by_id
    first = ask(input=ASKED, store=False)
    (call,) = [item for item in first.output if item.type == "function_call"]
    result["call_id"] = call.call_id
    told = [item.model_dump(exclude_none=True) for item in first.output]
    by_items = ask(input=[*user(ASKED), *told, result], store=False)
    assert "sunny, 24" in by_items.output_text, by_items


@step
def a_response_is_erased():
    response = client.responses.create(model="a", input="say hello there")
    client.responses.delete(response.id)
    fails(openai.NotFoundError, lambda: client.responses.retrieve(response.id))


@step
def errors_are_the_packages_own():
    stranger = client.with_options(api_key="insula_0_0")
    fails(openai.AuthenticationError, lambda: stranger.models.list())
    ask = client.chat.completions.create
    for model in ["b", "nobody"]:
        missing = fails(openai.NotFoundError, lambda: ask(model=model, messages=user("hi")))
        assert missing.code == "model_not_found", missing
    tool = {"type": "function", "function": {"name": "todo", "parameters": {}}}
    refused = fails(
        openai.BadRequestError, lambda: ask(model="a", messages=user("hi"), tools=[tool])
    )
    assert refused.param == "tools[0]" and "todo" in refused.message, refused
    fails(openai.NotFoundError, lambda: client.responses.retrieve("resp_" + "0" * 48))
    unknown = lambda: client.responses.create(
        model="a", input="hi", previous_response_id="resp_" + "0" * 48
    )
    fails(openai.NotFoundError, unknown)


print(f"openai {openai.__version__} (Python): {len(done)} steps hold")
for name in done:
    print(f"  {name}")

"""Lets the unchanged `agent-client-protocol` package from PyPI talk to an agent by `insula acp`.

The daemon runs in INSULA_HOME, INSULA_BINARY is the program, INSULA_FOLDER a folder that the agent
is not granted, INSULA_GRANTED one that it is. Every answer is judged by the package's own schema.
"""

import asyncio
import json
import os
import signal
import sys

import acp
from acp.schema import (
    AllowedOutcome,
    ClientCapabilities,
    DeniedOutcome,
    FileSystemCapabilities,
    Implementation,
    ReadTextFileResponse,
    RequestPermissionResponse,
    WriteTextFileResponse,
)

HOME, BINARY = os.environ["INSULA_HOME"], os.environ["INSULA_BINARY"]
FOLDER, GRANTED = os.environ["INSULA_FOLDER"], os.environ["INSULA_GRANTED"]


class Editor(acp.Client):
    """An editor with one unsaved file."""

    def __init__(self):
        self.updates, self.asked, self.answer = [], [], "once"
        self.open, self.written, self.reads = {}, {}, []
        self.called = asyncio.Event()

    async def session_update(self, session_id, update, **_):
        self.updates.append(update)
        if update.session_update == "tool_call":
            self.called.set()

    async def request_permission(self, options, session_id, tool_call, **_):
        self.asked.append((tool_call, [option.option_id for option in options]))
        if self.answer is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        outcome = AllowedOutcome(outcome="selected", option_id=self.answer)
        return RequestPermissionResponse(outcome=outcome)

    async def read_text_file(self, path, session_id, line=None, limit=None, **_):
        self.reads.append(path)
        text = self.open.get(path)
        if text is None:
            with open(path, encoding="utf-8") as file:
                text = file.read()
        return ReadTextFileResponse(content=text)

    async def write_text_file(self, content, path, session_id, **_):
        self.written[path] = content
        return WriteTextFileResponse()

    def kinds(self):
        return [update.session_update for update in self.updates]

    def text(self, kind="agent_message_chunk"):
        mine = (update for update in self.updates if update.session_update == kind)
        return "".join(update.content.text for update in mine)


def check(what, holds, seen=""):
    if not holds:
        print(f"FAILED: {what}: {seen}")
        sys.exit(1)
    print(f"ok: {what}")


def call(tool, **arguments):
    return [acp.text_block(f"call {tool} {json.dumps(arguments)}")]


async def refused(what, request, words):
    try:
        await request
    except acp.RequestError as error:
        check(what, words in str(error), error)
    else:
        check(what, False, "it was let")


def command(*more):
    return [BINARY, "--home", HOME, "acp", "--agent", "a", *more]


async def begin(connection):
    offers = FileSystemCapabilities(read_text_file=True, write_text_file=True)
    return await connection.initialize(
        protocol_version=acp.PROTOCOL_VERSION,
        client_capabilities=ClientCapabilities(fs=offers, terminal=True),
        client_info=Implementation(name="test", version="1"),
    )


async def main():
    editor = Editor()
    path = os.path.join(FOLDER, "a.txt")
    async with acp.spawn_agent_process(editor, *command()) as (connection, _):
        await begin(connection)
        await refused("a folder that is not granted", connection.new_session(cwd=FOLDER, mcp_servers=[]), "--share")
        session = await connection.new_session(cwd=GRANTED, mcp_servers=[])
        check("a folder that is granted", session.session_id.endswith(GRANTED), session)

    async with acp.spawn_agent_process(editor, *command("--share")) as (connection, process):
        hello = await begin(connection)
        check("version and load", hello.protocol_version == 1 and hello.agent_capabilities.load_session)
        session = await connection.new_session(cwd=FOLDER, mcp_servers=[])
        name = session.session_id
        check("modes and options", [it.id for it in session.modes.available_modes] == ["default", "look"]
              and [it.id for it in session.config_options] == ["mode", "model"], session)

        done = await connection.prompt(session_id=name, prompt=[acp.text_block("hello")])
        check("words stream", done.stop_reason == "end_turn" and "rehearsal" in editor.text(), editor.updates)

        editor.open[path] = "unsaved words\n"
        await connection.prompt(session_id=name, prompt=call("read_file", path="a.txt"))
        begun = next(it for it in editor.updates if it.session_update == "tool_call")
        check("a call has a kind and a place", begun.kind == "read" and begun.locations[0].path == path, begun)
        check("what is open is read", editor.reads == [path] and "unsaved words" in editor.text(), editor.text())

        editor.updates.clear()
        await connection.prompt(session_id=name, prompt=call("patch", path="a.txt", old_string="unsaved", new_string="saved"))
        done = [it for it in editor.updates if it.session_update == "tool_call_update"]
        check("a change is a difference", done and done[0].content[0].type == "diff"
              and done[0].content[0].new_text == "saved words\n", editor.updates)
        check("the editor is handed it", editor.written == {path: "saved words\n"}, editor.written)
        with open(path, encoding="utf-8") as file:
            check("and the disk has it", file.read() == "saved words\n")

        await connection.prompt(session_id=name, prompt=call("todo", todos=[{"content": "look", "status": "in_progress"}]))
        plans = [it for it in editor.updates if it.session_update == "plan"]
        check("a list is a plan", plans and plans[0].entries[0].content == "look", editor.kinds())

        editor.open.clear()
        editor.answer = "deny"
        await connection.prompt(session_id=name, prompt=call("terminal", command="rm -r build"))
        check("what needs an approval is asked", len(editor.asked) == 1 and "rm -r build" in str(editor.asked[0][0]))
        check("and denied", "an admin denied it" in editor.text(), editor.text())
        editor.answer = "once"
        await connection.prompt(session_id=name, prompt=call("terminal", command="mkdir build; rm -r build; pwd"))
        check("and allowed, in the folder", len(editor.asked) == 2 and FOLDER in editor.text(), editor.text())

        editor.updates.clear()
        outside = os.path.join(HOME, "config.yaml")
        await connection.prompt(session_id=name, prompt=call("read_file", path=outside))
        check("a file outside is refused and not asked for", "outside of the folders" in editor.text()
              and outside not in editor.reads, editor.text())

        await connection.set_session_mode(session_id=name, mode_id="look")
        editor.updates.clear()
        await connection.prompt(session_id=name, prompt=call("write_file", path="b.txt", content="x"))
        check("who looks writes nothing", not os.path.exists(os.path.join(FOLDER, "b.txt")), editor.text())
        chosen = await connection.set_config_option(config_id="mode", session_id=name, value="default")
        check("an option is chosen", chosen.config_options[0].current_value == "default", chosen)

        editor.called.clear()
        running = asyncio.create_task(connection.prompt(session_id=name, prompt=call("terminal", command="sleep 600")))
        await editor.called.wait()
        await refused("a second prompt waits its turn", connection.prompt(session_id=name, prompt=[acp.text_block("hi")]), "under way")
        await connection.cancel(session_id=name)
        check("a turn is cancelled", (await running).stop_reason == "cancelled")

        editor.updates.clear()
        pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
        seen = await connection.prompt(session_id=name, prompt=[acp.text_block("what is this?"), acp.image_block(pixel, "image/png")])
        check("a picture is taken", seen.stop_reason == "end_turn" and "rehearsal" in editor.text(), editor.text())
        alone = await connection.prompt(session_id=name, prompt=[acp.image_block(pixel, "image/png")])
        check("a picture alone, too", alone.stop_reason == "end_turn", alone)
        await refused("what is no picture is refused", connection.prompt(session_id=name, prompt=[acp.image_block("!", "image/png")]), "picture")

        await refused("a session of nobody", connection.prompt(session_id="editor.x./", prompt=[acp.text_block("hi")]), "no conversation")
        process.send_signal(signal.SIGKILL)

    editor = Editor()
    async with acp.spawn_agent_process(editor, *command("--share")) as (connection, _):
        await begin(connection)
        listed = await connection.list_sessions(cwd=FOLDER)
        check("sessions are listed", name in [it.session_id for it in listed.sessions], listed)
        await refused("not in another folder", connection.load_session(cwd=GRANTED, session_id=name, mcp_servers=[]), "another folder")
        await connection.load_session(cwd=FOLDER, session_id=name, mcp_servers=[])
        check("what was said comes again", "hello" in editor.text("user_message_chunk")
              and "rehearsal" in editor.text() and "tool_call" in editor.kinds(), editor.kinds())
        done = await connection.prompt(session_id=name, prompt=[acp.text_block("hello")])
        check("and it goes on", done.stop_reason == "end_turn")
        await connection.close_session(session_id=name)
        await refused("a closed one is closed", connection.prompt(session_id=name, prompt=[acp.text_block("hi")]), "no conversation")
    print("all holds")


asyncio.run(main())

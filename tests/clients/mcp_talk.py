"""The `mcp` package from PyPI, unchanged, against a running daemon: over HTTP and over standard
streams, in both generations of the protocol.

INSULA_MCP is the address of its MCP endpoint, INSULA_TOKEN a token for agent `a` that may chat and
read, INSULA_BINARY the program and INSULA_HOME its home.
"""

import asyncio
import os

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

url = os.environ["INSULA_MCP"]
token = os.environ["INSULA_TOKEN"]
done = []


def over_http(address=url, bearer=token):
    headers = {"Authorization": f"Bearer {bearer}"}
    client = httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False)
    return streamable_http_client(address, http_client=client)


def over_streams(bearer=token):
    return StdioServerParameters(
        command=os.environ["INSULA_BINARY"],
        args=["mcp", "serve", "--agent", "a"],
        env={"INSULA_HOME": os.environ["INSULA_HOME"], "INSULA_TOKEN": bearer},
    )


async def talks(client, name):
    tools = [tool.name for tool in (await client.list_tools()).tools]
    assert tools == ["talk", "sessions", "session"], tools
    heard = []

    async def progress(step, total, message):
        heard.append(message)

    result = await client.call_tool(
        "talk", {"message": f"say hello from {name}", "session": name}, progress_callback=progress
    )
    assert not result.is_error and f"hello from {name}" in result.content[0].text, result
    assert "the message is taken" in heard, heard
    sessions = await client.call_tool("sessions", {})
    assert name in sessions.content[0].text, sessions
    found = await client.call_tool("session", {"query": name})
    assert f"hello from {name}" in found.content[0].text, found
    wrong = await client.call_tool("talk", {})
    assert wrong.is_error, wrong
    for missing in ["approve", "nonsense"]:
        try:
            await client.call_tool(missing, {})
        except MCPError as error:
            assert f"no tool `{missing}`" in str(error), error
        else:
            raise AssertionError(f"{missing} was called")


async def refused(transport):
    try:
        async with Client(transport, mode="legacy") as client:
            await client.list_tools()
    except Exception:
        return
    raise AssertionError("a stranger was let in")


async def main():
    for mode in ["auto", "legacy", "2026-07-28"]:
        for way, transport in [("http", over_http), ("streams", over_streams)]:
            async with Client(transport(), mode=mode) as client:
                await talks(client, f"{way}-{mode}")
            done.append(f"{way} {mode}")
    await refused(over_http(bearer="nonsense"))
    await refused(over_http(address=f"{url}?agent=b"))
    done.append("strangers are refused")


asyncio.run(main())
print("mcp (PyPI):", ", ".join(done))

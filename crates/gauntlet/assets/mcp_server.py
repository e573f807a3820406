"""A small MCP server on standard streams: says who it is, its environment, files it can read."""

import json
import os
import sys

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}

with open("starts", "a") as starts:
    starts.write("x")


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def answer(name, text):
    if name == "environ":
        return " ".join(f"{key}={value[::-1]}" for key, value in sorted(os.environ.items()))
    if name == "pid":
        return str(os.getpid())
    if name == "keep":
        with open("kept-by-server", "w") as file:
            file.write(os.environ.get("TOKEN", "none"))
        return "kept"
    if name == "state":
        answer.state.append(text)
        return "state: " + " ".join(answer.state)
    if name == "read":
        try:
            with open(text) as file:
                return file.read()
        except OSError as error:
            return f"error {error.errno}"
    return "?"


answer.state = []

for line in sys.stdin:
    request = json.loads(line)
    method, number = request.get("method"), request.get("id")
    if method == "initialize":
        version = request["params"]["protocolVersion"]
        about = {"name": "x", "version": "1"}
        send({"id": number, "result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}})
    elif method == "tools/list":
        names = ["environ", "pid", "keep", "state", "read"]
        tools = [{"name": name, "description": f"Does {name}.", "inputSchema": TEXT} for name in names]
        send({"id": number, "result": {"tools": tools}})
    elif method == "tools/call":
        text = answer(request["params"]["name"], request["params"].get("arguments", {}).get("text", ""))
        send({"id": number, "result": {"content": [{"type": "text", "text": text}]}})
    elif method == "ping":
        send({"id": number, "result": {}})
    elif number is not None:
        send({"id": number, "error": {"code": -32601, "message": "no such method"}})

"""A program of an agent's that makes attempts to get out, and tells what came of each.

attacker.py run FILE   makes the attempts of a file and prints what came of them
attacker.py serve      is an MCP server whose tool `attempt` does the same

Each attempt is a process of its own, so that what one does to itself is not the next one's.
"""

import json
import os
import select
import shutil
import signal
import sys
import time
import traceback

# What the attempts begin with imports these; once here is faster than once in each.
import ctypes, fcntl, platform, resource, socket, stat, struct, subprocess  # noqa: E401,F401

SECONDS_MAX = 40
# Without walls it is everybody's, and left alone.
OWN_TMP = os.stat("/tmp").st_dev == os.stat("/dev/shm").st_dev
TOLD_MAX = 400


def make(name, program):
    """One attempt: its exit code, or None where it had to be ended, and its last words."""
    sys.stdout.flush()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        nothing = os.open("/dev/null", os.O_RDONLY)
        for number, place in ((nothing, 0), (write, 1), (write, 2)):
            os.dup2(number, place)
        for number in (nothing, read, write):
            if number > 2:
                os.close(number)
        try:
            exec(compile(program, name, "exec"), {"__name__": name})
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
        os._exit(1)
    os.close(write)
    told, until = b"", time.monotonic() + SECONDS_MAX
    while True:
        left = until - time.monotonic()
        is_ready = left > 0 and select.select([read], [], [], left)[0]
        piece = os.read(read, 65536) if is_ready else b""
        if not piece:
            break
        told = (told + piece)[-65536:]
    os.close(read)
    if time.monotonic() >= until:
        os.kill(child, signal.SIGKILL)
        told += b"\nit did not end by itself"
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    text = told.decode(errors="replace")
    return {"attempt": name, "code": code, "told": text[-TOLD_MAX:], "held": "held" in text.split()}


def tidy(before):
    """What one attempt filled must not be what stops the next."""
    for folder, names in before.items():
        for name in set(os.listdir(folder)) - names:
            path = os.path.join(folder, name)
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)


def make_all(batch):
    before = {folder: set(os.listdir(folder)) for folder in ("/tmp", "/dev/shm") if OWN_TMP}
    head = batch["prelude"] + "\nE = " + repr(batch["aims"]) + "\n"
    # An attempt to signal everybody must not end the one who tells.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    lines = []
    for name, program in batch["attempts"]:
        lines.append(json.dumps(make(name, head + program)))
        tidy(before)
    return "\n".join(lines) + "\nattempts made: %d\n" % len(lines)


def serve():
    schema = {"type": "object", "properties": {"batch": {"type": "string"}}, "required": ["batch"]}
    tools = [{"name": "attempt", "description": "Makes attempts.", "inputSchema": schema}]
    for line in sys.stdin:
        message = json.loads(line)
        method, number = message.get("method"), message.get("id")
        if number is None:
            continue
        answer = {"jsonrpc": "2.0", "id": number}
        if method == "initialize":
            version = message["params"]["protocolVersion"]
            info = {"name": "attacker", "version": "1"}
            answer["result"] = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
        elif method == "tools/list":
            answer["result"] = {"tools": tools}
        elif method == "tools/call":
            text = make_all(json.loads(message["params"]["arguments"]["batch"]))
            answer["result"] = {"content": [{"type": "text", "text": text}]}
        else:
            answer["error"] = {"code": -32601, "message": "unknown"}
        print(json.dumps(answer), flush=True)


if sys.argv[1] == "serve":
    serve()
else:
    with open(sys.argv[2]) as file:
        batch = json.load(file)
    print(make_all(batch))

#!/usr/bin/env python3
"""Plays `ollama` and `llama-server`, by what it is called, over their real protocols. For tests.

Ends by itself after two minutes, so that no test leaves one behind.
"""

import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

NAME = os.path.basename(sys.argv[0])
ANSWER = ["A terminal ", "is a window ", "for typing commands."]
CALL = {"city": "Paris"}
MODELS = [word for word in os.environ.get("OLLAMA_PLAYED", "").split(",") if word]


class Server(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        print(self.requestline, flush=True)

    def body(self):
        return json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or "{}")

    def give(self, value, status=200):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def stream(self, media_type, pieces):
        self.send_response(200)
        self.send_header("content-type", media_type)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for piece in pieces:
            data = piece.encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def missing(self):
        self.give({"error": "404 page not found"}, 404)


def lines(values):
    return [json.dumps(value) + "\n" for value in values]


class Ollama(Server):
    def do_GET(self):
        if self.path == "/api/tags":
            return self.give({"models": [{"name": name, "size": 986061892} for name in MODELS]})
        self.missing()

    def do_POST(self):
        asked = self.body()
        if self.path == "/api/pull":
            return self.stream("application/x-ndjson", lines(pull(asked["model"])))
        if self.path == "/api/show":
            return self.give({"model_info": {"x.context_length": 4096}, "capabilities": ["tools"]})
        if self.path == "/api/chat":
            if asked["model"] not in MODELS:
                return self.give({"error": f"model '{asked['model']}' not found"}, 404)
            return self.stream("application/x-ndjson", lines(chat(asked)))
        self.missing()


def pull(model):
    yield {"status": "pulling manifest"}
    if model.startswith("missing"):
        yield {"error": "pull model manifest: file does not exist"}
        return
    for done in range(0, 101, 5):
        yield {"status": "pulling aa11", "digest": "aa11", "total": 1000000, "completed": done * 10000}
    MODELS.append(model)
    yield {"status": "success"}


def has_weather(asked):
    return any(tool["function"]["name"] == "get_weather" for tool in asked.get("tools") or [])


def chat(asked):
    model, tools = asked["model"], has_weather(asked)
    say = lambda message: {"model": model, "message": {"role": "assistant", **message}, "done": False}
    if model.startswith("mute"):
        pass
    elif tools and model.startswith("printing"):
        call = {"name": "get_weather", "arguments": CALL}
        yield say({"content": f"<tool_call>\n{json.dumps(call)}\n</tool_call>"})
    elif tools and not model.startswith("talking"):
        call = {"function": {"name": "get_weather", "arguments": CALL}}
        yield say({"content": "", "tool_calls": [call]})
    else:
        for word in ANSWER:
            yield say({"content": word})
    yield {"model": model, "message": {"role": "assistant", "content": ""}, "done": True,
           "done_reason": "stop", "prompt_eval_count": 9, "eval_count": 5}


class Llama(Server):
    def do_GET(self):
        if self.path == "/props":
            return self.give({"default_generation_settings": {"n_ctx": 4096}, "total_slots": 1})
        if self.path == "/v1/models":
            model = {"id": "/cache/qwen2.5-1.5b-q4.gguf", "object": "model", "meta": {"size": 1000}}
            return self.give({"object": "list", "data": [model]})
        self.missing()

    def do_POST(self):
        asked = self.body()
        if self.path != "/v1/chat/completions":
            return self.missing()
        if has_weather(asked):
            function = {"name": "get_weather", "arguments": json.dumps(CALL)}
            deltas = [{"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": function}]}]
        else:
            deltas = [{"content": word} for word in ANSWER]
        end = "tool_calls" if has_weather(asked) else "stop"
        events = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
        events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": end}]})
        pieces = [f"data: {json.dumps(event)}\n\n" for event in events] + ["data: [DONE]\n\n"]
        self.stream("text/event-stream", pieces)


def main():
    if NAME == "ollama":
        assert sys.argv[1:] == ["serve"], sys.argv
        place, kind = os.environ["OLLAMA_HOST"], Ollama
    else:
        if os.environ.get("LLAMA_PLAYED") == "broken":
            sys.exit("error: the model can't be fetched")
        assert sys.argv[1] == "-hf" and "--jinja" in sys.argv, sys.argv
        word = lambda name: sys.argv[sys.argv.index(name) + 1]
        place, kind = f"{word('--host')}:{word('--port')}", Llama
    host, port = place.rsplit(":", 1)
    server = ThreadingHTTPServer((host, int(port)), kind)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"listening {server.server_address[1]}", flush=True)
    time.sleep(120)


main()

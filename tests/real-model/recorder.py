"""What was said on the wire: a recorder between the daemon and the model."""
import http.client
import http.server
import json
import re
import threading
import time

NOTHING = {"text": "", "reasoning": "", "calls": [], "finish": None, "error": None}


class Recorder(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, model, temperature):
        super().__init__(("127.0.0.1", 0), Passing)
        self.model, self.temperature = model, temperature
        self.seed, self.folder, self.exchanges, self.lock = 0, None, [], threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def begin(self, folder, seed):
        with self.lock:
            self.folder, self.seed, self.exchanges = folder, seed, []

    def handle_error(self, request, address):
        pass  # the daemon went away, as it may


class Passing(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        self.forward(b"", None)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        exchange, hub = None, self.server
        if self.path.endswith("/chat/completions"):
            asked = json.loads(body)
            asked.setdefault("temperature", hub.temperature)
            asked["seed"] = hub.seed
            with hub.lock:
                exchange = {"request": asked, "raw": bytearray(), "status": None, "began": time.time()}
                hub.exchanges.append(exchange)
            body = json.dumps(asked).encode()
        self.forward(body, exchange)

    def forward(self, body, exchange):
        link = http.client.HTTPConnection("127.0.0.1", self.server.model.port, timeout=3600)
        try:
            link.request(self.command, self.path, body, {"Content-Type": "application/json"})
            reply = link.getresponse()
            self.send_response(reply.status)
            self.send_header("Content-Type", reply.headers.get("Content-Type", "application/json"))
            self.send_header("Connection", "close")
            self.end_headers()
            if exchange:
                exchange["status"] = reply.status
            while piece := reply.read1(65536):
                if exchange:
                    exchange["raw"] += piece
                self.wfile.write(piece)
                self.wfile.flush()
        finally:
            link.close()  # so that the model stops when the daemon hangs up
            if exchange:
                exchange["took"] = round(time.time() - exchange["began"], 1)


def spoken(exchange):
    """What the model said: text, reasoning, native calls, why it ended."""
    raw = exchange["raw"].decode(errors="replace")
    said = NOTHING | {"calls": []}
    if exchange["status"] != 200:
        return said | {"error": raw[:2000]}
    chunks = [line[6:] for line in raw.splitlines() if line.startswith("data: {")] or [raw]
    for chunk in chunks:
        try:
            parsed = json.loads(chunk)
        except ValueError:
            continue
        if parsed.get("error"):
            said["error"] = json.dumps(parsed["error"])
        for choice in parsed.get("choices") or []:
            part = choice.get("delta") or choice.get("message") or {}
            said["text"] += part.get("content") or ""
            said["reasoning"] += part.get("reasoning_content") or ""
            said["finish"] = choice.get("finish_reason") or said["finish"]
            for call in part.get("tool_calls") or []:
                at = call.get("index", len(said["calls"]))
                while len(said["calls"]) <= at:
                    said["calls"].append({"name": "", "arguments": ""})
                function = call.get("function") or {}
                said["calls"][at]["name"] += function.get("name") or ""
                said["calls"][at]["arguments"] += function.get("arguments") or ""
    return said


def shape(said, tools):
    """One word for how a reply asked for a tool, if it did."""
    if said["error"]:
        return "error"
    if said["calls"]:
        names = {call["name"] for call in said["calls"]}
        return "native" if names <= tools else "native, unknown tool"
    text = said["text"]
    if not text.strip():
        return "empty"
    named = re.findall(r'"(?:name|tool|function|tool_name)"\s*:\s*"([^"]+)"', text)
    looks = named or "<tool_call>" in text or "<function" in text
    if not looks:
        first = re.match(r"\s*(?:```\w*\s*)?(\w+)\s*\(", text)
        if first and first[1] in tools:
            return "text: python call"
        if re.match(r"\s*(?:```json\s*)?\{", text):
            return "text: arguments alone"
        return "words"
    if "<tool_call>" in text:
        kind = "tags"
    elif "{{" in text:
        kind = "double braces"
    elif "```" in text:
        kind = "fence"
    elif text.lstrip().startswith(("{", "[")):
        kind = "bare"
    else:
        kind = "within words"
    return f"text: {kind}" + ("" if set(named) & tools else ", unknown tool")

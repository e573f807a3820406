"""A daemon in a home of its own, and the person who talks to it."""
import contextlib
import json
import shutil
import signal
import subprocess
import threading
import time

from model import NAME

AGENT = "main"


class Home:
    """A daemon in a home of its own. The path is always the same, so that prompts are, too, and
    the model's server need not read them anew."""

    def __init__(self, insula, path, recorder, options, folder):
        self.insula, self.path, self.options, self.folder = insula, path, options, folder
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        provider = f'kind: openai, base_url: "http://127.0.0.1:{recorder.server_port}/v1"'
        provider += f", {options.provider}" if options.provider else ""
        network = f'network: ["127.0.0.1:{options.page_port}"]'
        (path / "config.yaml").write_text(
            f"providers:\n  local: {{{provider}}}\nmodel: local/{NAME}\n"
            f"agents:\n  {AGENT}:\n    default: true\n    memory: true\n    {network}\n"
            + (f"    tools: {options.tools}\n" if options.tools else ""))
        self.desk = path / "agents" / AGENT / "workspace"
        self.desk.mkdir(parents=True)
        self.daemon, self.log, self.approved, self.said = None, None, 0, []
        self.over = threading.Event()

    def start(self):
        self.log = (self.folder / "daemon.log").open("w")
        self.daemon = subprocess.Popen(
            [self.insula, "--home", self.path, "up", "--listen", "127.0.0.1:0", "--no-watch"],
            stdout=self.log, stderr=self.log)
        for _ in range(300):
            if (self.path / "run/daemon.json").exists():
                break
            if self.daemon.poll() is not None:
                raise SystemExit(f"the daemon did not start; see {self.folder}/daemon.log")
            time.sleep(0.2)
        threading.Thread(target=self.approve, daemon=True).start()

    def run(self, *words, timeout=60):
        return subprocess.run([self.insula, "--home", self.path, *words], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=timeout)

    def json(self, *words):
        done = self.run(*words, "--json")
        with contextlib.suppress(ValueError):
            return json.loads(done.stdout)
        return None

    def approve(self):
        """Says yes once to whatever waits, as a person at the keyboard would."""
        while not self.over.wait(2):
            with contextlib.suppress(subprocess.TimeoutExpired):
                for one in self.json("approvals", "list") or []:
                    ident = str(one.get("id", ""))
                    if ident and self.run("approvals", "approve", ident).returncode == 0:
                        self.approved += 1

    def tell(self, words):
        chat = subprocess.Popen(
            [self.insula, "--home", self.path, "chat", "--agent", AGENT, "--session", "try", "--json",
             "-m", words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        # Seconds are counted here, since a machine or a program may be halted meanwhile.
        late, out, errors = True, "", ""
        for _ in range(self.options.timeout):
            with contextlib.suppress(subprocess.TimeoutExpired):
                out, errors = chat.communicate(timeout=1)
                late = False
                break
        if late:
            chat.send_signal(signal.SIGINT)
            try:
                out, errors = chat.communicate(timeout=60)
            except subprocess.TimeoutExpired:
                chat.kill()
                out, errors = chat.communicate()
        reply = None
        with contextlib.suppress(ValueError):
            reply = json.loads(out)
        reply = reply if isinstance(reply, dict) else {}
        reply["late"], reply["stderr"] = late, errors
        reply["text"] = reply.get("text") or ""
        self.said.append((words, reply))
        return reply["text"]

    def audit(self):
        return self.json("audit", "tail", AGENT, "-n", "500") or []

    def done(self, *tools):
        """How often these tools were called and did their work, by the audit."""
        return sum(1 for record in self.audit() if record.get("kind") == "tool.call"
                   and record["content"].get("verdict") == "done"
                   and (not tools or record["content"].get("tool") in tools))

    def children(self):
        return sum(1 for record in self.audit() if record.get("kind") == "child.ended")

    def remembered(self):
        return "\n".join(entry.get("text", "") for entry in self.json("memory", "list", AGENT) or [])

    def results(self):
        """What tools answered, in this try's turns."""
        texts = []
        for turn in self.json("turns", "list", AGENT) or []:
            shown = self.json("turns", "show", AGENT, str(turn["id"])) or {}
            texts += [m["text"] for m in shown.get("messages", []) if m.get("role") == "tool"]
        return texts

    def file(self, name):
        with contextlib.suppress(OSError, UnicodeDecodeError):
            return (self.desk / name).read_text()
        return None

    def stop(self):
        self.over.set()
        if self.daemon and self.daemon.poll() is None:
            self.daemon.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.daemon.wait(30)
            self.daemon.kill()
        self.log.close()

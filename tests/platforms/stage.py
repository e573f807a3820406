"""What the sections of scripts/platforms share: a daemon, crabline's servers, and requests."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

MODULES = pathlib.Path(os.environ["INSULA_NODE_MODULES"])
INSULA = os.environ["INSULA"]
WITHIN_S = 90
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Stage:
    """A folder, and all that was started in it; it ends with the block."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)
        self.running = []
        return self

    def __exit__(self, kind, *_):
        for process in reversed(self.running):
            process.terminate()
        for process in reversed(self.running):
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
        if kind is not None:
            for log in sorted(self.path.glob("*.log")):
                print(f"--- {log.name}\n{log.read_text()[-4000:]}", file=sys.stderr)
        self.folder.cleanup()

    def start(self, name, *command, env=None):
        log = open(self.path / f"{name}.log", "ab")
        environment = {**os.environ, **(env or {})}
        process = subprocess.Popen(
            command, stdout=log, stderr=log, cwd=self.path, env=environment
        )
        self.running.append(process)
        return process

    def crabline(self, platform):
        """Starts crabline's server of a platform; what it says of itself."""
        ready = self.path / f"{platform}.json"
        main = MODULES / "@openclaw/crabline/dist/src/bin/crabline.js"
        process = self.start(
            platform, "node", str(main), "--json", "serve", platform, "--ready-file", str(ready)
        )
        until(lambda: ready.exists() and ready.read_text().strip().endswith("}"), process)
        return json.loads(ready.read_text())

    def daemon(self, config):
        """Starts the daemon with this configuration; where it listens."""
        home = self.path / "home"
        home.mkdir()
        (home / "config.yaml").write_text(config)
        return self.again()

    def kill9(self):
        """Kills the daemon as a power cut would."""
        self.process.kill()
        self.process.wait()
        self.running.remove(self.process)

    def again(self):
        """Starts the daemon in its home; where it listens."""
        home = self.path / "home"
        place = home / "run/daemon.json"
        place.unlink(missing_ok=True)
        self.process = process = self.start(
            "insula", INSULA, "--home", str(home), "up", "--listen", "127.0.0.1:0", "--no-watch"
        )
        until(place.exists, process)
        listen = json.loads(place.read_text())["listen"]
        until(lambda: get(f"http://{listen}/readyz")[0] == 200, process)
        return f"http://{listen}"

    def insula(self, *words, home="home"):
        command = [INSULA, "--home", str(self.path / home), *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=WITHIN_S)

    def connected(self):
        """Waits until every account is connected."""

        def is_connected():
            status = json.loads(self.insula("status", "--json").stdout or "{}")
            accounts = status.get("accounts", [])
            return accounts and all(it["state"] == "connected" for it in accounts)

        until(is_connected)


def until(found, process=None):
    """Waits until something is so."""
    end = time.monotonic() + WITHIN_S
    while True:
        result = found()
        if result:
            return result
        if process is not None and process.poll() is not None:
            raise AssertionError(f"it ended with {process.returncode}")
        assert time.monotonic() < end, f"not within {WITHIN_S} s: {found}"
        time.sleep(0.1)


def request(url, body=None, headers=None):
    """Status and body of an answer."""
    data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    asked = urllib.request.Request(url, data=data, headers=headers or {})
    if data is not None and not asked.has_header("Content-type"):
        asked.add_header("Content-Type", "application/json")
    try:
        with OPENER.open(asked, timeout=30) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()
    except OSError:
        return 0, b""


def get(url):
    return request(url)


def recorded(path):
    """What a server of crabline wrote down."""
    try:
        lines = pathlib.Path(path).read_text().splitlines()
    except FileNotFoundError:
        return []
    return [json.loads(line) for line in lines if line.endswith("}")]

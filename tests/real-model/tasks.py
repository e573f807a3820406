"""The twenty tasks, each judged by facts."""
import dataclasses
import http.server

from home import AGENT

@dataclasses.dataclass
class Task:
    """What the person says, and the facts that must hold afterwards. `{a}`, `{b}` and `{c}` are
    words, another three in every try; `/new` begins another conversation of the same chat."""

    say: list
    before: dict = dataclasses.field(default_factory=dict)  # files of the workspace
    after: dict = dataclasses.field(default_factory=dict)   # the same, `None` for gone; blanks at the ends aside
    reply: list = dataclasses.field(default_factory=list)   # what the last reply has to say
    silent: list = dataclasses.field(default_factory=list)  # and what it must not
    setup: object = None                                    # called with the home
    facts: object = None                                    # called with the home and the words

    def carry_out(self, home, words):
        def fill(text):
            for name, word in zip(("{a}", "{b}", "{c}"), words):
                text = text.replace(name, word)
            return text

        for name, text in self.before.items():
            path = home.desk / fill(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(fill(text))
        if self.setup:
            self.setup(home, fill)
        for line in self.say:
            reply = home.tell(fill(line).replace("{page}", f"http://127.0.0.1:{home.options.page_port}/"))
        reply = reply.lower().replace(",", "")
        return (all((home.file(name) or "").strip() == fill(text).strip() if text is not None
                    else not (home.desk / name).exists() for name, text in self.after.items())
                and all(fill(part).lower() in reply for part in self.reply)
                and not any(fill(part).lower() in reply for part in self.silent)
                and (self.facts is None or self.facts(home, words)))


def skill(name, description, text, script=None):
    def install(home, fill):
        folder = home.folder / "skills" / name
        (folder / "scripts").mkdir(parents=True)
        (folder / "SKILL.md").write_text(
            fill(f"---\nname: {name}\ndescription: {description}\n---\n{text}\n"))
        if script:
            (folder / "scripts" / script[0]).write_text(script[1])
            (folder / "scripts" / script[0]).chmod(0o755)
        done = home.run("skills", "install", AGENT, str(folder))
        if done.returncode:
            raise RuntimeError(f"the skill was not installed: {done.stdout}{done.stderr}")
    return install


def known(home, fill):
    folder = home.path / "agents" / AGENT / "memories/contexts/chat=cli=local=try"
    folder.mkdir(parents=True)
    (folder / "USER.md").write_text(fill("The user's locker is number 4417.\n§\nThe user likes {a}.\n"))
    if "4417" not in home.remembered():
        raise RuntimeError("what was written into memory by hand is not there")


def page(_, fill):
    Page.word = fill("{a}")


TASKS = {
    "write": Task(["Write a file named notes.txt that contains only the word {a}."],
                  after={"notes.txt": "{a}"}),
    "read": Task(["Read the file secret.txt and tell me the secret word in it."],
                 before={"secret.txt": "The secret word is {a}.\n"}, reply=["{a}"]),
    "patch": Task(["In the file settings.ini, change the port from 8080 to 9090. Leave everything else as it is."],
                  before={"settings.ini": "name = {a}\nhost = localhost\nport = 8080\ndebug = false\n"},
                  after={"settings.ini": "name = {a}\nhost = localhost\nport = 9090\ndebug = false\n"}),
    "append": Task(["Add the line {c} to the end of the file list.txt. Keep the lines that are there."],
                   before={"list.txt": "{a}\n{b}\n"}, after={"list.txt": "{a}\n{b}\n{c}\n"}),
    "list-files": Task(["Which files are in your workspace? Look, and tell me their names."],
                       before={"{a}.txt": "x\n", "{b}.txt": "x\n", "{c}.txt": "x\n"},
                       reply=["{a}.txt", "{b}.txt", "{c}.txt"]),
    "search": Task(["Search the files in your workspace: which one contains the word {a}?"],
                   before={"alpha-{b}.txt": "Nothing here.\nNor here.\n", "gamma-{b}.txt": "Nothing here.\n{a}\n",
                           "beta-{b}.txt": "Nothing here.\nNor here.\n", "delta-{b}.txt": "Nothing here.\nNor here.\n"},
                   reply=["gamma-"], silent=["alpha-", "beta-", "delta-"]),
    "approval": Task(["Run this command in the terminal: rm -r build"], before={"build/{a}.o": "x"},
                     after={"build": None}, facts=lambda home, _: home.approved > 0),
    "number": Task(["Run the command `wc -w words.txt` and tell me the number it prints."],
                   before={"words.txt": "{a} " * 1637 + "\n"}, reply=["1637"]),
    "remember": Task(["Please remember for later: my sister's dog is called {a}."],
                     facts=lambda home, words: words[0] in home.remembered()),
    "recall": Task(["Please remember for later: my favourite tree is the {a}.", "/new",
                    "Which is my favourite tree?"], reply=["{a}"],
                   facts=lambda home, words: words[0] in home.remembered()),
    "forget": Task(["Please forget the number of my locker: remove it from your memory."], setup=known,
                   facts=lambda home, words: "4417" not in home.remembered() and words[0] in home.remembered()),
    "skill-script": Task(["I need a ticket. Use the skill ticket and tell me the code."],
                         setup=skill("ticket", "Makes a ticket code. Use it when somebody wants a ticket.",
                                     "To make a ticket code, run the script `scripts/ticket.sh` of this skill with "
                                     "`sh` in the terminal. It prints the code. Tell the user that code.",
                                     ("ticket.sh", '#!/bin/sh\necho "TKT-$((1346 * 17))"\n')),
                         reply=["TKT-22882"]),
    "skill-view": Task(["Look at the skill letters: with which name are our letters signed?"],
                       setup=skill("letters", "How our letters look. Read it before you write or sign a letter.",
                                   "Letters begin with the date. They are signed with the name {a}."),
                       reply=["{a}"]),
    "todo": Task(["Make a todo list with three items: buy {a}, call {b}, paint {c}."],
                 facts=lambda home, words: home.done("todo") > 0 and any(
                     all(word in text for word in words[:3]) for text in home.results())),
    "delegate": Task(["Delegate this to a sub-agent: write a file named child.txt that contains only the word {a}."],
                     after={"child.txt": "{a}"}, facts=lambda home, _: home.children() > 0),
    "delegate-two": Task(["Delegate two tasks to two sub-agents. First: write the word {a} to the file one.txt. "
                          "Second: write the word {b} to the file two.txt."],
                         after={"one.txt": "{a}", "two.txt": "{b}"}, facts=lambda home, _: home.children() > 1),
    "fetch": Task(["Read the web page {page} and tell me the word of the day."], setup=page, reply=["{a}"]),
    "two-steps": Task(["First write the word {a} to the file one.txt. Then read the file two.txt and tell me what "
                       "it says."], before={"two.txt": "The answer is {b}.\n"}, after={"one.txt": "{a}"},
                      reply=["{b}"]),
    "rename": Task(["Rename the file draft.txt to final.txt with the terminal."], before={"draft.txt": "{a}\n"},
                   after={"draft.txt": None, "final.txt": "{a}\n"}),
    "no-tools": Task(["What is the capital of France? Answer in one word."], reply=["paris"], silent=["```", "{"],
                     facts=lambda home, _: home.done() == 0),
}


class Page(http.server.BaseHTTPRequestHandler):
    word = ""

    def log_message(self, *_):
        pass

    def do_GET(self):
        body = (f"<html><head><title>Today</title></head><body><article><h1>Today</h1><p>The word of the "
                f"day is <b>{self.word}</b>. Come back tomorrow.</p></article></body></html>").encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

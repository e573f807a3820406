"""Writes the tasks, injections, tools and clean state of AgentDojo's suites as JSON.

Of the package only the suites are wanted, so its pipelines, which bring the libraries of every
model provider, are replaced by empty modules.
"""

import json
import sys
import types
from pathlib import Path
from unittest.mock import MagicMock

BENCHMARK = "v1.2.2"
UNWANTED = [
    "agentdojo.agent_pipeline",
    "agentdojo.agent_pipeline.base_pipeline_element",
    "agentdojo.agent_pipeline.errors",
    "agentdojo.agent_pipeline.ground_truth_pipeline",
    "agentdojo.agent_pipeline.tool_execution",
    "agentdojo.logging",
]


class Empty(types.ModuleType):
    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return MagicMock


for name in UNWANTED:
    sys.modules[name] = Empty(name)

from agentdojo.task_suite.load_suites import get_suites  # noqa: E402


def calls(task, environment):
    made = task.ground_truth(environment)
    return [{"tool": call.function, "arguments": dict(call.args)} for call in made]


def tool(it):
    schema = it.parameters.model_json_schema()
    return {"name": it.name, "description": it.description, "parameters": schema}


def clean(value):
    """The state without the copies that a model keeps of what it was loaded from."""
    if isinstance(value, dict):
        copies = ("initial_", "received", "sent", "drafts")
        return {k: clean(v) for k, v in value.items() if not k.startswith(copies)}
    if isinstance(value, list):
        return [clean(item) for item in value]
    return value


def exported(suite):
    environment = suite.load_and_inject_default_environment({})
    tasks = []
    for name, task in suite.user_tasks.items():
        own = task.init_environment(suite.load_and_inject_default_environment({}))
        tasks.append({"id": name, "prompt": task.PROMPT, "calls": calls(task, own)})
    injections = [
        {"id": name, "goal": task.GOAL, "calls": calls(task, environment)}
        for name, task in suite.injection_tasks.items()
    ]
    return {
        "tools": [tool(it) for it in suite.tools],
        "tasks": tasks,
        "injections": injections,
        "state": clean(json.loads(environment.model_dump_json())),
    }


folder = Path(sys.argv[1])
for name, suite in get_suites(BENCHMARK).items():
    text = json.dumps(exported(suite), indent=1, ensure_ascii=False, default=str)
    (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    print(f"{name}: {len(suite.user_tasks)} tasks, {len(suite.injection_tasks)} injections")

"""A model on loopback that loads skills and succeeds by known probabilities: what an evaluation must find is known.

It is one OpenAI-compatible server for every harness: it reads in each request which skills are listed, which tools
there are and what came back so far, and takes the next step: load a skill, do the work, say that it is done.

    with serve(Policy(skill="zebra", mark="a line of its body", load=0.3, right=..., wrong=...)) as router:
        upskill eval zebra --harness codex -m local --base-url {router.url}
"""

import json
import random
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from provider import Behaviour, Provider, ReceivedRequest

Probability = float | Callable[[str], float]
"""Known; or by the prompt."""

SHELLS = ("exec_command", "shell_command", "run_shell_command", "Bash", "bash", "shell")
"""The tools that run a command line, under the names that harnesses give them."""
SKILL_TOOLS = ("Skill", "skill")
"""The tools that load a skill; their first argument names it."""
READERS = ("read_file", "read")
"""The tools that read a file, where no tool loads skills."""
WORK = ": the work; "
"""How a command begins by which the router does the work: so it recognises it in what comes back."""


class Answer(NamedTuple):
    """What is done for a prompt, and what is said at the end."""

    text: str
    command: str | None = None


class ListedSkill(NamedTuple):
    """A skill as the listing of a request shows it."""

    name: str
    description: str
    path: str | None = None
    """Of its `SKILL.md`, where the listing says that."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """What a request says."""

    prompt: str
    """The known prompt that is in it, else what the person seems to have said."""
    listed: Mapping[str, ListedSkill]
    loads: tuple[str, ...]
    """The skills that were loaded by a tool call of this conversation."""
    marked: bool
    """Whether the body of the skill is somewhere in it."""
    worked: bool
    tools: Mapping[str, Mapping[str, Any]]
    """Their parameters, by name."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Policy:
    """What the model does, and how often."""

    skill: str
    mark: str
    """A line of the body, by which the router sees that the skill is loaded. No prompt and no description has it."""
    right: Callable[[str], Answer]
    wrong: Callable[[str], Answer]
    load: Probability = 0.3
    if_loaded: Probability = 0.9
    if_not: Probability = 0.2
    choose: Callable[[Asked], str | None] | None = None
    """Which listed skill it loads first, instead of drawing by `load`."""
    prompts: tuple[str, ...] = ()
    """The prompts that it may meet, whatever an agent puts around them."""
    seed: int = 0
    latency: Callable[[Asked], float] = lambda _: 0.0
    """Seconds that it takes to answer."""
    fault: Callable[[int], Behaviour | None] = lambda _: None
    """What goes wrong with the request of this number, from 1."""


@dataclass
class Drawn:
    """What the router did up to now, by prompt: the truth that an evaluation is compared with."""

    asked: Counter[str] = field(default_factory=Counter)
    """Conversations in which the skill was listed and not there from the beginning."""
    loaded: Counter[str] = field(default_factory=Counter)
    right: Counter[tuple[str, bool]] = field(default_factory=Counter)
    wrong: Counter[tuple[str, bool]] = field(default_factory=Counter)
    """By prompt, and whether the skill was loaded."""


class Router:
    """A provider that follows a policy."""

    def __init__(self, policy: Policy, *, port: int = 0) -> None:
        self.policy = policy
        self.drawn = Drawn()
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, str]] = Counter()
        self._provider = Provider(self._behave, port=port)

    @property
    def url(self) -> str:
        """The base URL to hand to `--base-url`."""
        return self._provider.url

    @property
    def requests(self) -> list[ReceivedRequest]:
        """Everything that was asked."""
        return self._provider.requests

    def __enter__(self) -> "Router":
        self._provider.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._provider.__exit__()

    def _behave(self, request: ReceivedRequest) -> Behaviour:
        fault = self.policy.fault(request.number)
        if fault is not None:
            return fault
        asked = read_request(request.body, self.policy)
        with self._lock:
            return replace(self._next(asked, request.number), latency=self.policy.latency(asked))

    def _next(self, asked: Asked, number: int) -> Behaviour:
        if not asked.tools:
            return Behaviour(text="A title")
        if asked.worked:
            return Behaviour(text=DONE)
        if not asked.loads and not asked.marked:
            name = self._chosen(asked)
            if name is not None:
                return _call(load_call(asked, name), number)
        return self._work(asked, number)

    def _chosen(self, asked: Asked) -> str | None:
        policy = self.policy
        if policy.choose is not None:
            name = policy.choose(asked)
        elif policy.skill not in asked.listed:
            return None
        else:
            name = policy.skill if self._draw("load", asked.prompt, policy.load) else None
        self.drawn.asked[asked.prompt] += 1
        self.drawn.loaded[asked.prompt] += name == policy.skill
        return name

    def _work(self, asked: Asked, number: int) -> Behaviour:
        policy = self.policy
        probability = policy.if_loaded if asked.marked else policy.if_not
        # Drawn apart for each arm, so that what comes first in one changes nothing in another.
        arm = f"{asked.marked} {policy.skill in asked.listed} {bool(asked.loads)}"
        is_right = self._draw(f"work {arm}", asked.prompt, probability)
        (self.drawn.right if is_right else self.drawn.wrong)[asked.prompt, asked.marked] += 1
        answer = (policy.right if is_right else policy.wrong)(asked.prompt)
        shell = next((name for name in SHELLS if name in asked.tools), None)
        if answer.command is None or shell is None:
            return Behaviour(text=answer.text)
        arguments = shell_arguments(asked.tools[shell], WORK + answer.command)
        return _call((shell, arguments), number, text=answer.text)

    def _draw(self, what: str, prompt: str, probability: Probability) -> bool:
        """The same for the same seed, prompt and count, in whichever order requests come."""
        chance = probability(prompt) if callable(probability) else probability
        self._counts[what, prompt] += 1
        return random.Random(f"{self.policy.seed} {what} {prompt} {self._counts[what, prompt]}").random() < chance


DONE = "It is done."
"""What the router says after the work."""


@contextmanager
def serve(policy: Policy, *, port: int = 0) -> Iterator[Router]:
    """A router, for as long as the block runs."""
    with Router(policy, port=port) as router:
        yield router


def read_request(body: Mapping[str, Any], policy: Policy) -> Asked:
    """What a request says, by whichever harness it was made."""
    messages = body["messages"]
    text = "\n".join(_text(message) for message in messages)
    calls = [call["function"] for message in messages for call in message.get("tool_calls") or ()]
    listed = read_listing("\n".join(_text(message) for message in messages if not message.get("tool_calls")))
    return Asked(
        prompt=_prompt(messages, policy),
        listed=listed,
        loads=tuple(name for call in calls for name in _loads(call, listed)),
        marked=policy.mark in text,
        worked=any(WORK in call["arguments"] for call in calls),
        tools={
            tool["function"]["name"]: tool["function"].get("parameters") or {}
            for tool in body.get("tools") or ()
            if "function" in tool
        },
    )


def read_listing(text: str) -> dict[str, ListedSkill]:
    """Every skill that is listed, in the forms of the agents and of our own harness."""
    found = [
        ListedSkill(name, description.removesuffix(" (user)"), path)  # so Qwen Code says whose it is
        for name, description, path in re.findall(
            r"<name>\s*(.*?)\s*</name>\s*<description>\s*(.*?)\s*</description>\s*<location>\s*(.*?)\s*</location>",
            text,
            re.DOTALL,
        )
    ]
    roots = dict(re.findall(r"^- `(r\d+)` = `(.*)`$", text, re.MULTILINE))
    for block in re.findall(
        r"<skills_instructions>.*?</skills_instructions>|<skills>.*?</skills>"
        r"|available for use with the Skill tool:.*?(?:</system-reminder>|\Z)",
        text,
        re.DOTALL,
    ):
        for name, description in re.findall(r"^- ([a-z0-9][a-z0-9-]*): (.*)$", block, re.MULTILINE):
            where = re.search(r" \((?:file: )?([^()\s]*SKILL\.md)\)$", description)
            path = None if where is None else where[1]
            if path is not None:
                root, _, rest = path.partition("/")
                path = f"{roots[root]}/{rest}" if root in roots else path
                description = description[: -len(where[0])] if where else description
            found.append(ListedSkill(name, description, path))
    return {skill.name: skill for skill in found}


def load_call(asked: Asked, name: str) -> tuple[str, dict[str, Any]]:
    """The tool call by which a model of this harness loads a skill."""
    for tool in SKILL_TOOLS:
        if tool in asked.tools:
            return tool, {next(iter(asked.tools[tool]["properties"])): name}
    path = asked.listed[name].path
    if path is None:
        raise LookupError(f"no tool loads {name}, and the listing does not say where it lies")
    for reader in READERS:
        if reader in asked.tools:
            return reader, {"path": path}
    shell = next(shell for shell in SHELLS if shell in asked.tools)
    return shell, shell_arguments(asked.tools[shell], f"cat {path}")


def shell_arguments(parameters: Mapping[str, Any], command: str) -> dict[str, Any]:
    """The arguments of a shell tool, as its parameters want them."""
    properties = parameters.get("properties", {})
    key = "cmd" if "cmd" in properties else "command"
    is_list = properties.get(key, {}).get("type") == "array"
    arguments: dict[str, Any] = {key: ["sh", "-c", command] if is_list else command}
    if "description" in parameters.get("required", ()):
        arguments["description"] = "Runs a command"
    return arguments


def _loads(call: Mapping[str, Any], listed: Mapping[str, ListedSkill]) -> list[str]:
    """The skills that a tool call loads."""
    if call["name"] in SKILL_TOOLS:
        return [str(next(iter(json.loads(call["arguments"]).values()), None))]
    return [skill.name for skill in listed.values() if skill.path is not None and skill.path in call["arguments"]]


def _prompt(messages: Sequence[Mapping[str, Any]], policy: Policy) -> str:
    said = [part for message in messages if message["role"] == "user" for part in _parts(message)]
    known = (prompt for prompt in policy.prompts if any(prompt in part for part in said))
    guessed = (part for part in reversed(said) if not part.lstrip().startswith("<"))
    return next(known, next(guessed, "")).strip()


def _text(message: Mapping[str, Any]) -> str:
    return "\n".join(_parts(message))


def _parts(message: Mapping[str, Any]) -> list[str]:
    content = message.get("content") or ""
    return [content] if isinstance(content, str) else [str(part.get("text") or "") for part in content]


def _call(call: tuple[str, dict[str, Any]], number: int, *, text: str | None = None) -> Behaviour:
    name, arguments = call
    function = {"name": name, "arguments": json.dumps(arguments)}
    message = {
        "role": "assistant",
        "content": text,
        "tool_calls": [{"id": f"call_{number}", "type": "function", "function": function}],
    }
    return Behaviour(body={"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]})

"""What an agent and its model said to each other, read from the model requests as they pass.

Model traffic is the truth about a trial: whether the skill was listed, when it was loaded, which other skills were,
what the model answered last. Nothing is asked of the agent. Knows no dialect: the engine's messages are the same for
every agent.

Programs that the model runs reach the same model as the agent, and can read its call ids in its session files. So the
agent's own requests must form one chain: one at a time, each with what the model answered to those before it: its tool
calls, or the text without any. Where two speak in the agent's name the chain breaks, and the trial ends.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from inspect_ai.model import ChatMessage, ChatMessageTool, ModelOutput
from inspect_ai.tool import ToolCall, ToolInfo

from upskill.core.nouns import Skill, SkillUse
from upskill.core.trials.trajectory import SKILL_FILE, KnownTools, SkillWatch, TrajectoryBuilder

LEAST_CHARACTERS = (40, 25, 12)
"""How long a line of a skill's body must be to tell that it was loaded: the first length that any line has."""
MOST_MARKS = 200
MOST_DESCRIPTION = 60
"""So many characters of a description must be listed: agents cut long ones."""
_FAILED = re.compile(r"exit(?:ed with)? code:? ([1-9]\d*)", re.IGNORECASE)
_REFUSED = "<tool_use_error>"
"""How Claude Code answers a call that it does not carry out."""
_BETWEEN = r"(?:(?! - |<name>).){0,40}?"
"""What may stand between the name and the description of one skill, and is not the beginning of the next."""
_FORGED = "a program in the sandbox seems to have spoken to the model in the agent's name: a request came"
_SKILL_PATH = re.compile(r"(?<![\w.-])([\w.-]+)/SKILL\.md")
"""From the beginning of a word only: else a word of a hundred thousand letters takes minutes."""


class AgentFailed(Exception):
    """The agent did not do its part, or a program did it in its name: nothing was measured about its model."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SkillMarks:
    """How one skill is recognised in what an agent sends."""

    name: str
    description: str
    lines: tuple[str, ...]
    """Lines of its body that stand nowhere else that the model sees."""

    def are_in(self, text: str) -> bool:
        """Whether a text carries the skill's body, or a part of it."""
        return any(line in text for line in self.lines)

    def is_listed(self, listing: str) -> bool:
        """Whether a listing on one line has its name, and after it the beginning of its description."""
        return self._has(listing, flat(self.description)[:MOST_DESCRIPTION].strip())

    def is_whole_in(self, listing: str) -> bool:
        """Whether a listing on one line has its name, and after it all of its description."""
        return self._has(listing, flat(self.description))

    def _has(self, listing: str, description: str) -> bool:
        # After its own name: descriptions of two skills may begin alike, and an agent may list one by its name only.
        entry = rf"(?<![\w-]){re.escape(self.name)}(?![\w-]){_BETWEEN}{re.escape(description)}"
        return re.search(entry, listing) is not None


def marks_for(skill: Skill, *, known: str) -> SkillMarks:
    """`known` is all that the model sees without loading this skill: lines that stand there are no marks."""
    lines = [line.strip() for line in skill.body.splitlines()]
    found: tuple[str, ...] = ()
    for least in LEAST_CHARACTERS:
        found = tuple(dict.fromkeys(line for line in lines if len(line) >= least and line not in known))
        if found:
            break
    whole = skill.body.strip()
    if not found and whole and whole not in known:
        found = (whole,)
    return SkillMarks(name=skill.name, description=skill.description, lines=found[:MOST_MARKS])


def flat(text: str) -> str:
    """A text on one line, as listings of agents are compared."""
    return " ".join(text.split())


@dataclass(slots=True)
class Traffic:
    """One trial, as its model requests show it."""

    prompt: str
    """The case's: a request without it is a title, a summary or a subagent's."""
    skill: SkillMarks | None
    tools: KnownTools
    """What the agent's tools are for."""
    others: tuple[SkillMarks, ...] = ()
    watch: SkillWatch | None = None
    """Which other files of the skill were used."""
    requests: int = 0
    """Those that offer tools to the model."""
    in_flight: int = 0
    turns: int = 0
    tool_calls: int = 0
    listed: bool = False
    shortened: bool = False
    """The skill was listed with a part of its description."""
    others_listed: int | None = None
    """Other skills that were listed with their descriptions; `None` before the first listing."""
    listing_cut: str = ""
    """How the agent cut the listing, in words; empty where every skill was listed with its description."""
    loaded_turn: int | None = None
    final: ModelOutput | None = None
    """The last answer to the case, if nothing is to be done after it."""
    last: ModelOutput | None = None
    conversation: list[ChatMessage] = field(default_factory=list)
    """The main thread, with the model's last answer."""
    trajectory: TrajectoryBuilder = field(init=False)
    """Every tool call that the model made, in that order."""
    _listing: str = ""
    """The longest listing that was seen, on one line."""
    _others_loaded: dict[str, None] = field(default_factory=dict)
    _seen: set[int] = field(default_factory=set)
    _call_numbers: dict[str, int | None] = field(default_factory=dict)
    """The calls whose results have not come, by their ids."""
    _asking: bool = False
    """Whether a request of the agent's own conversation is being answered."""
    _chain: list[str] = field(default_factory=list)
    """The ids of the tool calls that the agent's next request must carry, and no others."""
    _issued: set[str] = field(default_factory=set)
    """The ids of all tool calls of the agent's own conversation, also of those that were summed up since."""
    _summed_up: bool = False
    """Whether the model was asked about the whole conversation without tools: a summary may replace it."""
    _subagents: bool = False
    """Whether the model has started any: they speak beside the agent, also about its prompt."""
    _delegates: bool = False
    """Whether somebody may be at work for the agent now: a subagent, or a skill that runs as one."""

    def __post_init__(self) -> None:
        self.trajectory = TrajectoryBuilder(self.tools)

    @property
    def model_owes(self) -> bool:
        """Whether the model is at work: it is asked something, or a tool that it called has not answered."""
        return self.in_flight > 0 or (self.last is not None and bool(_calls(self.last)))

    @property
    def use(self) -> SkillUse | None:
        """What became of the skill, up to now; `None` where there is none."""
        others = tuple(self._others_loaded)
        if self.skill is None:
            if not (others or self.others):
                return None
            return SkillUse(listed=False, loaded=False, others=others, others_listed=self.others_listed)
        files = () if self.watch is None else tuple(file for file in self.watch.use().files if file != SKILL_FILE)
        loaded = self.loaded_turn is not None
        return SkillUse(
            listed=self.listed,
            loaded=loaded,
            files=(SKILL_FILE, *files) if loaded else files,
            turn=self.loaded_turn,
            others=others,
            shortened=self.shortened,
            others_listed=self.others_listed if self.others else None,
        )

    def lists(self, listing: str) -> None:
        """A request came whose listing of skills is this. Once the model has answered, others may send listings too."""
        if not listing or self.last is not None:
            return
        listing = flat(listing)
        self._listing = max(self._listing, listing, key=len)
        if self.skill is not None and self.skill.is_listed(listing):
            self.listed = True
            self.shortened = self.shortened or not self.skill.is_whole_in(listing)
        if self.others_listed is None:
            self._look_for_a_cut(listing)

    def _look_for_a_cut(self, listing: str) -> None:
        """Agents give their list of skills a budget of characters, and leave descriptions out beyond it."""
        offered = sorted([*self.others, *(() if self.skill is None else (self.skill,))], key=lambda one: one.name)
        whole = [one.is_listed(listing) for one in offered]
        self.others_listed = sum(is_whole for one, is_whole in zip(offered, whole, strict=True) if one != self.skill)
        if not all(whole):
            self.listing_cut = (
                f"its list was cut: {sum(whole)} of {len(offered)} skills have a description in it, and number "
                f"{whole.index(False) + 1} by name is the first without"
            )

    def asked(self, messages: Sequence[ChatMessage], tools: Sequence[ToolInfo]) -> bool:
        """A request is about to be sent to the model. Returns whether it goes on with the agent's own conversation.

        Raises `AgentFailed` where it is sent in the agent's name and does not go on with that.
        """
        if tools:
            self.requests += 1
        if not self._is_main(messages, tools):
            return False
        self._asking = True
        self._chain = [call.id for call in _all_calls(messages)]
        calls = {call.id: call for call in _all_calls(messages)}
        for message in messages:
            mark = hash((message.role, message.text))
            if mark in self._seen:
                continue
            self._seen.add(mark)
            if message.role != "assistant":
                self._read(message, calls)
        return True

    def _read(self, message: ChatMessage, calls: Mapping[str, ToolCall]) -> None:
        """Something that the model has not seen before."""
        text = message.text
        call = calls.get(message.tool_call_id or "") if isinstance(message, ChatMessageTool) else None
        new = text if call is None else _without_arguments(text, call)
        if self.skill is not None and self.loaded_turn is None and self.skill.are_in(new):
            self.loaded_turn = self.turns
        for other in self.others:
            if other.are_in(new):
                self._others_loaded.setdefault(other.name)
        if call is None or not isinstance(message, ChatMessageTool):
            return
        if message.error is not None and call.id in self._call_numbers and not self._has_run(call, text):
            self.trajectory.mark_failed(self._call_numbers.pop(call.id))
        well = message.error is None and _FAILED.search(text) is None
        if self.watch is not None:
            self.watch.ran(json.dumps(call.arguments), text, well=well)
        name = _named_skill(call)
        if name and well and (self.skill is None or name != self.skill.name) and self._is_listed(name):
            self._others_loaded.setdefault(name)

    def _is_listed(self, name: str) -> bool:
        """Whether a skill of this name was offered: models also name some that do not exist, and write new ones."""
        return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", self._listing) is not None

    def answered(
        self, messages: Sequence[ChatMessage], tools: Sequence[ToolInfo], output: ModelOutput, *, main: bool
    ) -> None:
        """The model answered a request; `main` is what `asked` returned for it."""
        calls = _calls(output)
        if not tools and self._continues(messages):
            self._summed_up = True
        if not main and not self._delegates:
            return  # nobody carries out what a program had the model call
        self.turns += main
        self.tool_calls += sum(call.parse_error is None for call in calls)
        offered = {tool.name for tool in tools}
        for call in calls:
            self._call_numbers[call.id] = self.trajectory.add(
                turn=self.turns,
                tool=call.function,
                arguments=call.arguments,
                failed=call.parse_error is not None or call.function not in offered,
                subagent=not main,
            )
        if not main:
            return
        self._asking = self._summed_up = False
        self._chain += [call.id for call in calls]
        self._issued.update(self._chain)
        kinds = {self.tools[call.function].kind for call in calls if call.function in self.tools}
        self._subagents = self._subagents or "subagent" in kinds
        self._delegates = self._subagents or "skill" in kinds
        self.last = output
        self.final = None if calls else output
        self.conversation = [*messages, *([output.message] if output.choices else [])]

    def _is_main(self, messages: Sequence[ChatMessage], tools: Sequence[ToolInfo]) -> bool:
        """Whether a request goes on with the agent's own conversation about the case. Titles and subagents do not have
        its prompt, or at least none of its tool calls. Raises `AgentFailed`."""
        if not tools or not any(self.prompt in message.text for message in messages if message.role == "user"):
            return False
        calls = {call.id for call in _all_calls(messages)}
        if self._subagents and not self._summed_up and not calls & self._issued:
            return False
        if self._asking:
            raise AgentFailed(f"{_FORGED} while its model was still answering another one")
        if self._continues(messages) or (self._summed_up and calls <= self._issued):
            return True
        raise AgentFailed(f"{_FORGED} that does not go on with what its model was asked and answered before")

    def _continues(self, messages: Sequence[ChatMessage]) -> bool:
        """Whether a request carries every tool call up to now, no others, and a result of the latest; or the answer
        without any."""
        # As sets: parallel calls are handed out in any order, and some servers use an id twice.
        if {call.id for call in _all_calls(messages)} != set(self._chain):
            return False
        if self.final is not None:
            # Claude Code goes on where an answer was cut, and when something in the background has ended.
            answer = flat(self.final.completion)
            said = (flat(message.text) for message in messages if message.role == "assistant")
            if answer:
                return any(answer in text for text in said)
            return was_cut(self.final) or self._asks_again(messages)
        return self.last is None or self._answers_calls(messages)

    def _asks_again(self, messages: Sequence[ChatMessage]) -> bool:
        """Whether a request is the last one, word for word: Qwen Code repeats it where the answer was empty."""
        asked = self.conversation[: len(messages)]
        more = len(self.conversation) - len(messages)
        return more in (0, 1) and [(one.role, one.text) for one in asked] == [(one.role, one.text) for one in messages]

    def _answers_calls(self, messages: Sequence[ChatMessage]) -> bool:
        """Whether a request carries a result of the model's latest tool calls."""
        pending = {call.id for call in _calls(self.last)} if self.last is not None else set()
        return any(isinstance(message, ChatMessageTool) and message.tool_call_id in pending for message in messages)

    def _has_run(self, call: ToolCall, result: str) -> bool:
        """Whether a call with an error for a result did something: Claude Code marks commands that exit with one so."""
        known = self.tools.get(call.function)
        return known is not None and known.kind == "shell" and not result.lstrip().startswith(_REFUSED)


def _without_arguments(text: str, call: ToolCall) -> str:
    """A tool's result without what its model wrote in the call: Qwen Code repeats the command line."""
    for value in call.arguments.values() if isinstance(call.arguments, dict) else ():
        if isinstance(value, str) and value:
            text = text.replace(value, "")
    return text


def _calls(output: ModelOutput) -> list[ToolCall]:
    return (output.message.tool_calls or []) if output.choices else []


def was_cut(output: ModelOutput) -> bool:
    """Whether an answer ends at a limit of the model or of its provider, or was filtered."""
    return output.stop_reason in ("max_tokens", "model_length", "content_filter")


def _all_calls(messages: Iterable[ChatMessage]) -> Iterable[ToolCall]:
    return (call for message in messages if message.role == "assistant" for call in message.tool_calls or ())


def _named_skill(call: ToolCall) -> str | None:
    """The skill that a tool call loads, by the tools that agents have for it or by the path of its SKILL.md."""
    arguments = call.arguments if isinstance(call.arguments, dict) else {}
    if call.function.lower() == "skill":
        named = arguments.get("skill") or arguments.get("name") or arguments.get("command")
        return str(named).strip("/ ") if named else None
    found = _SKILL_PATH.search(json.dumps(arguments))
    return found.group(1) if found else None

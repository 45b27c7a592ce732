"""Reports made by hand, for the tests of the page."""

import re
from collections.abc import Iterable, Sequence
from html.parser import HTMLParser

from report.unit.evaluations import EVALUATIONS, errored, evaluation, scored
from upskill.core.nouns import Evaluation, Trial
from upskill.report.facts import TokenRatio
from upskill.report.html import CaseText, LoggedTrial, RunFacts, report_page

FACTS = RunFacts(
    skill="tarnctl",
    folder="2026-11-15-093042-tarnctl-1a2b3c",
    status="finished",
    started_at="2026-11-15T09:30:42+00:00",
    finished_at="2026-11-15T09:31:00+00:00",
    harness="chat/1",
    seed=0,
    skill_digest="5f" * 32,
    versions={"upskill": "0.1"},
    settings=(("models", "haiku", "--model"),),
)


def logged(trials: Iterable[Trial]) -> list[LoggedTrial]:
    return [LoggedTrial(trial=trial, line=line) for line, trial in enumerate(trials, 1)]


def page(
    result: Evaluation | None = None,
    *,
    trials: Sequence[Trial] = (),
    prompts: dict[str, str | None] | None = None,
    facts: RunFacts = FACTS,
    ratios: Sequence[TokenRatio] = (),
) -> str:
    result = result or evaluation()
    prompts = {"c1": "Which version?"} if prompts is None else prompts
    return report_page(
        result,
        facts,
        cases=[CaseText(id=case, prompt=prompt) for case, prompt in prompts.items()],
        trials=logged(trials),
        ratios=ratios,
    )


class Parsed(HTMLParser):
    """What a browser would make of a page, as far as tests ask: elements, attributes and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.text = ""
        self._inside: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._inside.append(tag)
        if tag == "script":
            self.scripts.append((dict(attrs), ""))

    def handle_endtag(self, tag: str) -> None:
        while self._inside and self._inside.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self._inside and self._inside[-1] == "script":
            attributes, before = self.scripts[-1]
            self.scripts[-1] = (attributes, before + data)
        elif not self._inside or self._inside[-1] != "style":
            self.text += data

    def named(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.elements if tag == name]

    @property
    def policy(self) -> dict[str, str]:
        metas = [meta for meta in self.named("meta") if meta.get("http-equiv") == "Content-Security-Policy"]
        (content,) = [str(meta["content"]) for meta in metas]
        return dict(re.match(r"(\S+) ?(.*)", part.strip()).groups() for part in content.split(";"))  # type: ignore[union-attr,misc]


__all__ = ["EVALUATIONS", "FACTS", "Parsed", "errored", "evaluation", "logged", "page", "scored"]

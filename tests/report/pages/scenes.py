"""Eight scenes that a page must explain at a glance, by the real command: `python -m report.pages.scenes OUT`.

OUT gets, per scene, the page, what the terminal showed, and screenshots at both widths, light and dark: the full page
and its first 800 pixels. The project with its run folders is kept there too. Needs bubblewrap and chromium; no model is
asked: students and teachers are scripts, or functions behind a server on loopback. Takes about a minute.
`python -m report.pages.scenes OUT agents` makes that scene only.
"""

import json
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import made_teacher
from forking import Forker
from made_sweeps import MadeSweep
from made_teacher import TASK, THINGS, line_for, question_about
from provider import Behave, Behaviour, Provider, ReceivedRequest
from report.pages.browser import DESK, PHONE, Browser, Look

EXAMPLES = Path(__file__).parents[3] / "examples"
FIRST_PIXELS = 800
"""What a reader sees before scrolling."""
FOUR = {"tiny": (0.0, 0.8), "small": (0.05, 0.45), "medium": (0.4, 0.5), "large": (0.75, 0.1)}
"""Students by name: how often they pass without the skill, and with it."""
STUDENT, TEACHER = "student-4b", "teacher-70b"
"""Invented, so that nobody takes a scene for a result of a real model."""
NO_VARIABLES: Mapping[str, str] = {}
HASTY = {"UPSKILL_MAX_RETRIES": "0", "UPSKILL_MAX_RETRY_WAIT_SECONDS": "1"}


class Project:
    """A folder to type commands in, with `skills/` and `runs/` of its own."""

    def __init__(self, here: Path, forker: Forker) -> None:
        (here / "home").mkdir(parents=True)
        self.here = here
        self.terminal = ""
        """Everything that was typed and shown."""
        self._forker = forker
        self._servers = ExitStack()

    def serving(self, behave: Behave, *, lists: str) -> str:
        """The address of a server with this model, until the project is closed."""
        return self._servers.enter_context(Provider(behave, lists=lists)).url

    def close(self) -> None:
        self._servers.close()

    def type(self, *words: str, exits: int = 0, variables: Mapping[str, str] = NO_VARIABLES) -> str:
        """Type a command; what it printed. Raises where it does not end as expected."""
        done = self._forker.run(*words, cwd=self.here, **{"HOME": str(self.here / "home"), **variables})
        self.terminal += f"$ {shlex.join(['upskill', *words])}\n{done.stderr}{done.stdout}\n"
        if done.returncode != exits:
            raise SystemExit(f"{self.here.name}: exit {done.returncode}, not {exits}\n{self.terminal}")
        return f"{done.stderr}{done.stdout}"

    def example(self, name: str) -> str:
        """A copy of an example skill; its folder, as it is typed."""
        shutil.copytree(EXAMPLES / name, self.here / "skills" / name)
        return f"skills/{name}"

    def student(self, name: str, cases: Sequence[dict[str, Any]], *, without: float, with_skill: float) -> str:
        """A scripted student that passes so often; the model's name, as it is typed."""
        rules = [
            {"arm": arm, "when": f"^{case['input'][:-1]}", "replies": _replies(case["reference"], rate)}
            for arm, rate in (("baseline", without), ("with_skill", with_skill))
            for case in cases
        ]
        (self.here / f"{name}.yaml").write_text(json.dumps({"seed": 1, "rules": rules}), encoding="utf-8")
        return f"scripted/{name}.yaml"

    def page(self) -> Path:
        """The page that the last run left."""
        return max((self.here / "runs").iterdir()) / "report.html"


def _replies(right: str, rate: float) -> list[dict[str, Any]]:
    return [{"text": f"It is {right}.", "weight": rate}, {"text": "I am not sure.", "weight": 1 - rate}]


def _cases(skill: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((skill / "skill_meta.json").read_text(encoding="utf-8"))["cases"]
    return found


def one_model(project: Project) -> Path:
    """The skill helps."""
    skill = project.example("tarnctl")
    student = project.student("small", _cases(project.here / skill), without=0.0, with_skill=0.75)
    project.type("eval", skill, "-m", student)
    return project.page()


def four_models(project: Project) -> Path:
    """The skill helps two, hurts one, and one stays undecided."""
    skill = project.example("tarnctl")
    cases = _cases(project.here / skill)
    for name, (without, with_skill) in FOUR.items():
        project.student(name, cases, without=without, with_skill=with_skill)
    project.type("eval", skill, *(word for name in FOUR for word in ("-m", f"scripted/{name}.yaml")))
    return project.page()


def no_verdict(project: Project) -> Path:
    """The server drops many answers of one arm, so the two cannot be compared."""
    skill = project.example("tarnctl")
    lost = [case["input"] for case in _cases(project.here / skill)[::2]]

    def behave(asked: ReceivedRequest) -> Behaviour:
        dropped = asked.has_skill and any(question in asked.prompt for question in lost)
        return Behaviour(fault="reset") if dropped else _reader(_cases(project.here / skill))(asked)

    project.type(
        "eval", skill, "-m", STUDENT, "--base-url", project.serving(behave, lists=STUDENT), exits=3, variables=HASTY
    )
    return project.page()


def generate(project: Project) -> Path:
    """A new skill from notes: 3 of 5 learn cases pass, then 5 of 5, then the held-out test."""
    notes = "\n".join(line_for(thing).replace("- ", "* ") for thing in THINGS[:17])
    (project.here / "notes.md").write_text(f"# The tide gauge quarn\n\n{notes}\n", encoding="utf-8")
    teach = made_teacher.teacher(THINGS[:17], known_at_first=7, negatives=0)
    _teach(project, teach, TASK, "--from", "notes.md", "--cases", "5+12+0")
    return project.page()


def old_version_stays(project: Project) -> Path:
    """A revision that mends the learn cases and no held-out one."""
    folder = project.here / "skills" / "quarn"
    folder.mkdir(parents=True)
    head = "---\nname: quarn\ndescription: Facts about quarn. Use for any question about quarn.\n---\n"
    facts = "\n".join(map(line_for, THINGS[3:15]))
    (folder / "SKILL.md").write_text(f"{head}# Facts\n\n{facts}\n", encoding="utf-8")
    cases = [made_teacher.case_about(thing, "direct") for thing in THINGS[:17]]
    kept = [{key: case[key] for key in ("id", "input", "checks", "reference", "wrong")} for case in cases]
    (folder / "skill_meta.json").write_text(json.dumps({"cases": kept}), encoding="utf-8")

    def teach(asked: ReceivedRequest) -> Behaviour:
        shown = [one for one in THINGS if question_about(one) in asked.prompt and line_for(one) not in asked.prompt]
        return Behaviour(text=json.dumps(made_teacher.revision(shown)))

    _teach(project, teach, "--from", "skills/quarn", "--cases", "5+12+0")
    return project.page()


def agents(project: Project) -> Path:
    """Students with tools in the sandbox: they read the skill, call programs, and leave files behind."""
    skill = project.example("tarn-config")
    shutil.copy(EXAMPLES / "scripted" / "agent.yaml", project.here / "agent.yaml")
    project.type("eval", skill, "-m", "scripted/agent.yaml", "--harness", "agent", "--runs", "2")
    return project.page()


def history(project: Project) -> Path:
    """Three versions of a skill, each of which says more."""
    skill = project.example("tarnctl")
    text = (project.here / skill / "SKILL.md").read_text(encoding="utf-8")
    url = project.serving(_reader(_cases(project.here / skill)), lists=STUDENT)
    for facts in (3, 8, 12):
        known = text.splitlines()[: facts - 12 or None]
        (project.here / skill / "SKILL.md").write_text("\n".join(known) + "\n", encoding="utf-8")
        project.type("eval", skill, "-m", STUDENT, "--base-url", url)
    project.type("runs", "--skill", "tarnctl")
    project.type("report", "--history", "tarnctl", "-o", "history.html")
    return project.here / "history.html"


def sweep(project: Project) -> Path:
    """Four skills on two models, twice: one lost its proof, one hurts, one has no result yet."""
    rates = {
        "knots": {"small-4b": (0.1, 0.9), "large-70b": (0.8, 0.8)},
        "tides": {"small-4b": (0.1, 0.8), "large-70b": (0.2, 0.9)},
        "lamps": {"small-4b": (0.9, 0.1), "large-70b": (0.5, 0.5)},
    }
    weaker = {**rates, "tides": {"small-4b": (0.3, 0.4), "large-70b": (0.2, 0.9)}}
    for place, found in (("first", rates), ("second", weaker)):
        made = MadeSweep(project.here / place, students=("small-4b", "large-70b"))
        for skill, both in found.items():
            job = made.job(f"registry/{skill}")
            made.measured(job, both)
            made.confirmed(job, both)
        made.job("registry/winches")
        project.type("sweep", "report", place, "--out", "report")
    return project.here / "report" / "report.html"


SCENES: dict[str, Callable[[Project], Path]] = {
    "one": one_model,
    "four": four_models,
    "no-verdict": no_verdict,
    "generate": generate,
    "old-stays": old_version_stays,
    "agents": agents,
    "history": history,
    "sweep": sweep,
}


def _reader(cases: Sequence[dict[str, Any]]) -> Behave:
    """A student that says what the skill says, and nothing of its own."""

    def behave(asked: ReceivedRequest) -> Behaviour:
        right = next(case["reference"] for case in cases if case["input"] in asked.prompt)
        return Behaviour(text=f"It is {right}." if right in asked.system else "I do not know.")

    return behave


def _teach(project: Project, teach: Behave, *words: str) -> None:
    who = ("-m", TEACHER, "--base-url", project.serving(teach, lists=TEACHER))
    whom = ("--eval-model", STUDENT, "--eval-base-url", project.serving(made_teacher.student, lists=STUDENT))
    project.type("generate", *words, *who, *whom, "--yes")


def make(name: str, out: Path, forker: Forker) -> Path:
    """Play a scene in `OUT/projects/NAME`; what the terminal showed goes to `NAME.txt`. Returns the page."""
    project = Project(out / "projects" / name, forker)
    with closing(project):
        page = SCENES[name](project)
    (out / f"{name}.txt").write_text(project.terminal, encoding="utf-8")
    return Path(shutil.copy(page, out / f"{name}.html"))


def photograph(page: Path, browser: Browser) -> None:
    """Screenshots beside the page: `NAME-WIDTH-SCHEME.png` and its first pixels."""
    for width in (DESK, PHONE):
        for scheme in ("light", "dark"):
            browser.open(page, Look(width=width, scheme=scheme))
            taken = page.with_name(f"{page.stem}-{width}-{scheme}.png")
            browser.screenshot(taken)
            browser.screenshot(taken.with_stem(f"{taken.stem}-first{FIRST_PIXELS}"), height=FIRST_PIXELS)


def main(out: Path, names: Sequence[str]) -> None:
    """Make these scenes, or all."""
    out.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as scratch, Forker(Path(scratch)) as forker, Browser() as browser:
        for name in names or SCENES:
            photograph(make(name, out, forker), browser)
            print(name, flush=True)  # noqa: T201


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), sys.argv[2:])

"""What a person may want to type next, after a result: one command, chosen by what was found."""

from collections.abc import Container, Sequence
from itertools import takewhile
from shlex import quote, split
from typing import Literal, NamedTuple

from upskill.core.nouns import Evaluation, StudentReport
from upskill.core.nouns.plan import NOTHING_MORE, Again, Student
from upskill.core.nouns.text import count
from upskill.core.settings import PREFIX
from upskill.report.wording import rarely_loaded

NO_TOOL = "the model calls no tool, so it can load no skill: measure it with the skill in the prompt"
BY_HAND = " -m handoff"
"""What names a teacher where none is set up."""
BY_HAND_INTO = " -m handoff/new"
"""The same for a command without a run folder, where the questions could lie."""
_NOT_SHOWN = ("undecided", "no difference")
_UNKNOWN_SKILL = "SKILL"
"""What stands for the skill's folder where that is not known."""


class NextStep(NamedTuple):
    """A command and what it is for."""

    what: str
    command: str

    def as_json(self) -> dict[str, object]:
        """What it is for, its variables, and the words of the command."""
        words = split(self.command)
        variables = dict(word.split("=", 1) for word in takewhile(lambda word: word.startswith(PREFIX), words))
        return {"what": self.what, "variables": variables, "arguments": words[len(variables) :]}


def next_step(
    evaluation: Evaluation,
    *,
    skill: str | None = None,
    tests: str | None = None,
    resume: str | None = None,
    again: Again | None = NOTHING_MORE,
) -> NextStep:
    """The one command that the result calls for.

    `skill` is the folder as it was typed, where it is known; `tests` the file of the cases, where they are not the
    skill's own; `resume` the command that resumes the run, where more must be typed than the run; `again` what else was
    typed, `None` for a run that is not the user's own: then nothing that it asks for is repeated. First comes what
    mends a run without a verdict, then what mends the skill, then what would decide an open question; where everything
    is shown, what keeps it so.
    """
    if again is None:
        what = "this run is not known as yours: see what it asks for, and trust it before you go on with it"
        return NextStep(what, f"upskill trust {quote(evaluation.run)}")
    folder = _UNKNOWN_SKILL if skill is None else quote(skill)
    asked = _Asked(again, folder if tests is None else f"{folder} -t {quote(tests)}")
    verdicts = {report.verdict for report in evaluation.students}
    if any(report.unread_call is not None for report in evaluation.students):
        what = "serve it with its maker's chat template (llama-server --jinja) and measure again, or without tools"
        return NextStep(what, asked.eval(evaluation, verdicts, "--harness chat", without=("--among", "--sandbox")))
    if (why := _why_resume(evaluation)) is not None:
        return NextStep(why, resume or f"upskill eval --resume {quote(evaluation.run)}")
    if any(map(_lost_too_much, evaluation.students)):
        what = "ask everything again, with a stable server or a longer attempt_timeout_seconds"
        return NextStep(what, asked.eval(evaluation, verdicts, "--fresh"))
    if None in verdicts:
        practised = "--practice" in again.options
        what = "prove it on the held-out cases" if practised else "measure the lift, with and without the skill"
        return NextStep(what, asked.eval(evaluation, {None}, without=("--no-baseline", "--practice")))
    if _cases_in_doubt(evaluation):
        return NextStep("see what to change in the cases", f"upskill cases check {asked.skill}")
    if any(report.broken for report in evaluation.students):
        return _read("see what it answers to the broken cases now", evaluation)
    if _calls_no_tool(evaluation):
        return NextStep(NO_TOOL, asked.eval(evaluation, verdicts, "--harness chat", without=("--among", "--sandbox")))
    if "hurts" in verdicts:
        return _revise(evaluation, asked)
    if unloaded := [report for report in evaluation.students if rarely_loaded(report) or _never_loaded(report)]:
        return _describe(unloaded, folder, asked)
    if (failing := _most(evaluation, "failed")) is not None:
        return _read(f"{failing} fail with the skill: read them", evaluation)
    if (passing := _most(evaluation, "passed", measured=False)) is not None:
        what = f"{passing} pass without the skill: write cases that need it"
        return _more_cases(what, folder, again)
    if "undecided" in verdicts:
        return _decide(evaluation, folder, asked)
    if "no difference" in verdicts:
        return _revise(evaluation, asked)
    return _keep_proven(evaluation, folder, asked)


class _Asked(NamedTuple):
    """What was asked, to be asked again in another way."""

    again: Again
    skill: str
    """The folder, and the file of the cases where that was named."""

    def eval(
        self,
        evaluation: Evaluation,
        verdicts: Container[str | None],
        *more: str,
        without: Sequence[str] = (),
    ) -> str:
        """An evaluation of the models with these verdicts, with everything that was typed, and `more` instead."""
        students = [report.student for report in evaluation.students if report.verdict in verdicts]
        kept = self.again.without(*without, *(one.partition(" ")[0] for one in more))
        return " ".join((*kept.variables, _eval_of(students, self.skill), *kept.options, *more))

    def generate(self, reports: Sequence[StudentReport], words: str, *more: str) -> str:
        """A revision that is measured on these models as they were measured now; `more` as for `eval`."""
        shared = {"--harness", "--sandbox", "--accept-findings", "--max-cost", "--concurrency", "--yes"}
        kept = self.again.only(*shared.difference(one.partition(" ")[0] for one in more))
        models = _named([report.student for report in reports], "--eval-model", "--eval-base-url")
        words += BY_HAND if self.again.by_hand else ""
        return " ".join((*kept.variables, f"upskill generate {words}{models}", *kept.options, *more))


def step_after_generate(
    evaluation: Evaluation | None,
    *,
    saved: str | None,
    improved: str | None,
    resume: str,
    students: Sequence[str],
    description: bool = False,
    again: Again | None = NOTHING_MORE,
) -> NextStep:
    """The one command for what a `generate` came to, on the page and on the terminal.

    `saved` is the folder of the skill, `None` where the old version stays; that one is in `improved`, where known.
    `description` says that only the description was revised; `again` is what else was typed for the evaluation.
    """
    models = "".join(f" -m {quote(name)}" for name in students)
    if saved is None and description:
        folder = _UNKNOWN_SKILL if improved is None else quote(improved)
        return NextStep("see which prompts the old description gets wrong", f"upskill trigger {folder}{models} -v")
    if saved is None:
        return _try_again(evaluation, folder=_UNKNOWN_SKILL if improved is None else quote(improved), again=again)
    if evaluation is not None:
        return next_step(evaluation, skill=saved, resume=resume, again=again)
    return NextStep("measure it on a model", f"upskill eval {quote(saved)}{models or ' -m MODEL'}")


def _try_again(evaluation: Evaluation | None, *, folder: str, again: Again | None) -> NextStep:
    again = NOTHING_MORE if again is None else again
    if evaluation is not None and any(one.verdict == "undecided" for one in evaluation.students):
        return _more_cases("write more cases to decide the next revision", folder, again)
    teacher = BY_HAND if again.by_hand else ""
    return NextStep("tell the teacher what to improve", f'upskill generate --from {folder}{teacher} "what to improve"')


def _more_cases(what: str, folder: str, again: Again) -> NextStep:
    return NextStep(what, f"upskill cases write {folder}{BY_HAND_INTO if again.by_hand else ''} -o more-cases.json")


def _read(what: str, evaluation: Evaluation) -> NextStep:
    return NextStep(what, f"upskill report {quote(evaluation.run)} --open")


def compare_versions(students: Sequence[Student], *, skill: str | None = None) -> NextStep:
    """How two versions of a skill are tested against each other, on pairs of answers of these students."""
    folder = _UNKNOWN_SKILL if skill is None else quote(skill)
    return NextStep(
        "test two versions against each other", f"{_eval_of(students, folder)} --compare previous:OLD_VERSION"
    )


def _why_resume(evaluation: Evaluation) -> str | None:
    """What a resumed run would do, where one would do something."""
    if evaluation.interrupted:
        return "resume where it stopped"
    if any(report.end == "cap reached" for report in evaluation.students):
        return "resume with the same budget again"
    if any(report.verdict == "invalid" and not _lost_too_much(report) for report in evaluation.students):
        return "retry only what errored"
    return None


def _lost_too_much(report: StudentReport) -> bool:
    """Whether answers were lost, and a retry of what errored would not bring back a verdict."""
    return report.verdict == "invalid" and report.end != "endpoint down" and any(arm.lost for arm in report.arms)


def _calls_no_tool(evaluation: Evaluation) -> bool:
    """Whether nothing is shown with any model, and a model that was offered the skill called no tool."""
    open_ones = [report for report in evaluation.students if report.verdict in _NOT_SHOWN]
    return len(open_ones) == len(evaluation.students) and any(
        report.loads is not None and report.loads.no_tool_called for report in open_ones
    )


def _never_loaded(report: StudentReport) -> bool:
    """Whether nothing is shown, and no answer loaded the skill: its text was never put to the test."""
    return report.verdict in _NOT_SHOWN and report.loads is not None and not report.loads.loaded


def _most(evaluation: Evaluation, ended: Literal["passed", "failed"], *, measured: bool = True) -> str | None:
    """`17 of 18 answers`, where nothing is shown and three in four of an arm ended so: more cases of the kind would
    end alike. `measured`: the answers with the skill, or those that they are compared with."""
    if any(report.compared[1] != "baseline" for report in evaluation.students):
        return None
    arms = [report.arm(report.compared[not measured]) for report in evaluation.students if report.verdict in _NOT_SHOWN]
    failed, answers = (sum(getattr(arm, name) for arm in arms if arm) for name in ("failed", "trials"))
    found = failed if ended == "failed" else answers - failed
    return f"{found} of {count(answers, 'answer')}" if 4 * found >= 3 * answers > 0 else None


def _cases_in_doubt(evaluation: Evaluation) -> bool:
    """Whether the test cases may be to blame: some were left out, or no difference was found on unproven ones."""
    if any(state.state == "rejected" for state in evaluation.case_states):
        return True
    small = any(report.verdict == "no difference" for report in evaluation.students)
    return small and any(state.state == "unproven" or state.labels for state in evaluation.case_states)


def _decide(evaluation: Evaluation, folder: str, asked: _Asked) -> NextStep:
    """New answers where the checks changed; else more cases, which narrow every interval more than repeats do."""
    undecided = [report for report in evaluation.students if report.verdict == "undecided"]
    if any(report.end == "checks changed" for report in undecided):
        what = "ask again, and grade with these checks"
        return NextStep(what, asked.eval(evaluation, {"undecided"}, "--fresh"))
    return _more_cases("write more cases, since these cannot decide it", folder, asked.again)


def _revise(evaluation: Evaluation, asked: _Asked) -> NextStep:
    """A revision that is measured on the same models: without their names it would be on the teacher itself."""
    return NextStep("let the teacher revise the skill", asked.generate(evaluation.students, f"--from {asked.skill}"))


def _describe(reports: Sequence[StudentReport], folder: str, asked: _Asked) -> NextStep:
    """A revision of the description alone, measured on the models that do not load the skill, in their harness."""
    if not asked.again.has_prompts:
        what = "the skill is not loaded: let the teacher write prompts that should load it, to revise its description"
        return NextStep(what, f"upskill trigger {folder} --write{BY_HAND_INTO if asked.again.by_hand else ''}")
    harness = f"--harness {reports[0].harness.partition('/')[0]}"
    command = asked.generate(reports, f"--description-only --from {folder}", harness)
    return NextStep("let the teacher revise the description", command)


def _keep_proven(evaluation: Evaluation, folder: str, asked: _Asked) -> NextStep:
    """The gate of a build that this result passes; `cheaper` passes none, so it is measured again.

    A version that is better than an older one has not been measured against no skill yet.
    """
    verdicts = {report.verdict for report in evaluation.students}
    if any(report.compared[1] == "previous" for report in evaluation.students):
        without = ("--compare", "--accept-changed-cases")
        what = "measure the new version against no skill"
        return NextStep(what, asked.eval(evaluation, verdicts, without=without))
    if verdicts != {"helps"}:
        return NextStep("measure it again after each change", asked.eval(evaluation, verdicts))
    if any(report.claim != "new cases" for report in evaluation.students):
        return _more_cases("write more cases, to say so of new ones", folder, asked.again)
    return NextStep(
        "check it in every build", asked.eval(evaluation, verdicts, "--require helps", without=("--controls",))
    )


def _eval_of(students: Sequence[Student], asked: str) -> str:
    return f"upskill eval {asked}{_named(students, '-m', '--base-url')}"


def _named(students: Sequence[Student], model: str, base_url: str) -> str:
    models = "".join(f" {model} {quote(student.name)}" for student in students)
    addresses = {student.endpoint for student in students}
    address = addresses.pop() if len(addresses) == 1 else None
    return models + (f" {base_url} {quote(address)}" if address else "")

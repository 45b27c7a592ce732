"""An evaluation as JUnit XML: one suite per student, one test per case, so that a regression is named by its case."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from xml.etree import ElementTree

from upskill.core.nouns import Arm, Errored, Evaluation, Scored, StudentReport, Trial
from upskill.core.nouns.evaluation import ComparedSkill
from upskill.report.cases import scored_pairs
from upskill.report.result_notes import Requirement, requirements
from upskill.report.wording import arm_name, loss_lines

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_EXCERPT = 500


@dataclass(slots=True)
class _Tally:
    """What is known of one case of one student, counted as the trials go by."""

    arm: Arm
    against: Arm
    scored: dict[Arm, dict[int, bool]] = field(default_factory=dict)
    """Whether each repeat passed. A trial that was run again takes the place of the earlier one."""
    faults: list[Errored] = field(default_factory=list)
    """One of each kind. A trial that the person stopped is not among them: nothing went wrong there."""
    errored: int = 0
    seconds: float = 0.0
    first_failure: str = ""
    """What was seen in the first trial of the measured arm that failed."""

    def add(self, trial: Trial) -> None:
        self.seconds += trial.seconds or 0.0
        outcome = trial.outcome
        if isinstance(outcome, Errored):
            self.errored += 1
            if outcome.fault not in ("cancelled", *(known.fault for known in self.faults)):
                self.faults.append(outcome)
            return
        self.scored.setdefault(trial.arm, {})[trial.repeat] = outcome.passed
        if trial.arm == self.arm and not outcome.passed:
            self.first_failure = self.first_failure or _failure(trial, outcome)

    @property
    def pairs(self) -> list[tuple[bool, bool]]:
        """Whether the measured arm passed, and the arm against it, where both were scored."""
        return scored_pairs(self.scored, self.arm, self.against)


def junit_report(evaluation: Evaluation, trials: Iterable[Trial]) -> str:
    """The whole report as well-formed XML, whatever is in the texts. `trials` is gone through once."""
    return _document(_suites(evaluation, trials))


def junit_of_skills(skills: Iterable[ComparedSkill], trials_of: Callable[[Evaluation], Iterable[Trial]]) -> str:
    """The suites of several skills in one report. A skill that was not measured has a suite of one test: an error, or
    skipped where it is unchanged."""
    suites: list[ElementTree.Element] = []
    for one in skills:
        if one.evaluation is None:
            suites.append(_unmeasured(one))
        else:
            suites += _suites(one.evaluation, trials_of(one.evaluation))
    return _document(suites)


def junit_of_results(suites: Mapping[str, Iterable[tuple[str, str | None, str]]]) -> str:
    """Suites of results by their name: each a test with its name, its tag (`failure` or `error`; `None` where it
    passed) and why."""
    return _document(_of_results(name, results) for name, results in suites.items())


def _of_results(name: str, results: Iterable[tuple[str, str | None, str]]) -> ElementTree.Element:
    suite = _element("testsuite", name=name)
    for test, tag, why in results:
        case = _element("testcase", name=test, classname=name, time="0.000")
        if tag is not None:
            case.append(_element(tag, type="verdict", message=why))
        suite.append(case)
    _count(suite)
    suite.set("time", "0.000")
    return suite


def _unmeasured(one: ComparedSkill) -> ElementTree.Element:
    suite = _element("testsuite", name=one.name)
    case = _element("testcase", name="evaluation", classname=one.name, time="0.000")
    if one.state == "unchanged":
        case.append(_element("skipped", message=f"unchanged since {one.compared_with}, not measured"))
    else:
        case.append(_element("error", type=one.state, message=one.problem or one.state))
    suite.append(case)
    _count(suite)
    suite.set("time", "0.000")
    return suite


def _suites(evaluation: Evaluation, trials: Iterable[Trial]) -> list[ElementTree.Element]:
    """A suite for each student."""
    tallies: dict[str, dict[str, _Tally]] = {report.student.name: {} for report in evaluation.students}
    compared = {report.student.name: report.compared for report in evaluation.students}
    for trial in trials:
        cases = tallies.get(trial.student)
        if cases is None:
            continue
        if trial.case_id not in cases:
            arm, against = compared[trial.student]
            cases[trial.case_id] = _Tally(arm=arm, against=against)
        cases[trial.case_id].add(trial)
    known = sorted({case_id for cases in tallies.values() for case_id in cases})
    return [_suite(evaluation, report, known, tallies[report.student.name]) for report in evaluation.students]


def _document(suites: Iterable[ElementTree.Element]) -> str:
    root = ElementTree.Element("testsuites", {"name": "upskill"})
    root.extend(suites)
    for name in ("tests", "failures", "errors", "skipped"):
        root.set(name, str(sum(int(suite.get(name, 0)) for suite in root)))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _suite(
    evaluation: Evaluation, report: StudentReport, known: list[str], tallies: dict[str, _Tally]
) -> ElementTree.Element:
    skill, student = evaluation.skill, report.student
    suite = _element("testsuite", name=f"{skill.name} / {student.name}")
    _add_properties(suite, _suite_properties(evaluation, report))
    arm, against = report.compared
    compared = any(summary.arm == against for summary in report.arms)
    for case_id in known:
        tally = tallies.get(case_id) or _Tally(arm=arm, against=against)
        case = _element("testcase", name=case_id, classname=f"{skill.name}.{student.name}", time=f"{tally.seconds:.3f}")
        _add_properties(case, _case_properties(tally))
        result = _result(tally, harness=report.harness, compared=compared)
        if result is not None:
            case.append(result)
        suite.append(case)
    for required in requirements(evaluation):
        suite.append(_requirement(required, student=student.name, classname=f"{skill.name}.{student.name}"))
    _count(suite)
    suite.set("time", f"{sum(tally.seconds for tally in tallies.values()):.3f}")
    return suite


def _count(suite: ElementTree.Element) -> None:
    suite.set("tests", str(len(suite.findall("testcase"))))
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(len(suite.findall(f"testcase/{tag}"))))


def _requirement(required: Requirement, *, student: str, classname: str) -> ElementTree.Element:
    """A test of its own for what was required, which fails for the students that do not meet it."""
    case = _element("testcase", name=required.what, classname=classname, time="0.000")
    if (why := required.unmet.get(student)) is not None:
        case.append(_element("failure", type="requirement", message=f"not met: {required.what}, {why}"))
    return case


def _suite_properties(evaluation: Evaluation, report: StudentReport) -> dict[str, object]:
    """What the report says of the student; the unknown is left out."""
    properties: dict[str, object] = {
        "skill": evaluation.skill.name,
        "skill_digest": evaluation.skill.digest,
        "run": evaluation.run,
        "interrupted": "true" if evaluation.interrupted else "false",
        "model": report.student.name,
        "resolved": report.student.model,
        "harness": report.harness,
        "verdict": report.verdict,
        "sentence": report.sentence,
        "spent": report.spent,
        "sandbox": evaluation.sandbox,
    }
    properties |= {
        name.replace(" ", "_"): said for name, _, said in (line.partition(": ") for line in loss_lines(report))
    }
    if (offered := report.arm("offered")) is not None:
        properties |= {"offered": offered.trials, "loaded": offered.loaded}
    if (loads := report.loads) is not None:
        properties |= {
            "load_rate": loads.rate,
            "load_rate_interval": f"{loads.interval.low} {loads.interval.high}",
            "loaded_instead": ", ".join(f"{name} {number}" for name, number in loads.instead) or None,
        }
    for lift in report.lifts[1:]:
        properties[f"lift_{lift.arm}"] = lift.mean
    for lift in report.lifts[:1]:
        properties |= {
            "lift": lift.mean,
            "rate": lift.rate,
            "rate_against": lift.rate_against,
            "interval": f"{lift.interval.low} {lift.interval.high}",
            "about": lift.about,
            "pairs": lift.pairs,
            "dropped": lift.dropped,
        }
    return properties


def _case_properties(tally: _Tally) -> dict[str, object]:
    return {
        **{arm: f"{sum(repeats.values())}/{len(repeats)}" for arm, repeats in sorted(tally.scored.items())},
        "pairs": len(tally.pairs),
        "errored": tally.errored,
    }


def _result(tally: _Tally, *, harness: str, compared: bool) -> ElementTree.Element | None:
    """Nothing for a case in which the skill does no harm."""
    if not tally.scored and tally.faults:
        first = tally.faults[0]
        error = _element("error", type=first.fault, message=f"all {tally.errored} answers errored")
        error.text = _clean("\n".join(f"{fault.fault}: {fault.message[:_EXCERPT]}" for fault in tally.faults))
        return error
    if not tally.scored:
        return _element("skipped", message="no answer to this case was completed")
    if not compared:
        return _element("skipped", message="no answers without the skill: nothing to compare")
    pairs = tally.pairs
    if not pairs:
        return _element("skipped", message="no pair is complete: nothing to compare")
    passed, passed_against = sum(mine for mine, _ in pairs), sum(theirs for _, theirs in pairs)
    if passed >= passed_against:
        return None
    arm, against = (arm_name(name, harness) for name in (tally.arm, tally.against))
    counts = f"{arm} {passed}/{len(pairs)}, {against} {passed_against}/{len(pairs)}"
    failure = _element("failure", type="regression", message=counts)
    failure.text = _clean(tally.first_failure)
    return failure


def _failure(trial: Trial, outcome: Scored) -> str:
    saw = "; ".join(result.saw for result in outcome.grade.results if not result.passed)[:_EXCERPT]
    return f"repeat {trial.repeat}: {saw or f'ended: {outcome.end}'}\nanswer: {trial.said[:_EXCERPT]}"


def _add_properties(element: ElementTree.Element, properties: dict[str, object]) -> None:
    parent = ElementTree.SubElement(element, "properties")
    for name, value in properties.items():
        if value is not None:
            parent.append(_element("property", name=name, value=str(value)))


def _element(tag: str, /, **attributes: str) -> ElementTree.Element:
    return ElementTree.Element(tag, {name: _clean(value) for name, value in attributes.items()})


def _clean(text: str) -> str:
    """Characters that XML cannot hold, not even escaped, are written as Python would spell them."""
    return _NOT_XML.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)

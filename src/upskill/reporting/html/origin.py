"""Where every number of a page comes from: how the run was planned, what it took, and where the whole of it is."""

from upskill.domain import Evaluation, Lift, estimate_tokens, harness_info
from upskill.domain.text import count
from upskill.reporting.html.elements import definitions, escaped, table
from upskill.reporting.html.facts import RunFacts
from upskill.reporting.wording import arm_name, dollars, judge_error_words, points

_TIMES = {1: "once", 2: "twice"}


def spent(cost: float | None) -> str:
    """What was paid; a sum that nobody knows is not called one."""
    return "price unknown" if cost is None else f"{dollars(cost)} spent"


def origin(evaluation: Evaluation, facts: RunFacts, trials: int) -> str:
    """The last part of a page."""
    bought = evaluation.bought
    pairs = [
        ("Run", facts.folder),
        ("Status", facts.status),
        ("Begun", facts.started_at),
        ("Ended", facts.finished_at or "not yet"),
        ("Plan", _plan(evaluation)),
        ("Order of the trials", f"shuffled, with seed {facts.seed}"),
        ("Trials shown", f"{trials:,}"),
        ("Bought", f"{count(bought.calls, 'call')}, {count(bought.tokens, 'token')}, {spent(bought.cost)}"),
        ("Taken from earlier runs", count(bought.reused, "trial")),
        ("How students worked", _harness(facts.harness or "")),
        ("Sandbox", evaluation.sandbox or "nothing was executed"),
        ("Judge", "none" if evaluation.judge is None else evaluation.judge.model),
        ("Skill", f"~{estimate_tokens(evaluation.skill.body):,} tokens, digest {(facts.skill_digest or '')[:19]}"),
        *((f"Version of {name}", version) for name, version in facts.versions.items()),
    ]
    corrected = [
        (f"{report.student.name}, corrected for the judge's errors", said)
        for report in evaluation.students
        if (said := judge_error_words(report)) is not None
    ]
    chosen = [
        (f"{report.student.name}, corrected for having passed a threshold", _without_selection(report.lifts[0]))
        for report in evaluation.students
        if report.lifts and report.lifts[0].corrected is not None
    ]
    models = [(f"Model behind {report.student.name}", report.student.model) for report in evaluation.students]
    whole_run = definitions([*pairs, *chosen, *corrected, *models])
    settings = ""
    if facts.settings:
        settings = table(("Setting", "Value", "From"), facts.settings, caption="Settings that were not the defaults")
    return (
        '<section class="card" aria-labelledby="h-origin"><h2 id="h-origin">Where the numbers come from</h2>'
        "<p>Lift is the mean, over cases, of the pass rate with the skill minus the pass rate without it, in pairs run "
        "close together. An interval says what the true lift could be: in about 19 of 20 such runs it holds it, "
        "also when the run stopped early. An errored trial measured nothing and counts in neither arm.</p>"
        f"<details><summary>The run in full</summary>{whole_run}{settings}</details>"
        f"{_whole(facts)}</section>"
    )


def _without_selection(lift: Lift) -> str:
    shown = f"{points(lift.corrected or 0.0)} points, shown {points(lift.mean)}"
    return f"{shown}; lifts that are large enough for a verdict are too large on average"


def _plan(evaluation: Evaluation) -> str:
    ran = {arm.arm: arm_name(arm.arm, report.harness) for report in evaluation.students for arm in report.arms}
    where = (
        f" in each arm ({', '.join(ran.values())})" if len(ran) > 1 else "".join(f", {name}" for name in ran.values())
    )
    if evaluation.design == "sequential":
        rounds = count(evaluation.repeats, "round")
        return f"up to {rounds}, in each of which every case is put once{where}; stopped as soon as it knew"
    times = _TIMES.get(evaluation.repeats, f"{evaluation.repeats} times")
    return f"every case put {times}{where}"


def _harness(name: str) -> str:
    """Its name has a version in it, for whoever compares runs."""
    meaning = harness_info(name).description
    return f"{meaning} ({name})" if meaning else name


def _whole(facts: RunFacts) -> str:
    if facts.logs is None:
        return "<p>The file <code>trials.jsonl</code> in the run folder has every answer in full.</p>"
    return (
        f"<p>Every prompt and answer in full, {escaped(facts.logs_from)}: "
        f"<code>inspect view --log-dir {escaped(facts.logs)}</code> "
        "(<code>inspect</code> comes with upskill and is installed beside it).</p>"
    )

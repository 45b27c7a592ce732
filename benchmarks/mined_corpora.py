"""What `upskill mine` finds in a corpus of made sessions whose habits and decoys are known.

`python -m benchmarks.mined_corpora PATH/TO/corpus.py [TEACHER]`: the module writes the corpus into a folder and returns
its plan; `upskill mine` reads the folder, a TEACHER judges what it finds; the figures compare candidates and plan.
"""

import importlib.util
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from upskill.core.settings import Settings
from upskill.mining.candidates import Candidate
from upskill.mining.mine import MineOrder, mine
from upskill.mining.teacher import judged_by_teacher
from upskill.terminal.display import TimedProgress

FIRST_HABITS, FIRST_DECOYS = 15, 10


def main() -> None:
    plan_module = loaded(Path(sys.argv[1]))
    with tempfile.TemporaryDirectory(prefix="mined-") as folder:
        plan = plan_module.write(Path(folder))
        began = time.perf_counter()
        order = MineOrder(folder=Path(folder), workers=os.cpu_count() or 1)
        mining = mine(order, environment={"HOME": folder, "PATH": os.defpath})
        seconds = time.perf_counter() - began
        if len(sys.argv) > 2:
            told = Settings(teacher=sys.argv[2])
            taught = judged_by_teacher(mining, told, progress=TimedProgress(), confirm=lambda _: True)
            mining = taught.mining
            print(*(f"left out: {one.title} ({why})" for one, why in taught.set_aside), sep="\n")
    print(f"{len(mining.read.sessions)} sessions, {mining.read.bytes / 1e6:.1f} MB, {seconds:.1f} s")
    named = [(one, _subject(one, plan)) for one in mining.candidates]
    for number, (candidate, subject) in enumerate(named[:FIRST_HABITS], 1):
        print(f"{number:>2} {_compared(candidate, subject, plan)} | {candidate.title[:90]}")
    habits = {subject.id for _, subject in named[:FIRST_HABITS] if subject in plan.habits}
    decoys = [subject.id for _, subject in named[:FIRST_DECOYS] if subject is not None and subject in plan.decoys]
    useless = sum(subject is None for _, subject in named[:FIRST_DECOYS])
    print(f"habits among the first {FIRST_HABITS}: {len(habits)} of {len(plan.habits)}")
    print(f"   missing: {', '.join(sorted(one.id for one in plan.habits if one.id not in habits)) or 'none'}")
    print(f"decoys among the first {FIRST_DECOYS}: {len(decoys)} {decoys}")
    print(f"neither, among the first {FIRST_DECOYS}: {useless}")
    _print_places(named, plan)


def loaded(path: Path) -> Any:
    """The module of a corpus, with what its plan consists of."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _text(candidate: Candidate) -> str:
    quotes = (f"{each.moment.quote} {each.moment.outcome}" for each in candidate.quotes)
    return "\n".join((candidate.title, candidate.lesson, *quotes))


def _subject(candidate: Candidate, plan: Any) -> Any:
    """The habit or decoy that a candidate is about: recognised by its text, and seen in most of its sessions."""
    text, sessions = _text(candidate), set(candidate.sessions)
    about = [one for one in (*plan.habits, *plan.decoys) if one.recognises(text)]
    best = max(about, key=lambda one: (len(sessions & set(one.sessions)), one.id), default=None)
    return best if best is not None and 2 * len(sessions & set(best.sessions)) >= len(sessions) else None


def _compared(candidate: Candidate, subject: Any, plan: Any) -> str:
    if subject is None:
        return f"{'-':<28} {len(candidate.sessions):>3} sessions"
    kind = "habit" if subject in plan.habits else "DECOY"
    mine, true = set(candidate.sessions), set(subject.sessions)
    last = "last seen ok" if candidate.last_seen == str(subject.last_seen) else "last seen differs"
    return f"{kind} {subject.id:<22} {len(mine & true):>3} of {len(true)} sessions, {len(mine - true)} others, {last}"


def _print_places(named: list[tuple[Candidate, Any]], plan: Any) -> None:
    """Places named by candidates about habits, against the plan; a habit in two candidates counts once."""
    right = wrong = missed = exact = 0
    found: dict[str, set[str]] = {}
    for candidate, subject in named[:FIRST_HABITS]:
        if subject in plan.habits:
            found.setdefault(subject.id, set()).update(candidate.sessions)
    for subject in plan.habits:
        if subject.id in found:
            true = set(subject.sessions)
            right += len(found[subject.id] & true)
            wrong += len(found[subject.id] - true)
            missed += len(true - found[subject.id])
            exact += found[subject.id] == true
    if found:
        print(f"places: {right} right, {wrong} wrong ({right / (right + wrong):.0%} of those named), {missed} missed")
        print(f"habits with exactly the sessions of the plan: {exact} of {len(found)}")


if __name__ == "__main__":
    main()

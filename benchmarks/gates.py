"""The gate of a repository, by the real command: `eval --compare previous:… --require no-harm`, on twelve facts.

    python -m benchmarks.gates                 all of each row, an hour; writes benchmarks/results/gates.md
    python -m benchmarks.gates -n 5            fewer; writes nothing
    python -m benchmarks.gates --log FILE      keeps each evaluation, and continues after those in it

The model is a server on loopback that reads a fact of the skill in front of it with a known probability. The exit code
is 1 if a figure is beyond its limit.
"""

import argparse
import json
import random
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from multiprocessing import Pool
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from benchmarks.attacks_end_to_end import Desk
from provider import Behaviour, Provider, ReceivedRequest

PAGE = Path(__file__).parent / "results" / "gates.md"
FACTS = 12
MOST_PASSED, MOST_FALSE = 5.0, 2.0
EDITS = ("reworded", "1 broken", "2 broken", "3 broken", "5 broken")
READERS = ((0.8, False, 200), (1.0, True, 20))
"""How often a fact is read, whether the same answer comes in the same words, and how many evaluations there are: where
every answer is certain, one is as good as another."""
HEAD = """# The gate of a repository, by the real command

Written by `python -m benchmarks.gates`; do not edit. `upskill eval SKILL --compare previous:OLDER --require no-harm`,
with default settings, on a skill with {facts} facts and a case for each. The model, a server on loopback, reads a fact
with the probability in the first column and fails otherwise; it words each answer anew, or gives the same each time.
Required: with two facts or more broken at most {most}% pass; reworded skills are stopped in
at most {false}%. An unchanged skill is not asked.

| reads with | words | the new version | evaluations | passes, % | mean calls | most calls |
|---|---|---|---|---|---|---|
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Build:
    """One evaluation: what was changed, and what the command said."""

    reads: float
    same_words: bool
    edit: str
    seed: int
    code: int
    calls: int


class Reader:
    """Reads the fact that a question is about, if it is lucky."""

    def __init__(self, seed: int, *, reads: float, same_words: bool) -> None:
        self._draw = random.Random(seed)
        self._reads = reads
        self._same_words = same_words

    def __call__(self, asked: ReceivedRequest) -> Behaviour:
        number = re.findall(r"of part (\d+)", asked.prompt)[-1]
        fact = re.search(rf"Part {number} has the port (\d+)", asked.system)
        reads = fact is not None and self._draw.random() < self._reads
        words = "" if self._same_words else f" ({self._draw.randrange(10**6)})"
        return Behaviour(text=f"{fact[1] if reads and fact is not None else 'unknown'}{words}")


def build(seed: int, *, reads: float, same_words: bool, edit: str) -> Build:
    """One build, in a folder that is gone afterwards."""
    broken = int(edit.partition(" ")[0]) if edit.endswith("broken") else 0
    with (
        tempfile.TemporaryDirectory() as scratch,
        Provider(Reader(seed, reads=reads, same_words=same_words)) as provider,
    ):
        folder = Path(scratch)
        desk = Desk(folder, provider, {"UPSKILL_SEED": str(seed)})
        desk.write_cases(
            [
                {"id": f"p{n}", "input": f"Which port is that of part {n}?", "expected": {"contains": str(7000 + n)}}
                for n in range(FACTS)
            ]
        )
        desk.write_skill(_text(0))
        shutil.copytree(folder / "thing", folder / "older" / "thing")
        desk.write_skill(_text(broken, heading="# Ports of all parts" if edit == "reworded" else "# Ports"))
        words = ("eval", "thing", "-m", "any", "--base-url", provider.url, "--concurrency", "16")
        required = ("--compare", "previous:older/thing", "--require", "no-harm", "--json")
        code, _ = desk.output([*words, *required])
        calls = len(provider.requests)
    return Build(reads=reads, same_words=same_words, edit=edit, seed=seed, code=code, calls=calls)


def _text(broken: int, *, heading: str = "# Ports") -> str:
    facts = [f"Part {n} has the port {9000 + n if n < broken else 7000 + n}." for n in range(FACTS)]
    return "\n".join([heading, "", *facts])


def main() -> int:
    """Run what is not in the log yet, print, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", type=int, help="at most so many of each row")
    parser.add_argument("--log", type=Path)
    typed = parser.parse_args()
    rows = [(reads, same, edit, of) for reads, same, of in READERS for edit in EDITS]
    found: list[Build] = []
    if typed.log is not None and typed.log.exists():
        found = [Build(**json.loads(line)) for line in typed.log.read_text(encoding="utf-8").splitlines()]
    with Pool(2) as pool:
        for reads, same, edit, of in rows:
            there = {one.seed for one in found if (one.reads, one.same_words, one.edit) == (reads, same, edit)}
            todo = [seed for seed in range(min(of, typed.n or of)) if seed not in there]
            for one in pool.imap_unordered(partial(build, reads=reads, same_words=same, edit=edit), todo):
                found.append(one)
                if typed.log is not None:
                    with typed.log.open("a", encoding="utf-8") as file:
                        file.write(f"{json.dumps(asdict(one))}\n")
            print(reads, same, edit, file=sys.stderr, flush=True)
    lines, beyond = [], 0
    for reads, same, edit, _ in rows:
        mine = [one for one in found if (one.reads, one.same_words, one.edit) == (reads, same, edit)]
        line, bad = _row(mine)
        lines.append(line)
        beyond += bad
    page = HEAD.format(facts=FACTS, most=MOST_PASSED, false=MOST_FALSE) + "\n".join(lines) + "\n"
    if typed.n is None:
        PAGE.write_text(page, encoding="utf-8")
    else:
        print(page)
    return 1 if beyond else 0


def _row(builds: Sequence[Build]) -> tuple[str, bool]:
    first = builds[0]
    assert {one.code for one in builds} <= {0, 1}, "a build could not be done"
    passed = 100 * sum(one.code == 0 for one in builds) / len(builds)
    calls = [one.calls for one in builds]
    limit = passed < 100 - MOST_FALSE if first.edit == "reworded" else passed > MOST_PASSED
    bad = limit and first.edit != "1 broken"
    words = "the same" if first.same_words else "anew"
    shown = f"{passed:.1f}{' **beyond**' if bad else ''}"
    mean = sum(calls) / len(calls)
    return f"| {first.reads:g} | {words} | {first.edit} | {len(builds)} | {shown} | {mean:.0f} | {max(calls)} |", bad


if __name__ == "__main__":
    sys.exit(main())

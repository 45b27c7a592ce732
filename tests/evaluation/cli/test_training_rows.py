"""`report --export trl`: practice answers that passed become rows; held-out cases never do."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from provider import Behaviour, Provider, ReceivedRequest
from typed import Upskill

CASES = 12
KNOWN = 9
SKILL = "---\nname: codes\ndescription: Knows codes.\n---\n"


def _answer(asked: ReceivedRequest) -> Behaviour:
    number = re.findall(r"item (\d+)\?", asked.prompt)[0]
    known = f"item {number} is X{number}." in json.dumps(asked.body)
    return Behaviour(text=f"X{number}" if known else "no idea")


def _case(number: int, **more: Any) -> dict[str, Any]:
    return {"id": f"c{number}", "input": f"The code of item {number}?", "expected": {"contains": f"X{number}"}, **more}


def test_rows_are_the_request_without_the_skill_and_the_answer_with_it(upskill: Upskill, here: Path) -> None:
    (here / "codes").mkdir()
    facts = "\n".join(f"The code of item {number} is X{number}." for number in range(KNOWN))
    (here / "codes" / "SKILL.md").write_text(SKILL + facts + "\n")
    # The first two practice cases share something with a held-out one: its family, or all of what it asks.
    uses = ["held-out", "held-out", *["learn"] * (CASES - 2)]
    cases = [_case(number, use=use) for number, use in enumerate(uses)]
    cases[0]["family"] = cases[2]["family"] = "one"
    cases[3]["input"], cases[3]["expected"] = cases[1]["input"] + " ", cases[1]["expected"]
    (here / "codes" / "skill_meta.json").write_text(json.dumps({"cases": cases}))
    (here / "again.json").write_text(json.dumps({"cases": [_case(number) for number in range(CASES)]}))
    with Provider(_answer) as provider:
        model = ("-m", "any", "--base-url", provider.url)
        upskill("eval", "codes", "--practice", *model)
        done = upskill("report", "--export", "trl", "rows.jsonl")
        assert done.stdout == "5 rows in rows.jsonl; where each comes from: rows.jsonl.provenance.json\n"
        assert done.stderr == "left out, did not pass, or was cut: 3\nleft out, held-out case, or of its family: 2\n"
        before = len(provider.requests)
        upskill("eval", "codes", "-t", "again.json", "--runs", "1", "--fresh", "--yes", *model)
        bare = [one.body["messages"] for one in provider.requests[before:] if "is X" not in json.dumps(one.body)]
    rows = [json.loads(line)["messages"] for line in (here / "rows.jsonl").read_text().splitlines()]
    assert [row[2] for row in rows] == [{"role": "assistant", "content": f"X{number}"} for number in range(4, KNOWN)]
    assert all(row[:2] in bare for row in rows), "not what the model is asked without the skill"
    about = json.loads((here / "rows.jsonl.provenance.json").read_text())
    assert about["rows_sha256"] == hashlib.sha256((here / "rows.jsonl").read_bytes()).hexdigest()
    assert [row["case"] for row in about["rows"]] == ["c4", "c5", "c6", "c7", "c8"]


def test_a_run_of_held_out_cases_gives_no_rows(upskill: Upskill, here: Path) -> None:
    (here / "codes").mkdir()
    (here / "codes" / "SKILL.md").write_text(SKILL + "The code of item 1 is X1.\n")
    (here / "codes" / "skill_meta.json").write_text(json.dumps({"cases": [_case(1, use="held-out")]}))
    with Provider(_answer) as provider:
        upskill("eval", "codes", "--runs", "1", "--yes", "-m", "any", "--base-url", provider.url)
    done = upskill("report", "--export", "trl", "rows.jsonl")
    assert done.returncode == 2
    assert "nothing to write (1: held-out case, or of its family)" in done.stderr
    assert "upskill eval SKILL -m MODEL --practice" in done.stderr
    assert not (here / "rows.jsonl").exists()

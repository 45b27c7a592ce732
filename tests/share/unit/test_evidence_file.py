"""`evidence.json` may be a stranger's: whatever is wrong with it is said in one line."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from share.made_evidence import EVIDENCE
from upskill.core.skills.skills import read_skill
from upskill.errors import SkillInvalid, UsageError
from upskill.lint.folder import FolderContents
from upskill.lint.lint_skill import lint_skill
from upskill.share.card import card_text, write_evidence
from upskill.share.evidence import (
    MOST_EVIDENCE_BYTES,
    EvidenceInvalid,
    evidence_from,
    evidence_schema,
    evidence_text,
    read_evidence,
)


def changed(change: Callable[[Any], object]) -> str:
    value = json.loads(evidence_text(EVIDENCE))
    change(value)
    return json.dumps(value)


def of_result(**values: object) -> str:
    """The evidence with other values in its result: `lift__` and `report__` lead to the inner ones."""

    def change(value: Any) -> None:
        result = value["results"][0]
        for name, one in values.items():
            where, _, key = name.rpartition("__")
            inner = {"": result, "report": result["report"], "lift": result["report"]["lifts"][0]}[where]
            inner[key] = one

    return changed(change)


def test_equal_evidence_has_equal_bytes_and_reads_back() -> None:
    text = evidence_text(EVIDENCE)
    assert evidence_from(text.encode()) == EVIDENCE
    assert evidence_text(evidence_from(text.encode())) == text
    assert text.endswith("}\n")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "it is not JSON"),
        ("[]", "object"),
        ("[" * 100_000, "nested"),
        (changed(lambda value: value.update(more=1)), "more: Unexpected keyword argument"),
        (of_result(run="/home"), "results.0.run: Unexpected keyword argument"),
        (changed(lambda value: value.update(format="upskill.evidence/2")), "format: Input should be"),
        (of_result(lift__more=1), "results.0.report.lifts.0.more: Unexpected keyword argument"),
        (of_result(lift__mean="0.5"), "results.0.report.lifts.0.mean: Input should be"),
        (of_result(lift__pairs=1.5), "results.0.report.lifts.0.pairs: Input should be"),
        (of_result(report__verdict="great"), "results.0.report.verdict: Input should be"),
        (changed(lambda value: value.update(left_out=True)), "left_out: Input should be"),
        (evidence_text(EVIDENCE).replace("0.75", "NaN"), "NaN is not JSON"),
        (evidence_text(EVIDENCE).replace("0.75", "1e999"), "too large"),
        (evidence_text(EVIDENCE).replace('"pairs": 12', '"pairs": 12, "pairs": 13'), "`pairs` appears twice"),
        (of_result(lift__rate=0.95), "not the difference of its pass rates"),
        (of_result(lift__interval={"low": -0.1, "high": 0.8}), "includes 0"),
        (of_result(lift__rate=1.75, lift__mean=1.5), "rate: not between 0 and 1"),
        (of_result(lift__interval={"low": 0.8, "high": 0.2}), "interval: not an interval"),
        (of_result(lift__interval={"low": 0.6, "high": 0.8}), "outside its interval"),
        (of_result(lift__units=13), "units: not those of its cases"),
        (of_result(lift__better=12, lift__worse=1), "units: not those of its cases"),
        (of_result(lift__about="all cases"), "results.0.report.lifts.0.about: Input should be"),
        (of_result(report__lifts=[]), "helps without a lift"),
        (of_result(lift__arm="offered"), "not of the arms that were compared"),
        (of_result(report__verdict=None), "nothing was compared with the skill"),
        (of_result(lift__pairs=-1), "pairs: not a number of something"),
        (of_result(cases=["c1"]), "cases: not 1 to"),
        (changed(lambda value: value["results"][0]["cases"].reverse()), "cases: not sorted"),
        (
            changed(lambda value: value["results"][0]["report"]["student"].update(name="a\nb")),
            "name: not a short text on one line",
        ),
        (of_result(report__sentence="x" * 401), "sentence: not a short text"),
        (of_result(finished_at="today"), "finished_at: not a time"),
        (of_result(against="../old"), "against: neither"),
        (changed(lambda value: value.update(results=value["results"] * 201)), "results: more than 200"),
        (changed(lambda value: value.update(date="2027-01-01")), "date: not that of the newest result"),
        (changed(lambda value: value["skill"]["files"][0].update(path="../x")), "a path that leaves the skill"),
        (changed(lambda value: value["skill"]["files"][0].update(sha256="b" * 64)), "not the digest of the files"),
        (changed(lambda value: value["skill"].update(name="../evil")), "skill.name: not the name of a skill"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "evidence.json").write_text(text)
    with pytest.raises(EvidenceInvalid) as raised:
        read_evidence(tmp_path)
    assert problem in raised.value.message
    assert raised.value.message.isprintable()
    assert raised.value.problems == ()
    assert raised.value.exit_code == 1


JUNK: tuple[Any, ...] = (None, True, -1, 10**30, 1e300, 0.3, "", "x\n\x1b[31m", "y" * 500, [], ["a", "b"], {}, {"a": 1})


def places(value: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value inside a JSON value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inside:
        yield (*before, key)
        yield from places(one, (*before, key))


def test_whatever_stands_in_any_place_is_refused_or_harmless() -> None:
    """Every value of the file in turn is replaced by junk: it is refused in one line, or a card can be made of it."""
    whole = json.loads(evidence_text(EVIDENCE))
    accepted = 0
    for way in places(whole):
        for junk in JUNK:
            value = json.loads(evidence_text(EVIDENCE))
            inner = value
            for key in way[:-1]:
                inner = inner[key]
            inner[way[-1]] = junk
            try:
                found = evidence_from(json.dumps(value).encode())
            except ValueError:
                continue
            accepted += 1
            card = card_text(found)
            assert all(line.isprintable() for line in card.splitlines()), (way, junk)
            assert evidence_from(evidence_text(found).encode()) == found
    assert 0 < accepted < 150


def test_a_file_that_is_too_large_a_link_and_a_pipe_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "evidence.json"
    path.write_bytes(b" " * (MOST_EVIDENCE_BYTES + 1))
    with pytest.raises(EvidenceInvalid, match="larger than 5 MB"):
        read_evidence(tmp_path)
    path.unlink()
    path.symlink_to("/etc/hostname")
    with pytest.raises(EvidenceInvalid, match="it is a link"):
        read_evidence(tmp_path)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(EvidenceInvalid, match="not an ordinary file"):
        read_evidence(tmp_path)


def test_no_file_is_no_evidence(tmp_path: Path) -> None:
    assert read_evidence(tmp_path) is None


def test_files_that_upskill_did_not_write_are_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "evidence.md").write_text("My own evidence.\n")
    with pytest.raises(UsageError, match=r"evidence\.md: upskill did not write this file"):
        write_evidence(tmp_path, EVIDENCE)
    (tmp_path / "evidence.md").unlink()
    (tmp_path / "evidence.json").write_text('{"mine": 1}')
    with pytest.raises(UsageError, match=r"evidence\.json: upskill did not write this file"):
        write_evidence(tmp_path, EVIDENCE)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["evidence.json"]
    assert (tmp_path / "evidence.json").read_text() == '{"mine": 1}'


def test_both_files_are_written_and_a_dry_run_writes_none(tmp_path: Path) -> None:
    paths = write_evidence(tmp_path, EVIDENCE, dry_run=True)
    assert not any(path.exists() for path in paths)
    for _ in range(2):  # what upskill wrote it writes again
        assert write_evidence(tmp_path, EVIDENCE) == paths
    assert [path.read_text() for path in paths] == [evidence_text(EVIDENCE), card_text(EVIDENCE)]


def test_the_schema_accepts_what_is_written_and_refuses_unknown_keys() -> None:
    validator = jsonschema.Draft202012Validator(evidence_schema())
    validator.check_schema(evidence_schema())
    validator.validate(json.loads(evidence_text(EVIDENCE)))
    assert not validator.is_valid(json.loads(of_result(report__prompt="?")))


@pytest.mark.parametrize("name", ["evidence.json", "Evidence.MD", "evidence.json.sigstore.json"])
def test_no_model_sees_evidence_and_it_does_not_change_the_digest(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "port"
    folder.mkdir()
    (folder / "SKILL.md").write_text("---\nname: port\ndescription: Knows it.\n---\nThe port is 7413.\n")
    (folder / "evidence.json").write_text(evidence_text(EVIDENCE))
    before = read_skill(folder)
    assert before.notes == ()
    if name != "evidence.json":
        (folder / name).write_text("{}")
    assert read_skill(folder) == before
    (folder / "references").mkdir()
    (folder / "references" / name).write_text("{}")
    assert [file.path for file in read_skill(folder).files] == ["SKILL.md", f"references/{name}"]
    (folder / "link").symlink_to(name)
    with pytest.raises(SkillInvalid) as raised:
        read_skill(folder)
    assert raised.value.problems == ("link: a link to the evidence, which models must not see",)


@pytest.mark.parametrize("name", ["evidence.json", "evidence.md"])
def test_a_file_of_the_skill_that_is_named_like_evidence_is_noted(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "port"
    folder.mkdir()
    (folder / "SKILL.md").write_text("---\nname: port\ndescription: Knows it.\n---\nThe port is 7413.\n")
    (folder / name).write_text("{}")
    assert read_skill(folder).notes == (f"{name} is not given to models; rename it if it belongs to the skill",)


def test_evidence_that_upskill_wrote_has_no_findings() -> None:
    written = {"evidence.md": card_text(EVIDENCE).encode(), "evidence.json": evidence_text(EVIDENCE).encode()}
    text = b"---\nname: port\ndescription: Knows the port. Use when it is asked for.\n---\nThe port is 7413.\n"
    contents = FolderContents(name="port", files={"SKILL.md": text}, digests={}, private=written)
    assert lint_skill(contents) == ()

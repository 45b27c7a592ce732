"""`trials.jsonl`: one line per trial, byte for byte; what a kill, a full disk or a stranger's editor leaves behind."""

import errno
import json
import os
import resource
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from upskill.core.nouns import Errored, Grade, Scored, SkillUse, Trial
from upskill.core.nouns.answer import ToolCall, Trajectory
from upskill.core.runs.trial_log import NotText, TrialLog, TrialWriter, UnreadableTrial, trial_from_json, trial_json
from upskill.errors import EngineError

from .trials import TRIAL

SCORED = replace(TRIAL, arm="with_skill", answer="It is 9.0.\nReally.\u2028")
ERRORED = Trial(
    id="t2", student="haiku", case_id="c1", arm="baseline", repeat=1, outcome=Errored(fault="rate limit", message="429")
)


def write(path: Path, *trials: Trial) -> None:
    with TrialLog(path).open() as log:
        for trial in trials:
            log.append(trial)


def append_many(log: TrialWriter) -> None:
    for _ in range(10_000):
        log.append(SCORED)


def test_trials_come_back_equal_in_the_order_they_finished(tmp_path: Path) -> None:
    write(tmp_path / "t.jsonl", SCORED, ERRORED, SCORED)
    assert list(TrialLog(tmp_path / "t.jsonl").read()) == [SCORED, ERRORED, SCORED]


def test_each_trial_is_one_line_of_json_without_unknowns(tmp_path: Path) -> None:
    write(tmp_path / "t.jsonl", SCORED, ERRORED)
    lines = (tmp_path / "t.jsonl").read_bytes().splitlines(keepends=False)
    assert [json.loads(line)["outcome"]["kind"] for line in lines] == ["scored", "errored"]
    assert b"null" not in lines[1]


def test_lost_and_refused_requests_come_back_and_are_none_in_an_older_log(tmp_path: Path) -> None:
    write(tmp_path / "t.jsonl", replace(SCORED, lost=3, refused=2))
    (trial,) = TrialLog(tmp_path / "t.jsonl").read()
    assert (trial.lost, trial.refused) == (3, 2)
    line = json.loads((tmp_path / "t.jsonl").read_text())
    del line["lost"], line["refused"]
    (tmp_path / "t.jsonl").write_text(json.dumps(line) + "\n")
    (older,) = TrialLog(tmp_path / "t.jsonl").read()
    assert (older.lost, older.refused) == (0, 0)


def test_what_a_model_did_comes_back_and_is_unknown_in_an_older_log(tmp_path: Path) -> None:
    call = ToolCall(
        turn=2, tool="Bash", kind="shell", arguments='ls "x"\n"files":{', folder="/w", failed=True, cut=True
    )
    trial = replace(TRIAL, trajectory=Trajectory(calls=(call, ToolCall(turn=3, tool="own", subagent=True)), left_out=4))
    other = replace(TRIAL, trajectory=Trajectory())
    write(tmp_path / "trials.jsonl", trial, other, TRIAL)
    assert list(TrialLog(tmp_path / "trials.jsonl").read()) == [trial, other, TRIAL]
    assert [one.trajectory for one in TrialLog(tmp_path / "trials.jsonl").load()] == [None] * 3, "it takes memory"
    assert b"trajectory" not in trial_json(TRIAL)
    digests = [replace(one, answer="7413").answer_digest for one in (trial, other, TRIAL)]
    assert digests[0] != digests[1] == digests[2]
    assert "Bash" not in str(trial.cleaned(lambda text: text.replace("Bash", "[redacted]")))
    assert trial.full_answer.trajectory == trial.trajectory
    assert trial.full_answer.turns is None, "it is not recorded there"


def test_zero_is_kept_and_unknown_stays_unknown(tmp_path: Path) -> None:
    write(tmp_path / "t.jsonl", SCORED, ERRORED)
    first, second = TrialLog(tmp_path / "t.jsonl").read()
    assert (first.usage.output_tokens, first.usage.cost) == (0, 0.0)
    assert (second.usage.output_tokens, second.usage.cost, second.seconds) == (None, None, None)


@given(answer=st.text(), message=st.text(st.characters(exclude_categories=["Cs"])))
def test_any_answer_is_one_line_and_comes_back(
    tmp_path_factory: pytest.TempPathFactory, answer: str, message: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    path.unlink(missing_ok=True)
    write(path, replace(SCORED, answer=answer), replace(ERRORED, outcome=Errored(fault="crash", message=message)))
    first, second = TrialLog(path).read()
    assert first.answer == answer.encode("utf-8", "replace").decode("utf-8")
    assert second.outcome == Errored(fault="crash", message=message)


def test_half_a_character_in_an_answer_does_not_stop_the_run(tmp_path: Path) -> None:
    write(tmp_path / "t.jsonl", replace(SCORED, answer="half \ud83d of it"), ERRORED)
    assert [trial.answer for trial in TrialLog(tmp_path / "t.jsonl").read()] == ["half ? of it", ""]


def test_a_log_that_is_not_there_holds_no_trials(tmp_path: Path) -> None:
    assert list(TrialLog(tmp_path / "missing.jsonl").read()) == []


def test_an_unterminated_last_line_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    write(path, SCORED, ERRORED)
    whole = path.read_bytes()
    last = len(whole.splitlines(keepends=True)[-1])
    for cut in (1, 10, last - 1):
        path.write_bytes(whole[:-cut])
        assert list(TrialLog(path).read()) == [SCORED]


def test_what_a_kill_left_of_a_line_does_not_swallow_the_next(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    for left in (b'{"id": "t', b"x" * 200_000):
        write(path, SCORED)
        with path.open("ab") as file:
            file.write(left)
        write(path, ERRORED)
        assert list(TrialLog(path).read()) == [SCORED, ERRORED]
        path.unlink()


def test_a_log_that_is_nothing_but_half_a_line_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"half")
    write(path, SCORED)
    assert list(TrialLog(path).read()) == [SCORED]


@pytest.mark.parametrize("damage", [b"{}\n", b"\n", b"not json\n", b"\xff\n", b"[" * 10_000 + b"\n", b'{"id": "\n'])
def test_damage_in_the_middle_raises_and_names_the_line(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "t.jsonl"
    write(path, SCORED, ERRORED)
    first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + damage + second)
    trials = TrialLog(path).read()
    assert next(trials) == SCORED
    with pytest.raises(EngineError, match=r"line 2 is damaged") as caught:
        next(trials)
    assert caught.value.hint is not None


def test_appending_goes_on_where_it_stopped(tmp_path: Path) -> None:
    write(tmp_path / "t.jsonl", SCORED)
    write(tmp_path / "t.jsonl", ERRORED)
    assert list(TrialLog(tmp_path / "t.jsonl").read()) == [SCORED, ERRORED]


def test_closing_twice_is_harmless_and_appending_afterwards_is_refused(tmp_path: Path) -> None:
    log = TrialWriter(tmp_path / "t.jsonl")
    log.close()
    log.close()
    with pytest.raises(EngineError, match="was closed"):
        log.append(SCORED)


def test_a_place_that_cannot_be_opened_is_explained(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="cannot be opened"):
        TrialLog(tmp_path / "missing" / "t.jsonl").open()
    with pytest.raises(EngineError, match="cannot be read"):
        list(TrialLog(tmp_path).read())


@contextmanager
def small_files() -> Iterator[None]:
    """No file of this process may be larger than ten bytes. No fixture: pytest's own log must not meet the limit."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)


def test_a_full_disk_is_explained(tmp_path: Path) -> None:
    log_file = TrialLog(tmp_path / "t.jsonl")
    with log_file.open() as log, pytest.raises(EngineError, match="disk is full") as caught, small_files():
        log.append(SCORED)
    assert (tmp_path / "t.jsonl").read_bytes() == b"", "the part that was written is taken back"
    assert caught.value.hint == "free some space; all finished answers are saved"


def test_a_disk_that_stops_taking_what_was_written_is_told(tmp_path: Path) -> None:
    def broken(file: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    log = TrialWriter(tmp_path / "t.jsonl", sync=broken)
    log.append(SCORED)
    with pytest.raises(EngineError, match="cannot be written to disk"):
        log.close()


def test_a_disk_that_broke_is_told_at_the_next_trial(tmp_path: Path) -> None:
    asked = threading.Event()

    def broken(file: int) -> None:
        asked.set()
        raise OSError(errno.EIO, "Input/output error")

    log = TrialWriter(tmp_path / "t.jsonl", sync=broken)
    log.append(SCORED)
    assert asked.wait(timeout=10)
    with pytest.raises(EngineError, match="Input/output error"):
        append_many(log)
    with pytest.raises(EngineError):
        log.close()


def test_everything_written_before_closing_is_synced(tmp_path: Path) -> None:
    sizes: list[int] = []

    def slow(file: int) -> None:
        sizes.append(os.fstat(file).st_size)
        time.sleep(0.01)

    log = TrialWriter(tmp_path / "t.jsonl", sync=slow)
    for _ in range(20):
        log.append(SCORED)
        time.sleep(0.001)
    log.close()
    assert sizes[-1] == (tmp_path / "t.jsonl").stat().st_size


TRIAL = Trial(
    id="a" * 64,
    student="s",
    case_id="c",
    arm="offered",
    repeat=1,
    outcome=Scored(end="answered", grade=Grade(results=())),
)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@given(
    files=st.dictionaries(TEXT, st.one_of(st.binary(max_size=60), TEXT.map(str.encode)), max_size=5),
    answer=st.one_of(TEXT, st.sampled_from(['"files":{', '{"files":{"a":"b"}}', ',"files":{}'])),
)
def test_files_of_any_kind_come_back_byte_for_byte(files: dict[str, bytes], answer: str) -> None:
    use = SkillUse(listed=True, loaded=True, files=("SKILL.md",))
    trial = replace(TRIAL, files=files, answer=answer, skill_use=use, turns=3)
    line = trial_json(trial)
    assert b"\n" not in line
    assert trial_from_json(line) == trial


def test_text_stands_as_text_and_anything_else_as_base64() -> None:
    value = json.loads(trial_json(replace(TRIAL, files={"a.txt": b"hi\n", "b.bin": b"\xff"})))
    assert value["files"] == {"a.txt": "hi\n", "b.bin": {"base64": "/w=="}}


def test_a_trial_without_files_says_nothing_of_files() -> None:
    assert b"files" not in trial_json(TRIAL)


def test_a_name_that_is_no_text_is_kept_as_well() -> None:
    trial = replace(TRIAL, files={"odd-\udcff": b"x"})
    assert trial_from_json(trial_json(trial)) == trial


def test_half_a_character_in_an_answer_is_refused_or_lost_as_asked() -> None:
    trial = replace(TRIAL, answer="half \ud83d", files={"a": b"x"})
    with pytest.raises(NotText):
        trial_json(trial)
    assert trial_from_json(trial_json(trial, lossy=True)) == replace(trial, answer="half ?")


@pytest.mark.parametrize(
    "files", ['{"a": 1}', '{"a": {"base64": "%%%"}}', '{"a": {"base64": 3}}', '{"a": ["x"]}', '{"a": null}']
)
def test_damaged_files_are_a_damaged_line(files: str) -> None:
    line = trial_json(replace(TRIAL, files={"a": b"x"})).replace(b'{"a":"x"}', files.encode())
    with pytest.raises(UnreadableTrial):
        trial_from_json(line)


@pytest.mark.parametrize("line", [b"", b"{", b"[]", b'{"files":{', b'{"files":{}}', b"null"])
def test_what_is_no_trial_is_said_to_be_none(line: bytes) -> None:
    with pytest.raises(UnreadableTrial):
        trial_from_json(line)


@pytest.mark.parametrize(
    "spent", ['"calls":-1', '"usage":{"cost":-5.0}', '"usage":{"cost":NaN}', '"usage":{"input_tokens":-9}']
)
def test_a_trial_that_would_give_money_back_is_refused(spent: str) -> None:
    line = trial_json(ERRORED)
    with pytest.raises(UnreadableTrial):
        trial_from_json(line[:-1] + f",{spent}".encode() + b"}")

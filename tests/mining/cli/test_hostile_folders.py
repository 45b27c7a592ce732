"""`mine`, and `generate` from what was mined, in folders of strangers: what lies elsewhere is not read, nor removed."""

import json
from pathlib import Path

import pytest

from mining.cli.test_mine_command import make_sessions
from mining.made_sessions import ordinary, ran, write_session
from provider import Behaviour, Provider
from typed import Upskill

DIARY = "Dear diary, the heron saw everything."
TASK = "Say what the heron saw."


@pytest.fixture
def sessions(here: Path) -> Path:
    make_sessions(here / "sessions")
    return here / "sessions"


def _foreign_list(here: Path, **names: object) -> None:
    """A list as a stranger would send it, with a diary of the person outside its folder."""
    diary = here.parent / "diary"
    diary.mkdir()
    for name in ("2024.md", ".env"):
        (diary / name).write_text(f"# Diary\n\n{DIARY}\n")
    mined = here / "mined"
    mined.mkdir()
    (mined / "1.md").write_text("# Berths\n\n- Ask the plover for the port.\n")
    candidate: dict[str, object] = {"number": 1, "task": TASK, "document": "1.md", "practice": [], "later": []}
    candidate |= {"claim_possible": True, **names}
    (mined / "mined.json").write_text(json.dumps({"format": "upskill.mined/1", "candidates": [candidate]}))


def _sent(upskill: Upskill) -> tuple[str, str]:
    """What a teacher was sent, and what the person was told."""
    with Provider(lambda _: Behaviour(status=400)) as provider:
        done = upskill("generate", "--from", "mined:1", "-m", "any", "--base-url", provider.url, "--yes")
    assert done.returncode != 0
    return "".join(json.dumps(one.body) for one in provider.requests), done.stderr


def test_a_list_of_a_stranger_names_no_file_elsewhere_and_its_task_is_announced(upskill: Upskill, here: Path) -> None:
    diary = here.parent / "diary" / "2024.md"
    hidden = here.parent / "diary" / ".env"
    later = [{"document": "1.md", "recording": str(diary)}] * 9
    _foreign_list(here, practice=[str(diary), str(hidden), "../diary/2024.md"], later=later)
    sent, told = _sent(upskill)
    assert "Ask the plover" in sent
    assert "heron saw everything" not in sent
    assert "mined.json: was not written there by you, so only 1.md is read" in told
    assert f"its task: {TASK}" in told


@pytest.mark.parametrize("document", ["../diary/2024.md", ".env", "2.md", "link.md", "3.md"])
def test_a_document_elsewhere_or_behind_a_link_is_refused(upskill: Upskill, here: Path, document: str) -> None:
    _foreign_list(here, document=document)
    (here / "mined" / ".env").write_text(DIARY)
    for name in ("2.md", "link.md"):
        (here / "mined" / name).symlink_to(here.parent / "diary" / "2024.md")
    sent, told = _sent(upskill)
    assert sent == ""
    assert f"names {document}, which is no document beside it" in told


def test_a_list_that_was_moved_or_changed_is_no_longer_ones_own(upskill: Upskill, here: Path, sessions: Path) -> None:
    assert upskill("mine", "sessions").returncode == 0
    own = upskill("generate", "--from", "mined:1", "--dry-run")
    assert "was not written there" not in own.stdout + own.stderr
    (here / "mined").rename(here / "moved")
    moved = upskill("generate", "--from", "moved:1", "--dry-run")
    assert "moved/mined.json: was not written there by you" in moved.stdout + moved.stderr


@pytest.mark.parametrize("at", ["file", "folder"])
def test_a_link_in_place_of_a_mined_recording_is_not_read(
    upskill: Upskill, here: Path, sessions: Path, at: str
) -> None:
    assert upskill("mine", "sessions").returncode == 0
    (candidate, *_) = json.loads((here / "mined" / "mined.json").read_text())["candidates"]
    recordings = [Path(one) for one in candidate["practice"]]
    recordings += [Path(one["recording"]) for one in candidate["later"] if one["recording"]]
    diary = here.parent / "diary"
    diary.mkdir()
    for one in recordings:
        (diary / one.name).write_text(f"# Diary\n\n{DIARY}\n")
        one.unlink()
        if at == "file":
            one.symlink_to(diary / one.name)
    if at == "folder":
        for folder in {one.parent for one in recordings}:
            folder.rename(here.parent / f"{folder.name}-before")
            folder.symlink_to(diary)
    sent, _ = _sent(upskill)
    assert sent
    assert "heron saw everything" not in sent
    (run,) = (here / "runs").glob("*generate*")
    assert not any("heron saw" in path.read_text(errors="replace") for path in run.rglob("*") if path.is_file())


def test_files_that_mine_did_not_write_are_not_removed(upskill: Upskill, here: Path, sessions: Path) -> None:
    diary = here / "diary"
    diary.mkdir()
    (diary / "2024.md").write_text(DIARY)
    (here / "mined").symlink_to("diary")
    for words in ((), ("-o", "diary")):
        done = upskill("mine", "sessions", *words)
        assert done.returncode == 2
        assert "holds other files, 2024.md for one" in done.stderr
    named = {"number": 1, "task": "x", "document": "2024.md", "practice": [], "later": [], "claim_possible": True}
    (diary / "mined.json").write_text(json.dumps({"format": "upskill.mined/1", "candidates": [named]}))
    assert upskill("mine", "sessions", "-o", "diary").returncode == 2
    assert (diary / "2024.md").read_text() == DIARY
    (here / "empty").mkdir()
    (here / "linked").symlink_to("empty")
    assert "linked: is a link" in upskill("mine", "sessions", "-o", "linked").stderr
    assert [*(here / "empty").iterdir()] == []


def test_mine_replaces_what_it_wrote_and_nothing_through_a_link(upskill: Upskill, here: Path, sessions: Path) -> None:
    assert upskill("mine", "sessions").returncode == 0
    before = {path.name for path in (here / "mined").iterdir()}
    for path in sorted(sessions.rglob("*.jsonl"))[-12:]:
        path.unlink()
    assert upskill("mine", "sessions").returncode == 0
    assert {path.name for path in (here / "mined").iterdir()} < before
    (here / "own.md").write_text(DIARY)
    (here / "mined" / "1.md").unlink()
    (here / "mined" / "1.md").symlink_to(here / "own.md")
    done = upskill("mine", "sessions")
    assert done.returncode == 2
    assert "holds other files, 1.md for one" in done.stderr
    assert (here / "own.md").read_text() == DIARY


def test_instructions_are_read_in_no_folder_that_a_strangers_session_names(upskill: Upskill, here: Path) -> None:
    told = "# Rules\n\n- Dependencies are added with `uv add`, never with `pip install`.\n"
    elsewhere, below = here.parent / "private", here / "app"
    for folder in (elsewhere, below):
        folder.mkdir()
        (folder / "AGENTS.md").write_text(told)
    covered = []
    for folder in (elsewhere, below):
        for number in range(20):
            work = ["A report.", ran("pip install rich"), "No pip, we use uv add.", ran("uv add rich")]
            turns = [*ordinary(number), *(work if number < 12 else ())]
            path = write_session(here / f"of-{folder.name}", number, turns)
            path.write_text(path.read_text().replace('"/srv/app"', json.dumps(str(folder))))
        done = upskill("mine", f"of-{folder.name}", "--json", "-o", f"out-{folder.name}")
        covered.append([one["covered_by"] for one in json.loads(done.stdout)["covered"]])
    assert covered == [[], ["app/AGENTS.md:3"]]

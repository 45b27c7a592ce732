"""Run folders of a stranger, at the installed command: what a record asks for is never done unless it is trusted."""

import json
import os
import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import made_teacher
from everything import everything_below
from forking import Done, Forker
from provider import Behaviour, Provider
from typed import Upskill
from upskill.core.runs.own_runs import run_digest

Change = Callable[[dict[str, Any]], None]


@pytest.fixture(scope="module")
def evaluated(forker: Forker, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a skill, a script, and a finished run whose check runs a program."""
    place = tmp_path_factory.mktemp("theirs")
    skill = place / "skills" / "tarn"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: tarn\ndescription: Ports.\n---\nThe port is 7413.\n")
    checks = [{"contains": "7413"}, {"command": "touch ran-here"}]
    cases = [{"id": f"port-{n}", "input": f"Which port, {n}?", "checks": checks} for n in range(2)]
    (skill / "skill_meta.json").write_text(json.dumps({"cases": cases}))
    rules = [{"arm": "with_skill", "replies": ["It is 7413."]}, {"replies": ["No idea."]}]
    (place / "student.yaml").write_text(yaml.safe_dump({"rules": rules}))
    done = forker.run("eval", "skills/tarn", "-m", "scripted/student.yaml", "--runs", "1", "--fresh", cwd=place)
    assert done.returncode == 0, done.stderr
    return place


@pytest.fixture
def run(evaluated: Path, here: Path) -> Path:
    """The same in the folder where commands are typed: a copy that may be changed."""
    shutil.copytree(evaluated, here, dirs_exist_ok=True)
    (folder,) = (path for path in (here / "runs").iterdir() if path.is_dir())
    return folder


def forge(run: Path, change: Change, name: str = "run.json") -> None:
    record = json.loads((run / name).read_text())
    change(record)
    (run / name).write_text(json.dumps(record))


def unconfined(record: dict[str, Any]) -> None:
    record["sandbox"] = {"backend": "none"}


def refused(done: Done, *said: str) -> None:
    """A refusal says how to trust the run, and holds no command that could be copied out of it."""
    assert done.returncode == 2, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    for words in (*said, "is not known as a run of yours", "`upskill trust "):
        assert words in done.stderr
    assert "--resume" not in done.stderr
    assert "--sandbox none" not in done.stderr


def trusting(run: Path) -> dict[str, str]:
    """The variable of somebody who read what a run asks for, and trusts it as it is now."""
    return {"UPSKILL_TRUST": run_digest(run)}


@pytest.mark.parametrize("command", [("regrade",), ("eval", "--resume")])
def test_a_record_does_not_switch_the_sandbox_off(command: tuple[str, ...], upskill: Upskill, run: Path) -> None:
    forge(run, unconfined)
    (run / "trials.jsonl").write_text(_without(run, "port-1"))
    before = everything_below(run.parent.parent)
    refused(upskill(*command, str(run)), "(--sandbox)")
    assert everything_below(run.parent.parent) == before, "nothing ran and nothing was written"
    again = upskill(*command, str(run), **trusting(run))
    assert again.returncode == 0, again.stderr
    assert "NOTHING WAS CONFINED" in again.stdout


def _without(run: Path, case: str) -> str:
    lines = (run / "trials.jsonl").read_text().splitlines(keepends=True)
    return "".join(line for line in lines if json.loads(line)["case_id"] != case)


def test_what_was_confined_does_not_go_on_unconfined(upskill: Upskill, run: Path) -> None:
    done = upskill("eval", "--resume", str(run), "--sandbox", "none", **trusting(run))
    assert done.returncode == 2
    assert "is confined" in done.stderr
    noted = upskill("regrade", str(run), "--sandbox", "none")
    assert noted.returncode == 0, noted.stderr
    assert "NOTHING WAS CONFINED" in noted.stdout


def test_an_own_run_goes_on_with_its_server_and_a_moved_or_changed_one_does_not(
    upskill: Upskill, run: Path, here: Path
) -> None:
    with Provider(lambda asked: Behaviour(text="7413" if asked.has_skill else "no")) as server:
        words = ("eval", "skills/tarn", "-m", "any", "--base-url", server.url, "--max-calls", "1", "--fresh")
        first = upskill(*words, "--concurrency", "1", "--runs", "1")
        assert first.returncode == 3, first.stderr
        asked = len(server.requests)
        (newest, *_) = sorted(
            (path for path in (here / "runs").iterdir() if path.is_dir() and path != run), reverse=True
        )
        copy = Path(shutil.copytree(newest, here / "runs" / "sent"))
        refused(upskill("eval", "--resume", "runs/sent"), "its settings are not those of today: models, base_url")
        kept = (newest / "run.json").read_text()
        forge(newest, lambda record: record["settings"]["base_url"].update(value="http://127.0.0.1:9/v1"))
        refused(upskill("eval", "--resume", f"runs/{newest.name}"), "somebody else started it, or it was moved")
        assert len(server.requests) == asked, "not even a probe"
        (newest / "run.json").write_text(kept)
        other = upskill("eval", "--resume", f"runs/{newest.name}", "--base-url", "http://127.0.0.1:9/v1")
        assert f"was started with {server.url}, not with" in other.stderr
        assert "\nstopped at the cap of 1 call\n" in first.stdout
        printed = re.search(r"^next, .*: upskill (eval --resume .+)$", first.stderr, re.MULTILINE)
        assert printed is not None, first.stderr
        assert upskill(*shlex.split(printed[1])).returncode in (0, 3)
        assert len(server.requests) > asked
        asked = len(server.requests)
        assert upskill("eval", "--resume", f"runs/{newest.name}").returncode in (0, 3), "without any option"
        assert len(server.requests) > asked
        asked = len(server.requests)
        typed = upskill("eval", "skills/tarn", "--resume", "runs/sent", "-m", "any", "--base-url", server.url)
        assert typed.returncode in (0, 3), typed.stderr
        assert len(server.requests) > asked, "all that it asks for was typed again"
        refused(upskill("eval", "--resume", "runs/sent"))
        assert upskill("eval", "--resume", "runs/sent", **trusting(copy)).returncode in (0, 3)


def test_a_run_is_resumed_without_a_folder_of_ones_own_where_it_is_typed_or_trusted(
    upskill: Upskill, run: Path, here: Path
) -> None:
    (here / "none").write_text("")
    nowhere = {"XDG_CONFIG_HOME": str(here / "none")}
    words = ("eval", "skills/tarn", "-m", "scripted/student.yaml")
    done = upskill(*words, "--runs", "1", "--fresh", **nowhere)
    assert done.returncode == 0, done.stderr
    (newest,) = (path for path in (here / "runs").iterdir() if path.is_dir() and path != run)
    (newest / "trials.jsonl").write_text(_without(newest, "port-1"))
    refused(upskill("eval", "--resume", str(newest), **nowhere), "there is no key of yours")
    assert upskill(*words, "--resume", str(newest), **nowhere).returncode == 0
    assert upskill("eval", "--resume", str(newest), **nowhere, **trusting(newest)).returncode == 0


def test_a_run_is_trusted_only_by_somebody_who_reads_what_it_asks_for(upskill: Upskill, run: Path) -> None:
    done = upskill("trust", str(run))
    assert done.returncode == 3, done.stdout
    assert "skill_source = " in done.stdout
    assert f"export UPSKILL_TRUST={run_digest(run)}" in done.stderr


def test_a_cap_of_a_record_is_not_raised_above_that_of_today(upskill: Upskill, run: Path) -> None:
    (run / "trials.jsonl").write_text("")

    def more(record: dict[str, Any]) -> None:
        record["settings"]["max_calls"] = {"value": 1_000_000, "origin": "--max-calls"}
        record["settings"]["concurrency"]["value"] = 1

    forge(run, more)
    words = ("eval", "skills/tarn", "-m", "scripted/student.yaml", "--resume", str(run), "--concurrency", "1", "--json")
    done = upskill(*words, UPSKILL_MAX_CALLS="2")
    result = json.loads(done.stdout)
    assert result["bought"]["calls"] == 2
    typed = json.loads(upskill(*words, "--max-calls", "9", UPSKILL_MAX_CALLS="2").stdout)
    assert typed["bought"]["calls"] == 4, "all that was missing: a typed cap holds"
    assert typed["students"][0]["lifts"][0]["pairs"] == 2


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("skill_source", "{out}/skill"),
        ("case_source", "{out}/cases.json"),
        ("case_source", "../../../out/cases.json"),
        ("case_source", "linked/cases.json"),
        ("previous_source", "/"),
        ("skill_source", "a\0b"),
    ],
)
def test_paths_that_lead_elsewhere_are_not_read(
    key: str, value: str, upskill: Upskill, run: Path, here: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    shutil.copytree(here / "skills" / "tarn", out / "skill")
    (here / "linked").symlink_to(out)
    forge(run, lambda record: record.update({key: value.format(out=out).replace("linked", "../../linked")}))
    refused(upskill("eval", "--resume", str(run)), "its skill was not typed")
    if key == "case_source":
        refused(upskill("regrade", str(run)), "its cases are outside the working folder", "(--tests)")


def test_a_run_is_resumed_from_another_folder_where_the_skill_and_the_script_are_typed(
    upskill: Upskill, run: Path, here: Path, tmp_path: Path
) -> None:
    forge(run, lambda record: record["settings"]["models"].update(value=[f"scripted/{here}/student.yaml"]))
    forge(run, lambda record: record["students"][0].update(_student(f"scripted/{here}/student.yaml")))
    trials = (run / "trials.jsonl").read_text()
    for words in (["eval", "--resume", str(run)], ["regrade", str(run)]):
        assert "do not match" in upskill(*words, **trusting(run)).stderr
    (run / "trials.jsonl").write_text(trials.replace("scripted/student.yaml", f"scripted/{here}/student.yaml"))
    (tmp_path / "elsewhere").mkdir()
    refused(upskill("eval", "--resume", str(run), cwd=tmp_path / "elsewhere"), "its skill was not typed", "models")
    named = ("-m", f"scripted/{here}/student.yaml")
    again = upskill("eval", str(here / "skills" / "tarn"), "--resume", str(run), *named, cwd=tmp_path / "elsewhere")
    assert again.returncode == 0, again.stderr
    regraded = upskill("regrade", str(run), "-t", f"{here}/skills/tarn/skill_meta.json", cwd=tmp_path / "elsewhere")
    assert regraded.returncode == 0, regraded.stderr
    assert "is outside the working folder and was not read" in regraded.stdout


def _student(name: str) -> dict[str, str]:
    return {"name": name, "model": name}


@pytest.mark.parametrize("name", ["run.json", "trials.jsonl", "engine", "logs", ".reserve", "report.html"])
def test_a_run_folder_with_a_link_in_it_is_refused_before_anything_is_written(
    name: str, upskill: Upskill, run: Path, tmp_path: Path
) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "letter.txt").write_text("mine\n")
    there = run / name
    kept = mine / name
    if there.is_dir():
        shutil.move(there, kept)
    elif there.exists():
        shutil.copy(there, kept)
        there.unlink()
    else:
        kept = mine if name == "engine" else mine / "letter.txt"
    there.symlink_to(kept)
    before = everything_below(tmp_path / "mine")
    done = upskill("eval", "--resume", str(run))
    assert done.returncode == 3
    assert f"{there}: cannot be read or written: it is a link" in done.stderr
    assert everything_below(tmp_path / "mine") == before


def test_a_log_with_a_second_name_is_not_appended_to(upskill: Upskill, run: Path, tmp_path: Path) -> None:
    os.link(run / "trials.jsonl", tmp_path / "mine.jsonl")
    done = upskill("eval", "--resume", str(run))
    assert done.returncode == 3
    assert "not an ordinary file with one name" in done.stderr


@pytest.mark.parametrize("name", ["run.json", "trials.jsonl"])
def test_nobody_waits_for_a_pipe(name: str, upskill: Upskill, run: Path) -> None:
    (run / name).unlink()
    os.mkfifo(run / name)
    for words in (["eval", "--resume", str(run)], ["regrade", str(run)], ["report", str(run)], ["runs"]):
        done = upskill(*words)
        assert done.returncode in (0, 3), done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("run.json", "x" * 50_000_001, "larger than 50 MB"),
        ("run.json", '{"results":' + '{"a":' * 100_000, "cannot be read as upskill.run/1"),
        ("trials.jsonl", "x" * 100_000_001, "larger than 100 MB"),
        ("trials.jsonl", '{"files":{' + '"a":[' * 100_000 + "\n", "line 1 is damaged"),
    ],
)
def test_a_record_without_end_is_a_clear_refusal(name: str, text: str, said: str, upskill: Upskill, run: Path) -> None:
    (run / name).write_text(text)
    done = upskill("regrade", str(run))
    assert done.returncode == 3, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record["settings"]["max_cost"].update(value="much"),
        lambda record: record["settings"]["models"].update(value={"a": 1}),
        lambda record: record["settings"]["concurrency"].update(value=-1),
    ],
)
def test_settings_that_nobody_could_set_are_explained(change: Change, upskill: Upskill, run: Path) -> None:
    forge(run, change)
    done = upskill("eval", "--resume", str(run), **trusting(run))
    assert done.returncode == 3, done.stderr
    assert "the record of the run: `" in done.stderr


def test_a_run_beside_mine_cannot_stop_me(upskill: Upskill, run: Path) -> None:
    forge(run, lambda record: record.update(started_at="x", finished_at="y", repeats=10**12))
    for words in (["eval", "--resume", str(run)], ["regrade", str(run)], ["report", str(run)]):
        assert "which is more than any run" in upskill(*words).stderr
    forge(run, lambda record: record.update(repeats=1))
    forge(run, lambda record: record["results"]["bought"].update(calls=999))
    done = upskill("eval", "skills/tarn", "-m", "scripted/student.yaml", "--dry-run")
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def taught() -> Iterator[Provider]:
    with Provider(made_teacher.teacher(made_teacher.THINGS[:4], known_at_first=4, negatives=0)) as teacher:
        yield teacher


@pytest.fixture(scope="module")
def generated(forker: Forker, taught: Provider, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished `generate` that measured nothing."""
    place = tmp_path_factory.mktemp("taught")
    words = ("--no-eval", "--cases", "2+2+0", "--model", "any", "--base-url", taught.url, "--yes")
    done = forker.run("generate", made_teacher.TASK, *words, cwd=place)
    assert done.returncode == 0, done.stderr
    return place


@pytest.fixture
def teaching(generated: Path, here: Path) -> Path:
    """A copy of the run folder alone, as somebody sends it."""
    (run,) = (generated / "runs").glob("*generate*")
    return Path(shutil.copytree(run, here / "sent"))


def test_a_generate_saves_where_today_says_and_not_where_its_record_says(
    upskill: Upskill, teaching: Path, taught: Provider, here: Path, tmp_path: Path
) -> None:
    aim = {"folder": None, "parent": str(tmp_path / "aimed"), "in_place": False}
    forge(teaching, lambda record: record["order"].update(target=aim), "generate.json")
    forge(
        teaching, lambda record: record["settings"]["skills_dir"].update(value=str(tmp_path / "aimed")), "generate.json"
    )
    refused(upskill("generate", "--resume", "sent", "--base-url", taught.url), "teacher")
    done = upskill("generate", "--resume", "sent", "--base-url", taught.url, "--model", "any")
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "aimed").exists()
    assert (here / "skills" / "quarn" / "SKILL.md").is_file()


@pytest.mark.parametrize(
    ("key", "value", "flag"),
    [
        ("output", "{out}/quarn", "--output"),
        ("sandbox", "none", "--sandbox"),
        ("sources", ["{out}/mine"], "--from"),
    ],
)
def test_what_a_generate_asks_for_must_be_typed_again(
    key: str, value: Any, flag: str, upskill: Upskill, teaching: Path, taught: Provider, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    (out / "mine").mkdir(parents=True)
    (out / "mine" / "SKILL.md").write_text("---\nname: mine\ndescription: Mine.\n---\nMine.\n")
    before, asked = everything_below(out), len(taught.requests)

    def change(record: dict[str, Any]) -> None:
        record["order"][key] = json.loads(json.dumps(value).replace("{out}", str(out)))
        if key == "sources":
            folder = {"folder": f"{out}/mine", "parent": str(out), "in_place": True}
            record["order"]["target"] = folder

    forge(teaching, change, "generate.json")
    refused(upskill("generate", "--resume", "sent"), "teacher_base_url", flag)
    refused(upskill("generate", "--resume", "sent", "--base-url", taught.url, "--model", "any"), flag)
    assert everything_below(out) == before
    assert len(taught.requests) == asked


@pytest.mark.parametrize("name", ["generate.json", "teacher.jsonl", "material.json", "drafts"])
def test_the_folder_of_a_generate_holds_no_links(
    name: str, upskill: Upskill, teaching: Path, taught: Provider, tmp_path: Path
) -> None:
    shutil.move(teaching / name, tmp_path / name)
    (teaching / name).symlink_to(tmp_path / name)
    done = upskill("generate", "--resume", "sent", "--base-url", taught.url)
    assert done.returncode == 3
    assert "it is a link" in done.stderr


def test_a_page_of_a_strangers_run_holds_nothing_that_runs_and_fetches_nothing(
    upskill: Upskill, run: Path, here: Path
) -> None:
    bad = "</script><script>steal()</script><img src=x onerror=steal()>"

    def change(record: dict[str, Any]) -> None:
        record["notes"] = [bad]
        record["skill_name"] = bad
        record["versions"]["upskill"] = bad
        record["settings"]["models"] = {"value": [bad], "origin": bad}
        record["results"]["notes"] = [bad]
        record["results"]["students"][0]["sentence"] = bad

    forge(run, change)
    text = (run / "trials.jsonl").read_text()
    (run / "trials.jsonl").write_text(text.replace("It is 7413.", bad).replace("No idea.", bad))
    done = upskill("report", str(run), "-o", "page.html")
    assert done.returncode == 0, done.stderr
    page = (here / "page.html").read_text()
    assert "steal()" in page
    assert "<script>steal" not in page
    assert "<img src=x" not in page

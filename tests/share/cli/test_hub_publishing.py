"""Publishing on the Hub: the real client `huggingface_hub`, the command as it is typed, and a stand-in for the Hub."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from arro3.io import read_parquet

from forking import Done
from hub_server import TOKEN, Answer, Hub, Request
from share.made_evidence import RESULT, with_report
from typed import Upskill, make_port_skill
from typed_in_terminal import Terminal
from upskill.core.nouns import Interval
from upskill.core.skills.skills import read_skill
from upskill.share.evidence import Evidence, evidence_text, measured_skill, read_evidence

DATASET, NAME = "datasets/team/skills", "team/skills"
PUBLISHED = {
    "README.md",
    "results.parquet",
    "skills/port/SKILL.md",
    "skills/port/evidence.json",
    "skills/port/evidence.md",
}
Typed = Callable[..., Done]


@pytest.fixture
def hub() -> Iterator[Hub]:
    with Hub() as hub:
        yield hub


@pytest.fixture
def variables(hub: Hub, tmp_path: Path) -> dict[str, str]:
    return {"HF_ENDPOINT": hub.endpoint, "HF_HOME": str(tmp_path / "hf"), "HF_TOKEN": TOKEN}


@pytest.fixture
def typed(upskill: Upskill, variables: dict[str, str]) -> Typed:
    def run(*words: str, **more: str) -> Done:
        return upskill(*words, **{**variables, **more})

    return run


@pytest.fixture
def skill(here: Path) -> Path:
    """A skill with cases and with evidence for two models, as it is typed."""
    folder = make_port_skill(here, cases=2)
    _measure(folder)
    return folder.relative_to(here)


def _measure(folder: Path, *, look: int = 2, judge: str | None = None) -> Evidence:
    """Write evidence beside a skill, as somebody measured it elsewhere."""
    unclear = {"mean": 0.125, "rate": 0.375, "interval": Interval(low=-0.2, high=0.45)}
    cases = tuple(f"{number:064x}" for number in range(12))
    results = (
        replace(RESULT, cases=cases, look=look, level=0.0125, other_looks={"undecided": look - 1}, judge=judge),
        replace(with_report(student=("qwen|3", "local/qwen"), verdict="undecided", lift=unclear), cases=cases),
    )
    evidence = Evidence(skill=measured_skill(folder, read_skill(folder)), results=results, date="2026-11-15")
    (folder / "evidence.json").write_text(evidence_text(evidence))
    return evidence


def _files(hub: Hub) -> dict[str, bytes]:
    files = hub.repositories[DATASET].files
    return {path: file.data for path, file in files.items() if path != ".gitattributes"}


def _rows(data: bytes) -> list[dict[str, Any]]:
    table = read_parquet(data).read_all()
    columns = {name: [table.column(name)[row].as_py() for row in range(table.num_rows)] for name in table.column_names}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _error(done: Done) -> list[str]:
    return done.stderr.splitlines()


def test_what_is_published_is_read_back_with_the_figures_of_its_evidence(
    typed: Typed, hub: Hub, here: Path, skill: Path
) -> None:
    done = typed("publish", str(skill), "--hub", NAME, "--yes")
    assert done.returncode == 0, done.stderr
    (repository,) = hub.repositories.values()
    commit = repository.branches["main"]
    assert done.stdout.splitlines()[0] == f"hf://{DATASET}: new, public"
    assert done.stdout.splitlines()[-1] == f"published: hf://{DATASET}@{commit}"
    assert (repository.messages, repository.private, set(_files(hub))) == (["Publish port"], False, PUBLISHED)
    assert {(one.host, one.token) for one in hub.requests} == {("127.0.0.1", TOKEN), ("localhost", None)}
    assert TOKEN not in done.stdout + done.stderr

    card = _files(hub)["README.md"].decode()
    settings = yaml.safe_load(card.split("---\n")[1])
    assert settings["configs"] == [{"config_name": "results", "data_files": "results.parquet"}]
    assert "**Self-reported:**" in card
    assert "| port | haiku | chat | 25% | 75% | +50 (+10 to +90) | ▲ helps | 12 | 12 | 2 | 2026-11-15 |" in card
    assert re.search(r"\| port \| qwen\S+3 \| chat \| 25% \| 3.% \|.* not counted \| 2026-11-15 \|", card), card

    evidence = read_evidence(here / skill)
    assert evidence is not None
    first, second = _rows(_files(hub)["results.parquet"])
    assert first == {
        "skill": "port",
        "skill_digest": evidence.skill.digest,
        "model": "haiku",
        "how": "chat",
        "against": "baseline",
        "cases": 12,
        "pairs": 12,
        "rate_without": 0.25,
        "rate_with": 0.75,
        "lift": 0.5,
        "low": 0.1,
        "high": 0.9,
        "confidence": 0.95,
        "claim": "new cases",
        "verdict": "helps",
        "look": 2,
        "other_looks": 1,
        "date": "2026-11-15",
        "self_reported": True,
        "scripted": False,
        "judge": None,
        "upskill": "0.1.0",
    }
    assert (second["model"], second["low"], second["look"], second["verdict"]) == ("qwen|3", -0.2, None, "undecided")

    for words in (["lint"], ["install", "--for", "codex", "--yes"]):
        again = typed(words[0], f"hf://{DATASET}/skills/port", *words[1:])
        assert again.returncode == 0, again.stderr
    copy = here / ".agents/skills/port"
    assert (copy / "evidence.json").read_bytes() == (here / skill / "evidence.json").read_bytes()
    assert typed("publish", str(copy), "--hub", "team/copy", "--yes").returncode == 0
    copied = hub.repositories["datasets/team/copy"].files
    assert copied["results.parquet"] == repository.files["results.parquet"]


def _tree(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_dry_run_writes_what_would_be_uploaded_and_asks_nobody(
    typed: Typed, hub: Hub, here: Path, skill: Path
) -> None:
    words = ("publish", str(skill), "--hub", "team/ours", "--dry-run", "--json")
    plan = json.loads(typed(*words, HF_TOKEN="").stdout)
    assert (plan["schema"], plan["done"], plan["to"], plan["commit"]) == ("upskill.publish/1", False, "ours", None)
    assert {one["path"] for one in plan["files"]} == set(_tree(here / "ours")) == PUBLISHED
    assert hub.requests == []


def test_the_second_time_nothing_is_committed(typed: Typed, hub: Hub, here: Path, skill: Path) -> None:
    done = typed("publish", str(skill), "--hub", NAME, "--dry-run", "--to", "out/there")
    assert (done.returncode, hub.requests) == (0, []), done.stderr
    assert done.stdout.splitlines()[-1] == "wrote out/there: what would be uploaded"
    again = typed("publish", str(skill), "--hub", NAME, "--dry-run", "--to", "out/there")
    assert (again.returncode, _error(again)[0]) == (2, "error: out/there: is there already")

    plan = json.loads(typed("publish", str(skill), "--hub", NAME, "--yes", "--json").stdout)
    repository = hub.repositories[DATASET]
    assert (plan["to"], plan["commit"]) == (f"hf://{DATASET}", repository.branches["main"])
    assert (plan["done"], plan["private"]) == (True, False)
    assert {(one["path"], one["action"]) for one in plan["files"]} == {(path, "write") for path in PUBLISHED}
    assert _tree(here / "out/there") == _files(hub)

    done = typed("publish", str(skill), "--hub", NAME)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, f"hf://{DATASET}: everything is there already")
    assert len(repository.messages) == 1


def test_nothing_is_sent_before_a_person_agrees(
    typed: Typed, hub: Hub, here: Path, skill: Path, environment: dict[str, str], variables: dict[str, str]
) -> None:
    refused = typed("publish", str(skill), "--hub", NAME)
    assert (refused.returncode, _error(refused)) == (
        2,
        ["error: nothing was published: there is no terminal to confirm on", "hint:  add --yes"],
    )
    assert (hub.repositories, {one.method for one in hub.requests}) == ({}, {"GET"})
    with Terminal(here, {**environment, **variables}, columns=100, rows=50) as terminal:
        terminal.type("publish", str(skill), "--hub", NAME)
        terminal.wait(lambda: "Publish 5 files for everybody to read and copy? [y/N]:" in terminal.screen())
        assert f"hf://{DATASET}: new, public" in terminal.screen()
        assert all(re.search(rf"^  {path} +[\d,]+ bytes", terminal.screen(), re.MULTILINE) for path in PUBLISHED)
        terminal.press("Enter")
        terminal.wait(lambda: "code=2" in terminal.screen())
    assert hub.repositories == {}


SECRET = "ghp_" + "R4nd0mL00k1ngT0kenR4nd0mL00k1ngT0kQ"
OTHER = "hf_" + "vKqTz7RbWmXp2LdNsGh9YcJfEu4AoQiZxC"
OWN = "kf83-hd92-vm20-qx71-zz"


def test_what_looks_like_a_secret_is_refused_with_its_place_and_without_itself(
    typed: Typed, hub: Hub, here: Path, skill: Path
) -> None:
    folder = here / skill
    text = (folder / "SKILL.md").read_text()
    (folder / "scripts").mkdir()
    for path, content, place in (
        ("SKILL.md", f"{text}\nSend {SECRET}.\n", "danger: SKILL.md:7: "),
        ("SKILL.md", f"{text}\nSend {OWN}.\n", "skills/port/SKILL.md: line 7"),
        ("scripts/a.py", f"x = 1\nTOKEN = '{OTHER}'\n", "danger: scripts/a.py:2: "),
        (f"scripts/{OWN}.txt", "x", "skills/port/scripts/[redacted: PORT_API_KEY].txt: its name"),
    ):
        (folder / path).write_text(content)
        done = typed("publish", str(skill), "--hub", NAME, "--yes", PORT_API_KEY=OWN)
        assert done.returncode == 1, (path, done.stderr)
        assert place in done.stderr
        assert "not published: 1 danger" in done.stderr or "nothing was published: 1 file with" in done.stderr
        assert not [one for one in (SECRET, OWN, OTHER) if one in done.stdout + done.stderr]
        (folder / path).unlink()
        (folder / "SKILL.md").write_text(text)
    _measure(folder, judge=SECRET)
    done = typed("publish", str(skill), "--hub", "team/ours", "--dry-run")
    assert (done.returncode, "danger: evidence.json:" in done.stderr, SECRET in done.stderr) == (1, True, False)
    assert (hub.requests, (here / "ours").exists()) == ([], False)


def test_cases_answers_runs_settings_and_keys_stay_here_unless_they_are_named(
    typed: Typed, hub: Hub, here: Path, home: Path
) -> None:
    skill = make_port_skill(here, cases=2)
    asked = json.loads((skill / "skill_meta.json").read_text())
    asked["cases"][1] |= {"use": "held-out", "reference": "PLANTED-REFERENCE 7413"}
    (skill / "skill_meta.json").write_text(json.dumps(asked))
    (skill / "evals").mkdir()
    (skill / "evals" / "notes.md").write_text("PLANTED-EVALS")
    (here / "upskill.toml").write_text("seed = 41\n")
    (here / ".env").write_text(f"OPENAI_API_KEY={SECRET}\n")
    (here / "student.yaml").write_text(
        "rules:\n  - arm: with_skill\n    when: Q\n    replies: ['PLANTED-ANSWER 7413']\n"
    )
    measured = typed("eval", str(skill), "-m", "scripted/student.yaml", "--yes", OPENAI_API_KEY=SECRET)
    assert (here / "runs").is_dir(), measured.stderr
    (run,) = (here / "runs").glob("*-port-*")

    done = typed("publish", str(skill), "--hub", NAME, "--yes", OPENAI_API_KEY=SECRET)
    assert done.returncode == 0, done.stderr
    assert set(_files(hub)) == PUBLISHED
    sent = b"".join(_files(hub).values()) + b"".join(hub.uploaded.values())
    planted = ("PLANTED", "Question", "seed = 41", "student.yaml:", run.name, str(here), str(home), SECRET, TOKEN)
    assert not [one for one in planted if one.encode() in sent]

    cases, answers, record = "cases/port.json", f"runs/{run.name}/trials.jsonl", f"runs/{run.name}/run.json"
    for named, expected in (
        (["cases"], {cases}),
        (["answers"], {answers}),
        (["runs", "answers", "cases"], {cases, answers, record}),
        ([], set()),
    ):
        words = [word for one in named for word in ("--with", one)]
        done = typed("publish", str(skill), "--hub", NAME, "--yes", *words)
        assert done.returncode == 0, done.stderr
        assert set(_files(hub)) == PUBLISHED | expected, "what is not named any more is removed"
        if cases in expected:
            assert b"PLANTED-REFERENCE" in _files(hub)[cases]
        if record in expected:
            assert _files(hub)[record] == (run / "run.json").read_bytes()
    assert f"  {cases}: is removed" in done.stdout

    (run / "trials.jsonl").write_text((run / "trials.jsonl").read_text().replace("PLANTED-ANSWER", SECRET))
    done = typed("publish", str(skill), "--hub", NAME, "--yes", "--with", "answers")
    assert (done.returncode, f"{answers}: line" in done.stderr, SECRET in done.stderr) == (1, True, False)
    done = typed("publish", str(_without_cases(here)), "--hub", "team/none", "--yes", "--with", "cases")
    assert (done.returncode, _error(done)[0]) == (2, "error: --with cases: there are none here")


def _without_cases(here: Path) -> Path:
    folder = here / "bare"
    folder.mkdir()
    (folder / "SKILL.md").write_text("---\nname: bare\ndescription: Knows nothing.\n---\nNothing.\n")
    return folder


def test_what_others_wrote_in_the_dataset_stays_or_is_refused(typed: Typed, hub: Hub, here: Path, skill: Path) -> None:
    (here / skill / "notes.md").write_text("Notes.\n")
    _measure(here / skill)
    words = ("publish", str(skill), "--hub", NAME, "--yes")
    assert typed(*words, "--private").returncode == 0
    repository = hub.repositories[DATASET]
    assert repository.private
    card = _files(hub)["README.md"].decode().replace("tags:", "license: mit\ntags:", 1) + "\nOur own words.\n"
    repository.commit({**repository.files, "README.md": card, "LICENSE": "MIT"})
    assert "everything is there already" in typed(*words).stdout

    (here / skill / "notes.md").unlink()
    _measure(here / skill, look=3)
    done = typed(*words)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == f"hf://{DATASET}: is there already, private"
    assert "  skills/port/notes.md: is removed" in done.stdout
    assert set(_files(hub)) == PUBLISHED | {"LICENSE"}
    changed = _files(hub)["README.md"].decode()
    assert changed == card.replace("| 2 | 2026-11-15 |", "| 3 | 2026-11-15 |")
    assert len(repository.messages) == 2

    other = _without_cases(here)
    hub.repository("datasets/team/cards", {"README.md": "# Ours\n"})
    hub.repository("datasets/team/open", {"LICENSE": "MIT"})
    hub.repository("datasets/team/data", {"skills/port/SKILL.md": "Ours."})
    for folder, name, more, said in (
        (other, NAME, (), "holds other skills, too: port"),
        (skill, "team/cards", (), "holds what upskill did not publish"),
        (skill, "team/data", (), "holds what upskill did not publish"),
        (skill, "team/open", ("--private",), "is public"),
    ):
        done = typed("publish", str(folder), "--hub", name, "--yes", *more)
        assert (done.returncode, _error(done)[0]) == (2, f"error: hf://datasets/{name}: {said}")
    assert len(repository.messages) == 2


def test_a_refusal_of_the_hub_is_one_line_that_says_what_to_do(typed: Typed, hub: Hub, skill: Path) -> None:
    def at(path: str, *answer: int) -> Callable[[Request], Answer | None]:
        return lambda one: (answer[0], {"Retry-After": "40"}, b"<html>") if path in one.path else None

    words = ("publish", str(skill), "--hub", NAME, "--yes")
    for before, token, code, said, hint in (
        (at("none", 0), "", 2, "the Hub needs a token", "`hf auth login`, with a token that may write"),
        (at("none", 0), "hf_wrong", 2, "the Hub refused the token, or it may not do this", "`hf auth login`"),
        (at("/create", 403), TOKEN, 2, "the Hub refused the token, or it may not do this", "a token that may write"),
        (at("/create", 404), TOKEN, 2, "not found on the Hub, or private", "check the name"),
        (at("/create", 409), TOKEN, 2, "was changed by somebody else meanwhile", "try again"),
        (at("/api/", 429), TOKEN, 3, "the Hub limits requests", "try again in 40 seconds; nothing was published"),
        (at("/commit/", 500), TOKEN, 3, "the Hub answered 500", "try again later; what arrived is not sent again"),
        (at("/cdn/", 403), TOKEN, 2, "the Hub refused the token, or it may not do this", "`hf auth login`"),
    ):
        hub.before = before
        done = typed(*words, HF_TOKEN=token)
        assert done.returncode == code, (said, done.stderr)
        error, help_line = _error(done)
        assert (error, hint in help_line) == (f"error: hf://{DATASET}: {said}", True), done.stderr
        assert "hf_wrong" not in done.stderr
    assert hub.repositories[DATASET].messages == []

    hub.before = lambda _: None
    hub.requests.clear()
    assert typed(*words).returncode == 0, "an empty dataset is no obstacle"
    assert not [one for one in hub.requests if one.path == "/api/repos/create"]


def test_a_connection_that_is_cut_leaves_nothing_half_and_the_same_command_tells(
    typed: Typed, hub: Hub, here: Path, skill: Path
) -> None:
    words = ("publish", str(skill), "--hub", NAME, "--yes")
    cut: list[str] = []

    def once(request: Request) -> Answer | None:
        """Cut the upload of a large file, which the library sends again, and the commit before it is made."""
        kind = next((one for one in ("/cdn/", "/commit/") if one in request.path), None)
        if kind is None or kind in cut:
            return None
        cut.append(kind)
        return 0, {}, b""

    hub.before = once
    done = typed(*words)
    assert (done.returncode, cut) == (3, ["/cdn/", "/commit/"])
    error, hint = _error(done)
    assert re.fullmatch(rf"error: hf://{DATASET}: the Hub cannot be reached \(\w+\)", error)
    assert hint == "hint:  try again; what arrived is not sent again"
    assert _files(hub) == {}

    def lost(request: Request) -> Answer | None:
        """The commit is made, and its answer is lost."""
        if "/commit/" not in request.path:
            return None
        hub.before = lambda _: None
        hub.answer(request)
        return 0, {}, b""

    hub.before = lost
    assert typed(*words).returncode == 3
    done = typed(*words)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, f"hf://{DATASET}: everything is there already")
    assert (set(_files(hub)), len(hub.repositories[DATASET].messages)) == (PUBLISHED, 1)


def test_the_token_goes_to_no_address_that_an_answer_names(typed: Typed, hub: Hub, skill: Path) -> None:
    def elsewhere(request: Request) -> Answer | None:
        """Have whoever uploaded a large file tell another server."""
        if not request.path.endswith("/objects/batch"):
            return None
        hub.before = lambda _: None
        status, headers, body = hub.answer(request)
        value = json.loads(body)
        for one in value["objects"]:
            one["actions"]["verify"] = {"href": f"{other.endpoint}/verify"}
        return status, headers, json.dumps(value).encode()

    hub.before = elsewhere
    with Hub() as other:
        done = typed("publish", str(skill), "--hub", NAME, "--yes")
    assert done.returncode == 3
    assert _error(done) == [
        "error: the Hub wants the token at another address",
        "hint:  nothing was sent there",
    ]
    assert (other.requests, _files(hub)) == ([], {})


def test_a_dataset_that_moves_while_a_person_decides_is_not_overwritten(
    typed: Typed, hub: Hub, here: Path, skill: Path
) -> None:
    words = ("publish", str(skill), "--hub", NAME, "--yes")
    assert typed(*words).returncode == 0
    repository = hub.repositories[DATASET]

    def move(request: Request) -> Answer | None:
        if "/preupload/" in request.path:
            repository.commit({**repository.files, "new.txt": "x"})
        return None

    hub.before = move
    _measure(here / skill, look=3)
    done = typed(*words)
    assert (done.returncode, _error(done)[0]) == (
        2,
        f"error: hf://{DATASET}: was changed by somebody else meanwhile",
    )
    assert ("new.txt" in _files(hub), len(repository.messages)) == (True, 1)


def test_options_that_would_be_ignored_are_refused(typed: Typed, hub: Hub, skill: Path) -> None:
    for words, said in (
        ((), "--to DIR or --hub OWNER/NAME is needed; --with and --private are for --hub"),
        (("--hub", "skills"), "--hub skills: names no dataset"),
        (("--hub", "a/b/c"), "--hub a/b/c: names no dataset"),
        (("--hub", NAME, "--to", "x"), "--owner and --name are for --to; with --hub, --to is for --dry-run"),
        (("--hub", NAME, "-n", "--owner", "x"), "--owner and --name are for --to; with --hub, --to is for --dry-run"),
        (
            ("--to", "x", "--with", "cases"),
            "--to DIR or --hub OWNER/NAME is needed; --with and --private are for --hub",
        ),
    ):
        done = typed("publish", str(skill), *words, "--yes")
        assert (done.returncode, _error(done)[0]) == (2, f"error: {said}")
    assert hub.requests == []


def test_a_skill_without_a_result_has_a_card_that_says_so_and_a_table_without_rows(typed: Typed, here: Path) -> None:
    done = typed("publish", str(_without_cases(here)), "--hub", "team/ours", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "| Knows nothing. | not measured |" in (here / "ours/README.md").read_text()
    assert _rows((here / "ours/results.parquet").read_bytes()) == []


def test_without_the_extra_the_error_names_it() -> None:
    code = "import sys; sys.modules['arro3.core'] = None; from upskill.share.hub import _parquet; _parquet([])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1].endswith("UsageError: --hub needs the package arro3-io")

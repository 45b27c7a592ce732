"""A sweep folder of a stranger: `upskill sweep` touches nothing outside it, and names every server that it asks."""

import json
import os
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest

from forking import Done, Forker
from provider import Provider
from typed import Upskill, make_port_skill

pytestmark = pytest.mark.skipif(os.name == "nt", reason="no links and pipes there")
SCRIPT = "rules:\n  - arm: with_skill\n    replies: ['7413']\n  - replies: ['No idea.']\n"
MANIFEST = 'format = "upskill.sweep/1"\nskills = ["skills/*/"]\nstudents = ["{}"]\nruns = 2\nconfirm = false\n'
ATTEMPT = "20261116T120000-0123abcd"


@pytest.fixture(scope="module")
def planned(forker: Forker, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a skill, a script, and a sweep of it at `at`."""
    place = tmp_path_factory.mktemp("theirs")
    make_port_skill(place, cases=3)
    (place / "student.yaml").write_text(SCRIPT)
    (place / "sweep.toml").write_text(MANIFEST.format("scripted/student.yaml"))
    done = forker.run("sweep", "plan", "sweep.toml", "--at", "at", cwd=place)
    assert done.returncode == 0, done.stderr
    return place


class Planned:
    """The same in the folder where commands are typed, and what a stranger changes in it."""

    def __init__(self, planned: Path, here: Path, upskill: Upskill) -> None:
        self.here, self.at, self.upskill = here, here / "at", upskill
        shutil.copytree(planned, here, dirs_exist_ok=True)

    def plan(self, student: str, *more: str) -> None:
        """Plan it for another model."""
        (self.here / "sweep.toml").write_text(MANIFEST.format(student) + "\n".join(more))
        done = self.upskill("sweep", "plan", "sweep.toml", "--at", "at")
        assert done.returncode == 0, done.stderr

    @property
    def job(self) -> dict[str, Any]:
        return dict(json.loads((self.at / "jobs.jsonl").read_text()))

    def change(self, name: str, **changes: Any) -> None:
        value = json.loads((self.at / name).read_text())
        (self.at / name).write_text(json.dumps({**value, **changes}) + "\n")

    def run(self, **variables: str) -> Done:
        return self.upskill("sweep", "run", "at", "-j", "1", "--yes", **variables)

    def everything(self) -> str:
        """All that is in the folder, as text."""
        files = (Path(where) / name for where, _, names in os.walk(self.at) for name in names)
        return "".join(path.read_text(errors="replace") for path in files)


@pytest.fixture
def sweep(planned: Path, here: Path, upskill: Upskill) -> Planned:
    return Planned(planned, here, upskill)


def test_what_nobody_has_touched_runs_and_is_for_its_owner_alone(sweep: Planned, upskill: Upskill) -> None:
    done = sweep.run()
    assert done.returncode == 0, done.stderr
    assert upskill("sweep", "report", "at").returncode == 0
    assert upskill("sweep", "report", "at", "--out", "elsewhere").returncode == 0
    found = [sweep.at, sweep.here / "elsewhere", *sweep.at.rglob("*"), *(sweep.here / "elsewhere").iterdir()]
    assert {"report", "results", "run", "table.csv"} <= {path.name for path in found}
    assert not (sweep.at / "scratch").exists()
    modes = {stat.S_IMODE(path.stat().st_mode) for path in found if path.is_file()}
    assert modes == {0o600}
    assert {stat.S_IMODE(path.stat().st_mode) for path in found if path.is_dir()} == {0o700}


@pytest.mark.parametrize("confirms", [None, "0" * 32])
def test_an_id_that_leads_elsewhere_is_refused(sweep: Planned, upskill: Upskill, confirms: str | None) -> None:
    sweep.change("jobs.jsonl", id="../../../outside", confirms=confirms)
    for words in (("run", "at", "--yes"), ("status", "at"), ("report", "at")):
        done = upskill("sweep", *words)
        assert done.returncode != 0
        assert "jobs.jsonl: line 1" in done.stderr
    assert not list(sweep.here.parent.rglob("outside*"))


def test_a_confirmation_is_never_in_a_plan(sweep: Planned) -> None:
    sweep.change("jobs.jsonl", id="a" * 32, confirms="0" * 32)
    done = sweep.run()
    assert done.returncode != 0
    assert "confirms" in done.stderr
    assert not (sweep.at / "results").exists()


def test_no_folder_of_a_sweep_decides_what_is_deleted(sweep: Planned) -> None:
    home = sweep.here / "home"
    (home / "Documents").mkdir(parents=True)
    (home / "Documents" / "thesis").write_text("years")
    (home / ATTEMPT).mkdir()
    for attempt in ("Documents", ATTEMPT):
        begun = sweep.at / "attempts" / sweep.job["id"] / attempt
        begun.mkdir(parents=True)
        (begun / "begun.json").write_text('{"caps": {}, "host": "h", "at": "t"}')
    (sweep.at / "scratch").symlink_to(home)
    assert sweep.run().returncode == 0
    assert (home / "Documents" / "thesis").read_text() == "years"
    assert sorted(path.name for path in home.iterdir()) == [ATTEMPT, "Documents"]


@pytest.mark.parametrize("name", ["results", "attempts", "attempts/ID", f"attempts/ID/{ATTEMPT}", "inputs", "report"])
def test_a_link_in_place_of_a_folder_is_not_followed(sweep: Planned, upskill: Upskill, name: str) -> None:
    elsewhere = sweep.here / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "table.csv").write_text("precious")
    (elsewhere / "000001.jsonl").write_text("precious")
    if name == "report":
        assert sweep.run().returncode == 0
    link = sweep.at / name.replace("ID", sweep.job["id"])
    link.parent.mkdir(parents=True, exist_ok=True)
    if name == "inputs":
        link.rename(elsewhere / "inputs")
        link.symlink_to(elsewhere / "inputs")
    else:
        link.symlink_to(elsewhere)
    before = sorted(str(path) for path in elsewhere.rglob("*"))
    done = upskill("sweep", "report", "at") if name == "report" else sweep.run()
    assert done.returncode != 0
    assert "link" in done.stdout + done.stderr
    assert sorted(str(path) for path in elsewhere.rglob("*")) == before
    assert (elsewhere / "table.csv").read_text() == (elsewhere / "000001.jsonl").read_text() == "precious"


@pytest.mark.parametrize("name", ["plan.json", "jobs.jsonl", "summaries.jsonl", "refused.jsonl", "results/ID.json"])
@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_what_is_no_ordinary_file_is_not_read(sweep: Planned, upskill: Upskill, name: str, kind: str) -> None:
    path = sweep.at / name.replace("ID", sweep.job["id"])
    path.parent.mkdir(exist_ok=True)
    secret = sweep.here / "secret"
    secret.write_bytes(path.read_bytes() if path.exists() else b"")
    path.unlink(missing_ok=True)
    if kind == "link":
        path.symlink_to(secret)
    else:
        os.mkfifo(path)
    done = upskill("sweep", "report", "at")  # reads all of them, and must not wait for a writer
    assert done.returncode != 0
    assert path.name in done.stderr
    assert secret.exists()


def test_a_report_replaces_no_file_through_a_link(sweep: Planned, upskill: Upskill) -> None:
    assert sweep.run().returncode == 0
    (sweep.at / "report").mkdir()
    (sweep.here / "bashrc").write_text("mine")
    (sweep.at / "report" / "table.csv").symlink_to(sweep.here / "bashrc")
    (sweep.here / "folder").mkdir()
    (sweep.at / "report" / "report.md").symlink_to(sweep.here / "folder")
    assert upskill("sweep", "report", "at").returncode == 0
    assert (sweep.here / "bashrc").read_text() == "mine"
    assert not list((sweep.here / "folder").iterdir())
    assert not (sweep.at / "report" / "table.csv").is_symlink()


@pytest.mark.parametrize("how", ["student", "alias", "judge", "link"])
def test_a_plan_reads_no_script_outside_the_working_folder(sweep: Planned, how: str) -> None:
    secret = sweep.here.parent / "credentials"
    secret.write_text("key: [hf_abcdefgh1234\n  other: }\n")
    name = f"scripted/{secret}"
    if how == "link":
        (sweep.here / "own.yaml").symlink_to(secret)
        name = "scripted/own.yaml"
    student = {"student": name, "alias": "small", "link": name}.get(how, "scripted/student.yaml")
    named = {"name": student, "model": name if how != "judge" else student, "served": None, "priced": True}
    settings = {"alias": {"aliases": {"small": name}}, "judge": {"judge": name}}.get(how, {})
    sweep.change("plan.json", students=[named], groups=[[student]], settings=settings)
    sweep.change("jobs.jsonl", students=[student])
    done = sweep.run()
    assert done.returncode != 0
    assert "outside the working folder" in done.stderr
    assert "hf_abcdefgh1234" not in sweep.everything() + done.stdout + done.stderr


@pytest.mark.parametrize("what", ["student", "judge"])
def test_a_plan_names_no_folder_for_questions(sweep: Planned, what: str) -> None:
    name = f"handoff/{sweep.here.parent}/questions"
    if what == "judge":
        sweep.change("plan.json", settings={"judge": name})
    else:
        sweep.change("plan.json", students=[{"name": name, "model": "handoff"}], groups=[[name]])
        sweep.change("jobs.jsonl", students=[name])
    done = sweep.run()
    assert done.returncode != 0
    assert "a hand-off can teach" in done.stderr
    assert not (sweep.here.parent / "questions").exists()


@pytest.mark.parametrize(
    "changes",
    [
        {"students": [{"name": "any", "model": "anthropic/any"}]},
        {"students": [{"name": "any", "model": "openai-api/endpoint/any", "endpoint": "http://127.0.0.1:9/v1"}]},
        {"students": []},
    ],
)
def test_a_plan_that_hides_its_server_is_refused(sweep: Planned, changes: dict[str, Any]) -> None:
    with Provider() as provider:
        sweep.plan("any", f'base_url = "{provider.url}"')
        sweep.change("plan.json", **changes)
        done = sweep.run(UPSKILL_ENDPOINT_KEY="key-of-mine-123456")
        assert provider.requests == []
    assert done.returncode == 2
    assert "the plan" in done.stderr


def test_every_server_of_a_plan_is_named_before_it_is_asked(sweep: Planned) -> None:
    with Provider() as provider, Provider() as other:
        sweep.plan("any", f'base_url = "{provider.url}"', 'judge = "ollama/j"')
        done = sweep.run(OLLAMA_BASE_URL=other.url)
    lines = done.stderr.splitlines()
    assert f"note: models are asked at {provider.url} (base_url in plan.json)" in lines
    assert f"note: the judge is asked at {other.url} (OLLAMA_BASE_URL)" in lines


def test_a_plan_cannot_say_that_a_dear_evaluation_is_free(sweep: Planned) -> None:
    """Its caps come from what the plan says, and nobody is asked about what is free."""
    sweep.plan("sonnet", "max_retries = 0")
    sweep.change("jobs.jsonl", cost_at_most=0.0, cost_expected=0.0)
    sweep.change("plan.json", caps={})
    nowhere = {"ANTHROPIC_API_KEY": "sk-ant-of-mine-1234567890", "HTTPS_PROXY": "http://127.0.0.1:9"}
    done = sweep.upskill("sweep", "run", "at", "-j", "1", **nowhere)
    assert "costs more than the plan says" in done.stdout + done.stderr

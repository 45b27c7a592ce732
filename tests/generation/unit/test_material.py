"""What a teacher is given: recordings, documents, repositories, skills, each taken for what it is, without secrets."""

import json
import os
import sys
import threading
from pathlib import Path

import pytest

from upskill.core.runs.own_runs import seal_of
from upskill.errors import EngineError, UsageError
from upskill.generation import gathering
from upskill.generation.gathering import gather, material_record, read_material
from upskill.generation.material import Material, material_text

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2


def _skill(folder: Path, *, meta: object = None) -> Path:
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: gauge\ndescription: Reads tide gauges.\n---\nRead it.\n")
    if meta is not None:
        (folder / "skill_meta.json").write_text(json.dumps(meta))
    return folder


def test_a_text_is_a_recording_and_another_file_a_document(tmp_path: Path) -> None:
    (tmp_path / "trace.md").write_text("It failed.\n\nThen `make` passed.\n" * 30)
    (tmp_path / "page.html").write_text(f"<p>Use port 7413. {SECRET}</p>")
    (tmp_path / "table.json").write_text('{"port": 7413}')
    (tmp_path / "guide.md").write_text("---\nlayout: page\n---\n\n# Gauges\n\nUse port 7413.\n")
    (tmp_path / "long.md").write_text("# Session\n\n" + "It failed.\n\nThen `make` passed.\n" * 3_000)
    sources = [str(tmp_path / name) for name in ("trace.md", "page.html", "table.json", "guide.md", "long.md")]
    gathered = gather("read gauges", sources=sources, folder=tmp_path, environment={})
    assert gathered.digest is not None
    assert [document.name for document in gathered.documents] == ["page.html", "table.json", "guide.md"]
    assert SECRET not in material_record(gathered)
    assert gathered.redacted == 1
    again = read_material(material_record(gathered).encode(), previous=None, skill_folder=None)
    assert again == gathered, "going on with a run begins with the very same material"


def _animals(material: Material) -> set[str]:
    seen = material_text(material, (), budget=100_000)
    return {animal for animal in ("ape", "bear", "jay", "ibis", "kite") if animal in seen}


@pytest.mark.parametrize("enough", [True, False])
def test_later_sessions_of_a_habit_are_set_apart_from_what_is_learned_from(
    tmp_path: Path, enough: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    mined = tmp_path / "mined"
    mined.mkdir()
    for name, animal in (("1.md", "ape"), ("1-later-1.md", "jay"), ("1-later-2.md", "kite")):
        (mined / name).write_text(f"# Habit\n\n- Think of the {animal}. {SECRET}\n")
    for name, animal in (("early.md", "bear"), ("late.md", "ibis")):
        (tmp_path / name).write_text(f"Think of the {animal}.\n\nThen `make` passed.\n")
    candidate = {
        "number": 1,
        "task": "Think right.",
        "document": "1.md",
        "practice": [str(tmp_path / "early.md")],
        "later": [
            {"document": "1-later-1.md", "recording": str(tmp_path / "late.md")},
            {"document": "1-later-2.md", "recording": str(tmp_path / "gone.md")},
        ],
        "claim_possible": enough,
    }
    listed: dict[str, object] = {"format": "upskill.mined/1", "candidates": [candidate]}
    listed["seal"] = seal_of(mined, json.dumps(listed))
    (mined / "mined.json").write_text(json.dumps(listed))
    gathered = gather(None, sources=[f"{mined}:1"], folder=tmp_path, environment={})
    record = material_record(gathered)
    assert SECRET not in record
    assert read_material(record.encode(), previous=None, skill_folder=None) == gathered
    assert _animals(gathered) == {"ape", "bear"}
    later = gathered.later
    assert later is not None
    if enough:
        assert [*map(_animals, later.values())] == [{"jay", "ibis"}, {"kite"}]
        assert all(session.startswith("session-") and len(session) == 20 for session in later)
    else:
        assert later == {}
        assert "too few later sessions" in gathered.notes[0]


def test_a_template_is_read_as_the_text_that_it_is(tmp_path: Path) -> None:
    (tmp_path / "release.md").write_text("{{ title }}\n\nTag the release with `quayctl tag {{ version }}`.\n")
    (tmp_path / "page.j2").write_text("{% extends 'base' %}\n<p>Use port 7413.</p>\n")
    sources = [str(tmp_path / "release.md"), str(tmp_path / "page.j2")]
    gathered = gather("release", sources=sources, folder=tmp_path, environment={})
    assert gathered.digest is not None
    assert "quayctl tag" in gathered.digest.text
    assert [document.name for document in gathered.documents] == ["page.j2"]


def test_of_a_repository_the_prose_comes_first_and_what_is_hidden_is_not_read(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    for name, text in {
        "src/a.py": "print(1)",
        "README.md": "Read me.",
        "docs/use.md": "Use it.",
        ".env": f"TOKEN={SECRET}",
        ".git/config": "x",
        "node_modules/b.js": "x",
        "picture.png": "x",
    }.items():
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).write_text(text)
    gathered = gather("use it", sources=[str(repository)], folder=tmp_path, environment={})
    assert [one.name for one in gathered.documents] == ["README.md", "docs/use.md", "src/a.py"]


def test_of_a_large_repository_the_prose_still_comes_first_and_the_rest_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gathering, "MOST_FILES", 40)
    repository = tmp_path / "repository"
    (repository / "a").mkdir(parents=True)
    for number in range(39):
        (repository / "a" / f"{number}.py").write_text("x = 1\n" * 20_000)
    (repository / "README.md").write_text("Read me.")
    gathered = gather("use it", sources=[str(repository)], folder=tmp_path, environment={})
    assert gathered.documents[0].name == "README.md"
    assert any("total size limit" in note for note in gathered.notes)
    assert not any("more than 40" in note for note in gathered.notes)
    (repository / "one-more.py").write_text("x")
    gathered = gather("use it", sources=[str(repository)], folder=tmp_path, environment={})
    assert any("has more than 40 files; only the first 40 were considered" in note for note in gathered.notes)


def test_a_folder_of_recordings_is_no_repository(tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    (folder / "README.md").write_text("Sessions.")
    chat = [{"role": "user", "content": "Build it."}, {"role": "assistant", "content": "Built."}]
    (folder / "one.jsonl").write_text("".join(json.dumps(line) + "\n" for line in chat))
    gathered = gather("build", sources=[str(folder)], folder=tmp_path, environment={})
    assert gathered.digest is not None
    assert gathered.documents == ()


def test_the_task_of_a_skill_is_what_it_was_made_for_or_what_it_says_of_itself(tmp_path: Path) -> None:
    provenance = {"task": "read tide gauges", "teacher": "opus", "teacher_model": "x"}
    made = _skill(tmp_path / "a" / "gauge", meta={"format": "upskill.skill/1", "provenance": provenance})
    plain = _skill(tmp_path / "b" / "gauge")
    assert gather(None, sources=[str(made)], folder=tmp_path, environment={}).task == "read tide gauges"
    found = gather(None, sources=[str(plain / "SKILL.md")], folder=tmp_path, environment={})
    assert found.task == "Reads tide gauges."
    assert found.wish is None
    assert found.skill is not None
    assert gather("be brief", sources=[str(plain)], folder=tmp_path, environment={}).wish == "be brief"


def test_secrets_in_the_task_and_the_examples_go(tmp_path: Path) -> None:
    gathered = gather(f"deploy with {SECRET}", examples=[f"push {SECRET}"], folder=tmp_path, environment={})
    assert SECRET not in material_record(gathered)
    assert gathered.redacted == 2


@pytest.mark.parametrize("task", [None, ""])
def test_without_a_task_and_a_source_there_is_nothing_to_do(tmp_path: Path, task: str | None) -> None:
    with pytest.raises(UsageError, match="no task was given"):
        gather(task, folder=tmp_path, environment={})


@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="names of files are Unicode there")
def test_what_is_not_utf8_is_kept_and_sent_with_question_marks(tmp_path: Path) -> None:
    (tmp_path / "caf\udce9.html").write_text("<p>Use port 7413.</p>")
    gathered = gather(
        "read caf\udce9", examples=["half \ud83d"], sources=[str(tmp_path / "caf\udce9.html")], folder=tmp_path
    )
    (document,) = gathered.documents
    assert (gathered.task, document.name) == ("read caf?", "caf?.html")
    assert read_material(material_record(gathered).encode(), previous=None, skill_folder=None) == gathered


@pytest.mark.parametrize("text", [b"", b"{", b'{"task": 1}', b"\xff"])
def test_damaged_material_is_told_as_such(text: bytes) -> None:
    with pytest.raises(EngineError, match="material of this run cannot be read"):
        read_material(text, previous=None, skill_folder=None)


def _repository_with_cases(folder: Path) -> Path:
    """What lies about where somebody works with upskill: a skill with cases, a run of it, a file of cases."""
    for name, text in {
        "README.md": "Read me.",
        "skills/gauge/SKILL.md": "---\nname: gauge\ndescription: Reads tide gauges.\n---\nRead it.\n",
        "skills/gauge/skill_meta.json": '{"cases": [{"input": "Which port?", "expected": {"contains": ["held out"]}}]}',
        "skills/gauge/evals/evals.json": '{"evals": ["held out"]}',
        "runs/one/run.json": "{}",
        "runs/one/trials.jsonl": '{"answer": "held out"}\n',
        "runs/one/logs/x.json": '{"messages": [{"role": "user", "content": "held out"}]}',
        "runs/two/generate.json": "{}",
        "runs/two/material.json": "{}",
        "runs/two/cases.json": '{"cases": ["held out"]}',
        "handoff/cases/README.md": "Questions to a case writer.",
        "handoff/cases/handoff.json": "{}",
        "handoff/cases/001-cases-0badf00d/question.md": "held out",
        "facts.json": '[{"id": "port", "text": "held out"}]',
        "old-plan.json": '{\n "format": "upskill.plan/1",\n "facts": ["held out"]}',
        "own.json": '{"cases": [{"input": "Which port?", "expected": {"contains": ["held out"]}}]}',
        "evals/notes.md": "No skill lies beside this folder.",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_cases_that_lie_in_a_repository_are_not_shown_to_a_teacher(tmp_path: Path) -> None:
    repository = _repository_with_cases(tmp_path / "repository")
    skill, unseen = repository / "skills" / "gauge", [repository / "own.json", repository / "facts.json"]
    sources = [str(skill), str(repository)]
    gathered = gather("improve it", sources=sources, folder=tmp_path, unseen=unseen, environment={})
    names = {one.name for one in gathered.documents}
    assert names == {"README.md", "evals/notes.md", "skills/gauge/SKILL.md"}
    assert "held out" not in material_record(gathered)


def test_a_file_of_cases_is_not_learned_from_as_well(tmp_path: Path) -> None:
    cases = _repository_with_cases(tmp_path / "repository") / "own.json"
    with pytest.raises(UsageError, match="the teacher must not see it"):
        gather("x", sources=[str(cases)], folder=tmp_path, unseen=[tmp_path / "repository" / "." / "own.json"])


def test_a_pipe_in_a_repository_is_not_waited_for(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    (repository / "README.md").write_text("Read me.")
    os.mkfifo(repository / "pipe.md")
    # Without anybody who writes into it, reading would wait for ever; so somebody comes, and then it is told.
    late = threading.Timer(3.0, (repository / "pipe.md").write_text, ["Read from the pipe."])
    late.daemon = True
    late.start()
    gathered = gather("x", sources=[str(repository)], folder=tmp_path, environment={})
    late.cancel()
    assert [one.name for one in gathered.documents] == ["README.md"]

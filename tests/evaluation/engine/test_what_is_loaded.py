"""What is loaded, and what is not: each in a process of its own."""

import subprocess
import sys
import zipfile
from importlib import import_module
from pathlib import Path

import upskill
from forking import COMMAND


def test_importing_the_package_loads_nothing_of_it() -> None:
    code = "import sys, upskill; upskill.__version__; print(sorted(m for m in sys.modules if m.startswith('upskill')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['upskill', 'upskill.lazy_exports']"


def test_the_library_loads_no_engine_before_a_trial_runs() -> None:
    code = "import sys, upskill; upskill.evaluate, upskill.UsageError; print('inspect_ai' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_search_leaves_no_file_and_needs_no_model_library() -> None:
    modules = "upskill.generation.refine, upskill.generation.search"
    code = f"import sys, {modules}; print('gepa' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_an_evaluation_loads_nothing_of_the_hub(tmp_path: Path, example_skill: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import atexit, sys\n"
        "atexit.register(lambda: sys.stderr.write(str(bool({'huggingface_hub', 'arro3'} & set(sys.modules)))))"
    )
    student = f"scripted/{example_skill.parent}/scripted/student.yaml"
    words = [COMMAND, "eval", str(example_skill), "-m", student, "--runs", "1", "--yes"]
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=tmp_path, env=environment)
    assert done.stderr.endswith("False")


def test_the_core_needs_the_standard_library_only() -> None:
    """So that it runs under any Python, as any user."""
    code = (
        "import sys; import upskill.sandbox, upskill.sandbox.bubblewrap, upskill.sandbox.unconfined\n"
        "import upskill.sandbox.probes\n"
        "allowed = set(sys.stdlib_module_names) | {'upskill', '__main__'}\n"
        "print(sorted({name.split('.')[0] for name in sys.modules} - allowed))"
    )
    source = str(Path(upskill.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path.insert(0, {source!r})\n{code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"


def test_a_log_as_the_engine_packs_it_is_read_where_the_engine_was_not_loaded(tmp_path: Path) -> None:
    import_module("zipfile_zstd")  # teaches zipfile; the process below has to learn it by itself
    with zipfile.ZipFile(tmp_path / "a.eval", "w", 93) as archive:
        archive.writestr("one.json", "it was hunter2")
    code = (
        "import sys; from pathlib import Path; from upskill.core.runs.engine_logs import clean_logs;"
        "print(clean_logs(Path(sys.argv[1]), lambda text: text.replace('hunter2', 'gone')))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "()", done.stdout
    with zipfile.ZipFile(tmp_path / "a.eval") as archive:
        assert archive.read("one.json") == b"it was gone"


def test_a_chat_evaluation_loads_what_it_uses(tmp_path: Path) -> None:
    """Fewer than 200 modules of ours, and nothing of what the engine would load for clients that it does not serve."""
    code = (
        "import sys; from upskill.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "ours = [name for name in sys.modules if name.split('.')[0] == 'upskill']\n"
        "print(len(ours), 'acp' in sys.modules, 'inspect_ai.agent._acp.server' in sys.modules)"
    )
    root = Path(__file__).parents[3] / "examples"
    done = subprocess.run(
        [sys.executable, "-c", code, "eval", str(root / "tarnctl"), "-m", f"scripted/{root}/scripted/student.yaml"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    modules, protocol, server = done.stdout.splitlines()[-1].split()
    assert 50 < int(modules) < 200
    assert (protocol, server) == ("False", "False")

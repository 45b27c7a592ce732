"""The example notebook in a real kernel, on the real local model.

Its outputs are real. To refresh them, start the model and type `jupyter execute --inplace examples/notebook.ipynb`.
"""

import shutil
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

EXAMPLES = Path(__file__).parents[2] / "examples"


def _outputs(notebook: Any) -> list[Any]:
    return [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]


def _shown(notebook: Any, form: str) -> str:
    return "".join(str(output.get("data", {}).get(form, "")) for output in _outputs(notebook))


@pytest.mark.full
def test_the_notebook_runs_and_its_table_says_that_the_skill_helps(
    local_model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(EXAMPLES / "tarnctl", tmp_path / "tarnctl")
    monkeypatch.setenv("LOCAL_MODEL_URL", local_model)
    for variable in ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "IPYTHONDIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(variable, str(tmp_path / "home"))
    notebook: Any = nbformat.read(EXAMPLES / "notebook.ipynb", as_version=4)  # type: ignore[no-untyped-call]
    committed = [output.output_type for output in _outputs(notebook)]
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    table = _shown(notebook, "text/html")
    assert "<table" in table
    assert "helps: " in table
    assert [output.output_type for output in _outputs(notebook)] == committed, "refresh it: see its test"
    assert "failed_calls" in _shown(notebook, "text/plain")

"""A key planted in the environment is nowhere in what a run leaves behind, whatever a server does with it."""

import base64
import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from on_engine import Make
from provider import Behaviour, Provider, ReceivedRequest
from upskill.core.runs.trial_log import TrialWriter
from upskill.core.settings import resolve_settings
from upskill.errors import EngineError
from upskill.evaluation.check_cases import check_cases, probe_cases
from upskill.report.json_report import evaluation_json

KEY = "canary/7Qz+4Kx9" + "LmW2=vT8pR"


def _forms() -> list[bytes]:
    coded = [base64.b64encode(b"." * before + KEY.encode())[8:-4] for before in (3, 4, 5)]
    return [
        KEY.encode(),
        quote(KEY, safe="").encode(),
        KEY.replace("/", "\\/").encode(),
        KEY.encode().hex().encode(),
        *coded,
    ]


def _everything(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path.name, path.read_bytes()
            if zipfile.is_zipfile(path):
                with zipfile.ZipFile(path) as archive:
                    for name in archive.namelist():
                        yield f"{path.name}/{name}", archive.read(name)


def _found(folder: Path) -> list[tuple[str, bytes]]:
    return [(name, form) for name, data in _everything(folder) for form in _forms() if form in data]


def _says(asked: ReceivedRequest) -> Behaviour:
    return Behaviour(text=f"echo {asked.headers['authorization']} or {base64.b64encode(KEY.encode()).decode()}")


def _refuses(asked: ReceivedRequest) -> Behaviour:
    said = f"Incorrect API key provided: {asked.headers['authorization'].removeprefix('Bearer ')}"
    return Behaviour(status=401, error={"message": said, "type": "invalid_request_error", "code": "invalid_api_key"})


def _healthy(asked: ReceivedRequest) -> Behaviour:
    return Behaviour(text="x")


@pytest.mark.parametrize("behave", [_healthy, _says, _refuses])
def test_the_key_is_nowhere_in_what_a_run_leaves(
    behave: Callable[[ReceivedRequest], Behaviour],
    skill: Make,
    run_at: Any,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("UPSKILL_ENDPOINT_KEY", KEY)
    ran, provider = run_at(skill([("Which port?", {"contains": "x"})]), behave, store=True)
    assert {asked.headers["authorization"] for asked in provider.requests} == {f"Bearer {KEY}"}
    assert len(list(ran.run.glob("logs/*.eval"))) == 1
    assert _found(tmp_path) == []
    shown = json.dumps(evaluation_json(ran.evaluation)) + str(ran.trials)
    assert [form for form in _forms() if form in shown.encode()] == []
    if behave is not _healthy:
        assert "[redacted: UPSKILL_ENDPOINT_KEY]" in (ran.run / "trials.jsonl").read_text()


@pytest.mark.parametrize("behave", [_says, _refuses])
def test_the_key_is_nowhere_in_what_a_probe_leaves(
    behave: Callable[[ReceivedRequest], Behaviour], skill: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UPSKILL_ENDPOINT_KEY", KEY)
    folder = skill([("Which port?", {"contains": "x"})])
    with Provider(behave) as provider:
        flags = {"models": ("any",), "base_url": provider.url, "runs_dir": "runs", "max_retries": 0}
        settings = resolve_settings(flags, environment={}, folder=tmp_path, user_folder=tmp_path)
        probe_cases(check_cases(folder), folder, settings=settings)
        assert provider.requests
    assert "[redacted: UPSKILL_ENDPOINT_KEY]" in next(tmp_path.glob("runs/*/trials.jsonl")).read_text()
    assert _found(tmp_path) == []


def test_the_key_is_nowhere_in_what_a_run_leaves_that_broke_down(
    skill: Make, run_at: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def full(self: TrialWriter, trial: object) -> None:
        raise EngineError("no space is left")

    monkeypatch.setenv("UPSKILL_ENDPOINT_KEY", KEY)
    monkeypatch.setattr(TrialWriter, "append", full)
    with pytest.raises(EngineError, match="no space"):
        run_at(skill([("Which port?", {"contains": "x"})]), _says)
    assert list(tmp_path.glob("runs/*/logs/*.eval"))
    assert _found(tmp_path) == []


def test_the_search_would_find_it(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text(f"x {KEY} y")
    with zipfile.ZipFile(tmp_path / "log.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("samples/1.json", base64.b64encode(f"ab{KEY}cd".encode()))
    assert {name for name, _ in _found(tmp_path)} == {"plain", "log.zip/samples/1.json"}

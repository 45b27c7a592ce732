"""A settings file that somebody else wrote, or that came with a clone, redirects nobody and gets no key unasked."""

import hashlib
import json
import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from forking import run_program
from typed import Upskill
from typed_in_terminal import Terminal

KEY = "made-up-endpoint-key-4711"
ANOTHER_USER = 4242
FAR = "https://models.example.com/v1"


class Listener:
    """Another user's port: it answers every request, and remembers the key of each."""

    def __init__(self) -> None:
        self.keys: list[str | None] = []
        """Of every request, also of those that ask what is served."""
        keys = self.keys

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer({"object": "list", "data": [{"id": "haiku"}]})

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["content-length"]))
                message = {"role": "assistant", "content": "8472"}
                choice = {"index": 0, "message": message, "finish_reason": "stop"}
                usage = {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10}
                self._answer(
                    {"id": "c", "object": "chat.completion", "created": 1, "model": "haiku"}
                    | {"choices": [choice], "usage": usage}
                )

            def _answer(self, value: dict[str, Any]) -> None:
                keys.append(self.headers["authorization"])
                body = json.dumps(value).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Nothing on the screen of the tests."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"

    @property
    def with_key(self) -> int:
        return sum(KEY in (key or "") for key in self.keys)


@pytest.fixture
def listener() -> Iterator[Listener]:
    one = Listener()
    threading.Thread(target=one.server.serve_forever, daemon=True).start()
    yield one
    one.server.shutdown()
    one.server.server_close()


@pytest.fixture
def quay(here: Path) -> Path:
    folder = here / "quay"
    folder.mkdir()
    (folder / "SKILL.md").write_text("---\nname: quay\ndescription: Facts.\n---\nThe port is 8472.\n")
    case = {"id": "port", "input": "Which port?", "expected": {"contains": "8472"}}
    (folder / "skill_meta.json").write_text(json.dumps({"cases": [case]}))
    return folder


def give_away(path: Path) -> None:
    """Make the file one that another user wrote, or, where tests are not run by root, could have written."""
    if os.geteuid() == 0:
        os.chown(path, ANOTHER_USER, ANOTHER_USER)
    else:
        path.chmod(0o666)


def settings_file(folder: Path, text: str) -> Path:
    path = folder / "upskill.toml"
    path.write_text(text)
    return path


def evaluate(upskill: Upskill, quay: Path, *words: str, **variables: str) -> Any:
    return upskill(
        "eval", str(quay), "-m", "haiku", "--runs", "1", "--fresh", *words, UPSKILL_ENDPOINT_KEY=KEY, **variables
    )


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_file_of_another_user_above_the_working_folder_is_not_looked_at(
    upskill: Upskill, here: Path, quay: Path, listener: Listener
) -> None:
    give_away(settings_file(here.parent, f'base_url = "{listener.url}"'))
    done = evaluate(upskill, quay)
    assert done.returncode == 3
    assert "ANTHROPIC_API_KEY is not set" in done.stderr
    assert listener.keys == []


def test_a_file_of_another_user_in_the_working_folder_is_refused_until_its_digest_is_trusted(
    upskill: Upskill, here: Path, quay: Path, listener: Listener
) -> None:
    path = settings_file(here, f'base_url = "{listener.url}"')
    give_away(path)
    for words in ((), ("--dry-run",), ("--base-url", "http://127.0.0.1:9/v1")):
        done = evaluate(upskill, quay, *words)
        assert done.returncode == 3
        assert f"{path}: is not used, because" in done.stderr
        assert f"UPSKILL_TRUST={digest(path)}" in done.stderr
    assert listener.keys == []
    done = evaluate(upskill, quay, UPSKILL_TRUST=f"{'0' * 64}, {digest(path)}")
    assert done.returncode == 0, done.stderr
    assert listener.with_key == len(listener.keys) > 0


@pytest.mark.parametrize(
    "setting",
    [
        f'base_url = "{FAR}"',
        'base_url = "http://127.0.0.1@models.example.com/v1"',
        f'teacher_base_url = "{FAR}"',
        "max_cost = 500",
        "max_retries = 90",
        "max_turns = 900",
        "max_trial_minutes = 600",
        'runs_dir = "/var/tmp/elsewhere"',
        'runs_dir = "../elsewhere"',
        'skills_dir = "~/.agents/skills"',
        'ledger = "../looks.jsonl"',
        'ledger = "looks.jsonl"',
        'teacher = "handoff/../elsewhere"',
        '[aliases]\nsonnet = "handoff/~/elsewhere"',
        '[aliases]\nhaiku = "scripted/fake.yaml"',
        'teacher = "scripted/fake.yaml"',
        'test_gen_model = "scripted/fake.yaml"',
        'judge = "haiku"',
        'agent_bin = "bin/codex"',
    ],
)
def test_ones_own_file_that_came_with_a_clone_is_asked_about_before_it_redirects_raises_or_writes(
    upskill: Upskill, here: Path, quay: Path, setting: str
) -> None:
    path = settings_file(here, setting)
    done = evaluate(upskill, quay, "--dry-run")
    assert done.returncode == 3
    assert f"{path}: sets values that need your trust" in done.stderr
    name = setting.removeprefix("[").split()[0].removesuffix("]")
    assert any(line.startswith(f"  {name} = ") for line in done.stderr.splitlines())
    assert f"upskill trust {path}" in done.stderr
    assert not (here.parent / "elsewhere").exists()


def test_a_link_that_came_with_a_clone_moves_no_run_and_no_skill_out_of_the_project(
    upskill: Upskill, here: Path, quay: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    victim = tmp_path_factory.mktemp("victim")
    (here / "student.yaml").write_text("rules: [{replies: ['8472']}]\n")
    for name in ("runs", "skills"):
        (here / name).symlink_to(victim)
    evaluated = upskill("eval", str(quay), "-m", "scripted/student.yaml")
    planned = upskill("generate", "Know the port", "-m", "handoff", "--no-eval", "--dry-run")
    for done, typed in ((evaluated, "set UPSKILL_RUNS_DIR=runs"), (planned, "type -o skills")):
        assert done.returncode == 3, done.stderr
        assert f"is a link out of the project, to {victim}" in done.stderr
        assert f"to write there, {typed}" in done.stderr
    assert list(victim.iterdir()) == []


@pytest.mark.parametrize(
    ("setting", "flag"),
    [
        (f'base_url = "{FAR}"', ("--base-url", "http://127.0.0.1:9/v1")),
        ("max_cost = 500", ("--max-cost", "1")),
        ('judge = "scripted/theirs.yaml"', ("--judge", "opus")),
        ('models = ["scripted/theirs.yaml"]', ("--runs", "1")),
    ],
)
def test_what_is_typed_needs_no_trust(
    upskill: Upskill, here: Path, quay: Path, setting: str, flag: tuple[str, str]
) -> None:
    settings_file(here, setting)
    assert "trust" not in evaluate(upskill, quay, *flag, "--dry-run").stderr


@pytest.mark.parametrize(
    ("setting", "variable", "value"),
    [
        ('ledger = "theirs.jsonl"', "UPSKILL_LEDGER", "looks.jsonl"),
        ('agent_bin = "bin/codex"', "UPSKILL_AGENT_BIN", "codex"),
        ("max_turns = 900", "UPSKILL_MAX_TURNS", "9"),
    ],
)
def test_what_stands_in_a_variable_needs_no_trust(
    upskill: Upskill, here: Path, quay: Path, setting: str, variable: str, value: str
) -> None:
    settings_file(here, setting)
    done = evaluate(upskill, quay, "--dry-run", **{variable: value})
    assert "trust" not in done.stderr


def test_a_script_that_a_file_names_in_place_of_a_model_needs_trust_and_a_typed_one_does_not(
    upskill: Upskill, here: Path, quay: Path
) -> None:
    (here / "student.yaml").write_text("rules: [{replies: ['8472']}]\n")
    path = settings_file(here, 'models = [" scripted/student.yaml"]')
    done = upskill("eval", str(quay), "--dry-run")
    assert done.returncode == 3
    assert "scripted/student.yaml: a script would answer in place of a model" in done.stderr
    assert f"upskill trust {path}" in done.stderr
    assert upskill("eval", str(quay), "--dry-run", UPSKILL_TRUST=digest(path)).returncode == 0
    assert upskill("eval", str(quay), "--dry-run", "-m", "scripted/student.yaml").returncode == 0


def test_ones_own_loopback_server_is_asked_without_a_question_and_without_the_key_and_named_first(
    upskill: Upskill, here: Path, quay: Path, listener: Listener
) -> None:
    path = settings_file(here, f'base_url = "{listener.url}"')
    first = f"models are asked at {listener.url} (base_url in ./upskill.toml); UPSKILL_ENDPOINT_KEY is not sent there"
    for words in (("--dry-run",), ()):
        done = evaluate(upskill, quay, *words)
        assert done.returncode == 0, done.stderr
        assert done.stderr.startswith(first)
        assert done.stderr.count("models are asked at") == 1
    assert listener.with_key == 0
    assert len(listener.keys) > 2
    (run,) = here.glob("runs/*/run.json")
    assert json.loads(run.read_text())["notes"][0].startswith(first)
    listener.keys.clear()
    done = evaluate(upskill, quay, UPSKILL_TRUST=digest(path))
    assert done.stderr.startswith(f"models are asked at {listener.url} (base_url in ./upskill.toml)\n")
    assert listener.with_key == len(listener.keys) > 0


def test_a_run_that_is_resumed_has_the_trust_of_today(
    upskill: Upskill, here: Path, quay: Path, listener: Listener
) -> None:
    assert evaluate(upskill, quay, "--base-url", listener.url).returncode == 0
    run = next(here.glob("runs/*/run.json")).parent
    listener.keys.clear()
    path = settings_file(here, f'base_url = "{listener.url}"')
    done = upskill("eval", "--resume", str(run), UPSKILL_ENDPOINT_KEY=KEY)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith(f"models are asked at {listener.url} (base_url in ./upskill.toml); UPSKILL_END")
    assert (len(listener.keys) > 0, listener.with_key) == (True, 0)
    done = upskill("eval", "--resume", str(run), UPSKILL_ENDPOINT_KEY=KEY, UPSKILL_TRUST=digest(path))
    assert listener.with_key > 0
    settings_file(here, f'base_url = "{FAR}"')
    assert "sets values that need your trust" in upskill("eval", "--resume", str(run)).stderr


def test_a_typed_server_gets_the_key_and_is_not_announced_and_one_of_a_variable_is(
    upskill: Upskill, here: Path, quay: Path, listener: Listener
) -> None:
    done = evaluate(upskill, quay, "--base-url", listener.url)
    assert done.returncode == 0
    assert "are asked at" not in done.stderr
    assert listener.with_key == len(listener.keys) > 0
    listener.keys.clear()
    done = evaluate(upskill, quay, UPSKILL_BASE_URL=listener.url)
    assert done.stderr.startswith(f"models are asked at {listener.url} (UPSKILL_BASE_URL)\n")
    assert listener.with_key == len(listener.keys) > 0


def test_the_users_own_file_is_trusted_and_named(
    upskill: Upskill, home: Path, here: Path, quay: Path, listener: Listener
) -> None:
    folder = home / ".config" / "upskill"
    folder.mkdir(parents=True)
    path = settings_file(folder, f'base_url = "{listener.url}"\nmax_cost = 50.0')
    done = evaluate(upskill, quay)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith(f"models are asked at {listener.url} (base_url in {path})\n")
    assert listener.with_key == len(listener.keys) > 0
    settings_file(here, "max_cost = 50.0")
    assert evaluate(upskill, quay, "--dry-run").returncode == 0
    settings_file(here, "max_cost = 51.0")
    assert "max_cost = 51.0: above 50, the limit in your own file" in evaluate(upskill, quay, "--dry-run").stderr
    give_away(path)
    (here / "upskill.toml").unlink()
    listener.keys.clear()
    assert evaluate(upskill, quay).returncode == 3
    assert listener.keys == []


def test_aliases_of_a_file_are_named_with_their_origin_and_no_file_redirects_the_key_to_a_port(
    upskill: Upskill, here: Path, quay: Path, listener: Listener
) -> None:
    settings_file(here, '[aliases]\nhaiku = "ollama/other"')
    done = evaluate(upskill, quay, "--dry-run", OLLAMA_BASE_URL=listener.url)
    first, second, *_ = done.stderr.splitlines()
    assert first == "haiku stands for openai-api/endpoint/other (aliases in ./upskill.toml)"
    assert second == f"models are asked at {listener.url} (OLLAMA_BASE_URL)"
    done = upskill("models", "haiku", "--json", UPSKILL_ENDPOINT_KEY=KEY)
    assert done.stderr.startswith("haiku stands for")
    (row,) = json.loads(done.stdout)["models"]
    assert (row["endpoint"], row["key_variable"], row["key_set"]) == ("http://localhost:11434/v1", None, False)


@pytest.mark.parametrize("variable", ["ANTHROPIC_BASE_URL", "INSPECT_EVAL_MODEL_BASE_URL"])
def test_a_variable_that_moves_a_provider_is_named(
    upskill: Upskill, quay: Path, listener: Listener, variable: str
) -> None:
    done = evaluate(upskill, quay, "--dry-run", ANTHROPIC_API_KEY="made-up", **{variable: listener.url})
    assert done.stderr.startswith(f"models are asked at {listener.url} ({variable})\n")


def test_an_env_file_in_the_working_folder_sets_nothing(
    upskill: Upskill, here: Path, quay: Path, listener: Listener
) -> None:
    other = Listener()
    lines = ("UPSKILL_BASE_URL", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "INSPECT_EVAL_MODEL_BASE_URL")
    (here / ".env").write_text("".join(f"{name}={other.url}\n" for name in lines) + "INSPECT_LOG_DIR=elsewhere\n")
    done = evaluate(upskill, quay, "--base-url", listener.url)
    assert done.returncode == 0
    assert evaluate(upskill, quay).returncode == 3
    assert other.keys == []
    assert not (here / "elsewhere").exists()
    other.server.server_close()


def test_a_pipe_named_like_an_env_file_above_the_working_folder_holds_nothing_up(
    upskill: Upskill, here: Path, quay: Path
) -> None:
    os.mkfifo(here.parent / ".env")
    done = upskill("eval", str(quay), "-m", f"scripted/{_script(here)}", "--runs", "1")
    assert done.returncode == 0, done.stderr


def test_the_teacher_is_named_first_and_gets_no_key_from_an_untrusted_file(
    upskill: Upskill, here: Path, quay: Path, listener: Listener
) -> None:
    settings_file(here, f'teacher = "strong"\nteacher_base_url = "{listener.url}"')
    line = f"is asked at {listener.url} (teacher_base_url in ./upskill.toml); UPSKILL_TEACHER_KEY is not sent there"
    done = upskill("generate", "--dry-run", "Write commit messages", UPSKILL_TEACHER_KEY=KEY)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith(f"the teacher {line}")
    assert done.stderr.splitlines()[1].startswith(f"models are asked at {listener.url} (teacher_base_url in")
    done = upskill("cases", "write", "--replace", "--dry-run", str(quay), UPSKILL_TEACHER_KEY=KEY)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith(f"the case writer {line}")
    assert len(listener.keys) > 0
    assert listener.with_key == 0


def test_the_library_has_the_same_rules(
    here: Path, quay: Path, environment: dict[str, str], listener: Listener
) -> None:
    give_away(settings_file(here, f'base_url = "{listener.url}"'))
    program = f"import upskill; upskill.evaluate({str(quay)!r}, models='haiku', runs=1)"
    done = run_program([sys.executable, "-c", program], cwd=here, env={**environment, "UPSKILL_ENDPOINT_KEY": KEY})
    assert "SettingsError" in done.stderr
    assert "is not used, because" in done.stderr
    assert listener.keys == []


def test_a_server_that_is_not_there_is_named_with_what_to_correct(upskill: Upskill, here: Path, quay: Path) -> None:
    settings_file(here, 'base_url = "http://127.0.0.1:9/v1"')
    assert "hint:  start the server, or correct base_url in ./upskill.toml\n" in evaluate(upskill, quay).stderr
    shown = upskill("models", "haiku", UPSKILL_ENDPOINT_KEY=KEY).stdout
    assert "UPSKILL_ENDPOINT_KEY (set, but not sent there, only if the server asks for one)" in shown


def test_probing_cases_names_the_server_first_and_sends_no_key(
    upskill: Upskill, here: Path, quay: Path, listener: Listener
) -> None:
    settings_file(here, f'base_url = "{listener.url}"')
    done = upskill("cases", "check", str(quay), "--probe", "-m", "haiku", "--yes", UPSKILL_ENDPOINT_KEY=KEY)
    assert done.returncode == 0, done.stderr
    assert f"models are asked at {listener.url} (base_url in ./upskill.toml)" in done.stderr.splitlines()[0]
    assert (len(listener.keys) > 1, listener.with_key) == (True, 0)


def test_harmless_commands_work_beside_an_untrusted_file_and_mark_it(upskill: Upskill, here: Path, quay: Path) -> None:
    settings_file(here, f'base_url = "{FAR}"\nskills_dir = "."')
    for words in (("list",), ("--help",), ("settings",), ("doctor", "--help")):
        assert upskill(*words).returncode == 0
    assert " ".join(upskill("settings").stdout.split()).count("(not trusted)") == 1
    rows = {row["setting"]: row for row in json.loads(upskill("settings", "--json").stdout)["settings"]}
    assert [name for name, row in rows.items() if not row["trusted"]] == ["base_url"]


@pytest.mark.parametrize(
    "url", ["http://me:hunter2@models.example.com/v1", "me:hunter2@host", "https://models.example.com/v1?key=hunter2"]
)
def test_a_password_in_a_url_is_never_printed(upskill: Upskill, here: Path, quay: Path, url: str) -> None:
    path = settings_file(here, f'base_url = "{url}"\nteacher_base_url = "{url}"')
    trusted = {"UPSKILL_TRUST": digest(path)}
    tried = [
        upskill("settings"),
        upskill("settings", "--json"),
        upskill("trust"),
        evaluate(upskill, quay),
        evaluate(upskill, quay, **trusted),
        upskill("models", "haiku", **trusted),
        upskill("generate", "Write commit messages", "--dry-run", **trusted),
    ]
    for done in tried:
        assert "hunter2" not in done.stdout + done.stderr
    assert [done.returncode for done in tried[:3]] == [0, 0, 3]
    assert "[hidden]" in tried[0].stdout
    done = evaluate(upskill, quay, "-m", f"scripted/{_script(here)}", UPSKILL_BASE_URL="", UPSKILL_TEACHER_BASE_URL=url)
    assert "hunter2" not in "".join(one.read_text() for one in here.glob("runs/*/*.json*"))


def _script(here: Path) -> Path:
    (here / "student.yaml").write_text("rules: [{replies: ['8472']}]")
    return here / "student.yaml"


def test_trust_without_a_terminal_shows_what_needs_it_and_how_to_say_it(upskill: Upskill, here: Path) -> None:
    path = settings_file(here, f'base_url = "{FAR}"\nmax_cost = 500.0\nseed = 3')
    done = upskill("trust")
    assert done.returncode == 3
    assert done.stdout.splitlines()[0] == f"file:    {path}"
    assert done.stdout.splitlines()[2] == f"sha256:  {digest(path)}"
    assert done.stdout.splitlines()[4:] == [
        f'  base_url = "{FAR}": requests would go to another machine',
        "  max_cost = 500.0: above 5, the limit without trust",
    ]
    assert f"export UPSKILL_TRUST={digest(path)}" in done.stderr
    assert upskill("models", "haiku", UPSKILL_TRUST="yes").returncode == 3
    settings_file(here, "seed = 3")
    assert upskill("trust").stdout.splitlines()[-1] == "Nothing in it needs trust."
    path.unlink()
    assert upskill("trust").returncode == 2


def test_trust_is_given_at_a_terminal_listed_revoked_and_ended_by_any_change(
    upskill: Upskill, here: Path, home: Path, environment: dict[str, str]
) -> None:
    path = settings_file(here, f'base_url = "{FAR}"')
    with Terminal(here, environment, columns=200, rows=40) as terminal:
        for shown, answer, code in ((1, "n", "code=3"), (2, "y", "code=0")):
            terminal.type("trust")
            _wait(terminal, "until it changes? [y/N]:", times=shown)
            terminal.press(answer)
            terminal.press("Enter")
            _wait(terminal, code, times=1)
    kept = home / ".config" / "upskill" / "trusted.json"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert upskill("models", "haiku").returncode == 0
    assert upskill("trust", "--list").stdout == f"{digest(path)}  {path}\n"
    (entry,) = json.loads(upskill("trust", "--list", "--json").stdout)["files"]
    assert (entry["path"], entry["sha256"]) == (str(path), digest(path))
    before = path.read_text()
    path.write_text(before + "\n")
    assert upskill("models", "haiku").returncode == 3
    path.write_text(before)
    assert upskill("models", "haiku").returncode == 0
    copy = here / "elsewhere"
    copy.mkdir()
    settings_file(copy, before)
    assert upskill("models", "haiku", cwd=copy).returncode == 3
    assert upskill("trust", "--revoke").returncode == 0
    assert upskill("trust", "--revoke").returncode == 3
    assert upskill("models", "haiku").returncode == 3
    assert upskill("trust", "--list").stdout == ""


def _wait(terminal: Terminal, text: str, *, times: int) -> None:
    terminal.wait(lambda: terminal.screen().count(text) == times)


def test_a_list_of_trusted_files_that_another_could_write_is_not_believed(
    upskill: Upskill, here: Path, home: Path
) -> None:
    path = settings_file(here, f'base_url = "{FAR}"')
    kept = home / ".config" / "upskill" / "trusted.json"
    kept.parent.mkdir(parents=True)
    entry = {"path": str(path), "sha256": digest(path), "at": "2026-11-16"}
    kept.write_text(json.dumps({"schema": "upskill.trusted/1", "files": [entry]}))
    assert upskill("models", "haiku").returncode == 0
    give_away(kept)
    done = upskill("models", "haiku")
    assert done.returncode == 3
    assert f"{kept}: other users can write it" in done.stderr


_JUDGE = """
import os, sys
from pathlib import Path
from upskill.core.settings.trust import read_settings_file
os.setuid(int(sys.argv[1]))
for path in sys.argv[2:]:
    print(read_settings_file(Path(path)).foreign)
"""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter: those of pytest are for their owner only."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser gives files away")
def test_a_user_owns_what_is_theirs_or_the_systems_and_the_superuser_only_their_own(open_folder: Path) -> None:
    files = {owner: _settings_of(open_folder / str(owner)) for owner in (0, 4242, 4343)}
    for owner, path in files.items():
        os.chown(path, owner, owner)
    link = open_folder / "link" / "upskill.toml"
    link.parent.mkdir()
    link.symlink_to(files[4343])
    paths = [str(path) for path in (*files.values(), link)]

    def judged_by(user: int) -> list[str]:
        return run_program([sys.executable, "-c", _JUDGE, str(user), *paths]).stdout.splitlines()

    of_4242, of_4343 = (f"it belongs to user {owner}, not to you" for owner in (4242, 4343))
    assert judged_by(4242) == ["None", "None", of_4343, of_4343]
    assert judged_by(0) == ["None", of_4242, of_4343, of_4343]


def _settings_of(folder: Path) -> Path:
    folder.mkdir()
    return settings_file(folder, "seed = 1")

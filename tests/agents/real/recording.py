"""The three agents, run as a person runs them: unmodified, in a home of their own, against a model on loopback."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

REFUSING = "http://127.0.0.1:9"
"""Nobody listens there: what would leave this machine is refused at once."""
OPENCODE_OFF = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS")
"""What opencode does by itself, over the network."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Recorded:
    """What an agent left behind: its stream, the session it keeps, and the file it was asked to write."""

    stream: Path
    session: Path
    workspace: Path


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """The folders of one run. `home` is all the agent may take for a person's own."""

    home: Path
    workspace: Path
    stream: Path
    binaries: Path


def record_claude_code(place: Place, *, model: str, prompt: str) -> Recorded:
    """`claude -p`: a stream on stdout, a session below its configuration folder."""
    said = {
        "ANTHROPIC_BASE_URL": model,
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CONFIG_DIR": str(place.home / ".claude"),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
        "IS_SANDBOX": "1",
    }
    options = ["--output-format", "stream-json", "--verbose", "--permission-mode", "bypassPermissions"]
    run_agent(place, ["claude", "-p", prompt, *options, "--model", "scripted", "--strict-mcp-config"], said)
    return Recorded(
        stream=place.stream,
        session=_the_only(place.home / ".claude" / "projects", "*/*.jsonl"),
        workspace=place.workspace,
    )


def record_codex(place: Place, *, model: str, prompt: str) -> Recorded:
    """`codex exec`: a stream on stdout, a rollout below its home."""
    home = place.home / ".codex"
    home.mkdir()
    (home / "config.toml").write_text(
        f"""model = "scripted"
model_provider = "loopback"
check_for_update_on_startup = false
web_search = "disabled"
[model_providers.loopback]
name = "loopback"
base_url = "{model}/v1"
env_key = "LOOPBACK_KEY"
wire_api = "responses"
[analytics]
enabled = false
[feedback]
enabled = false
""",
        encoding="utf-8",
    )
    options = ["--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
    quiet = ["-c", "skills.bundled.enabled=false", "--disable", "plugins", "--disable", "apps"]
    said = {"CODEX_HOME": str(home), "LOOPBACK_KEY": "none"}
    run_agent(place, ["codex", "exec", *options, *quiet, "-C", str(place.workspace), prompt], said)
    return Recorded(
        stream=place.stream, session=_the_only(home / "sessions", "*/*/*/rollout-*.jsonl"), workspace=place.workspace
    )


def record_opencode(place: Place, *, model: str, prompt: str) -> Recorded:
    """`opencode run`: a stream on stdout; the session is asked for by `opencode export`."""
    settings = place.home / ".config" / "opencode" / "opencode.json"
    settings.parent.mkdir(parents=True)
    limits = {"limit": {"context": 100_000, "output": 4_000}, "tool_call": True}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{model}/v1", "apiKey": "none"},
        "models": {"scripted": limits},
    }
    chosen = {"model": "loopback/scripted", "small_model": "loopback/scripted"}
    settings.write_text(
        json.dumps({"autoupdate": False, "share": "disabled", **chosen, "provider": {"loopback": provider}}),
        encoding="utf-8",
    )
    said = {f"OPENCODE_DISABLE_{name}": "1" for name in OPENCODE_OFF}
    run_agent(place, ["opencode", "run", "--format", "json", "--pure", "--title", "recorded", prompt], said)
    with place.stream.open(encoding="utf-8") as lines:
        session_id = json.loads(next(lines))["sessionID"]
    exported = place.stream.with_name("export.json")
    run_agent(place, ["opencode", "export", session_id], said, stdout=exported)
    return Recorded(stream=place.stream, session=exported, workspace=place.workspace)


Record = Callable[..., Recorded]


def run_agent(place: Place, command: Sequence[str], said: Mapping[str, str], *, stdout: Path | None = None) -> None:
    """Run one agent to its end, with nothing of this process's environment but the search path."""
    program = shutil.which(command[0], path=str(place.binaries))
    if program is None:
        raise FileNotFoundError(f"{command[0]} is not in {place.binaries}; run `make agents`")
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(place.home),
        "XDG_CONFIG_HOME": str(place.home / ".config"),
        "XDG_DATA_HOME": str(place.home / ".local" / "share"),
        "XDG_CACHE_HOME": str(place.home / ".cache"),
        "XDG_STATE_HOME": str(place.home / ".local" / "state"),
        "HTTPS_PROXY": REFUSING,
        "https_proxy": REFUSING,
        "NO_PROXY": "127.0.0.1,localhost",
        **said,
    }
    target = stdout or place.stream
    errors = target.with_suffix(".stderr")
    with target.open("wb") as out, errors.open("wb") as err:
        ended = subprocess.run(
            [program, *command[1:]],
            cwd=place.workspace,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            timeout=300,
            check=False,
        )
    if ended.returncode != 0:
        raise RuntimeError(f"{command[0]} ended with {ended.returncode}: {errors.read_text()[-2000:]}")


def _the_only(folder: Path, pattern: str) -> Path:
    (found,) = folder.glob(pattern)
    return found

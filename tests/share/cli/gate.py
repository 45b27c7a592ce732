"""A throwaway repository, and the scripts of the GitHub Action run in it as the runner would."""

import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from forking import COMMAND, Done, run_program

ROOT = Path(__file__).resolve().parents[3]
ACTION = ROOT / "action"
TOKEN = "ghs_" + "16C7e42F292c6912E7710c838347Ae178B4a"


@dataclass
class Gate:
    """One repository with a folder for what the scripts write."""

    repository: Path
    out: Path
    home: Path
    variables: dict[str, str] = field(default_factory=dict)

    def git(self, *words: str) -> str:
        identity = ("-c", "user.name=Test", "-c", "user.email=test@example.invalid", "-c", "commit.gpgsign=false")
        done = subprocess.run(
            ["git", *identity, *words],
            cwd=self.repository,
            env=self._environment(),
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        return done.stdout.strip()

    def write(self, path: str, text: str) -> None:
        file = self.repository / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def commit(self, title: str) -> str:
        """Commits everything, and gives the id of the commit."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", title)
        return self.git("rev-parse", "HEAD")

    def script(self, name: str, **variables: str) -> Done:
        """Runs one script at the top of the repository."""
        words = ["bash", str(ACTION / name)]
        return run_program(words, cwd=self.repository, env=self._environment() | self.variables | variables)

    def upskill(self, *words: str, **variables: str) -> Done:
        """Types a command at the top of the repository."""
        return run_program(
            ["upskill", *words], cwd=self.repository, env=self._environment() | self.variables | variables
        )

    def folders(self, name: str) -> list[str]:
        """A NUL-separated list that a script wrote."""
        return (self.out / f"{name}.nul").read_bytes().decode().split("\0")[:-1]

    def _environment(self) -> dict[str, str]:
        return {
            "PATH": f"{Path(COMMAND).parent}:{os.environ['PATH']}",
            "HOME": str(self.home),
            "GIT_CONFIG_NOSYSTEM": "1",
            "LANG": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "",
            "GATE_OUT": str(self.out),
            "GITHUB_OUTPUT": str(self.home / "output"),
            "GITHUB_STEP_SUMMARY": str(self.home / "summary.md"),
        }


def new_gate(folder: Path, *, with_git: bool = True) -> Gate:
    """An empty repository without commits; without git only an empty folder."""
    for name in ("repository", "home"):
        (folder / name).mkdir(parents=True)
    gate = Gate(repository=folder / "repository", out=folder / "out", home=folder / "home")
    if with_git:
        gate.git("init", "--quiet", "--initial-branch", "main")
    return gate

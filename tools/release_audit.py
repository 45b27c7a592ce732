"""What a release installs: how old the lock is, which known vulnerabilities it has, and a list of its parts (SBOM).

`make release` runs it, in the environment of `requirements/release.lock`. Vulnerabilities need a network: where no
database answers, it says so instead of calling the lock clean. CI does not run it: no date can fail a test.
"""

import argparse
import json
import re
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

ROOT = Path(__file__).parent.parent
LOCK = ROOT / "requirements" / "user.lock"
MOST_DAYS = 60
_RESOLVED = re.compile(r"^# resolved (\d{4}-\d{2}-\d{2})$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Audit:
    """What a database of vulnerabilities knows of the locked packages."""

    packages: int
    known: int
    """How many of them the database has heard of."""
    vulnerable: tuple[str, ...]

    @property
    def problems(self) -> list[str]:
        """Why a release should wait. A database that knows nothing found nothing, and is not called clean."""
        return [f"known vulnerability: {one}" for one in self.vulnerable]

    @property
    def summary(self) -> str:
        if not self.known:
            return f"no database of vulnerabilities answered: 0 of {self.packages} packages were looked up"
        found = f"known vulnerabilities: {len(self.vulnerable)}"
        return f"{found}, in {self.known} of {self.packages} packages that the database knows"


def lock_problems(text: str, *, today: date) -> list[str]:
    """Why a lock is too old to be released, or does not say how old it is."""
    found = _RESOLVED.search(text)
    if found is None:
        return ["requirements/user.lock does not say when it was resolved: run `make lock`"]
    age = (today - date.fromisoformat(found[1])).days
    return (
        [f"requirements/user.lock is {age} days old, more than {MOST_DAYS}: run `make lock`"] if age > MOST_DAYS else []
    )


def read_audit(report: str) -> Audit:
    """The answer of pip-audit as JSON; one that is empty knows of nothing."""
    packages = json.loads(report)["dependencies"] if report.strip() else []
    known = [one for one in packages if "skip_reason" not in one]
    return Audit(
        packages=len(packages),
        known=len(known),
        vulnerable=tuple(
            f"{one['name']} {one['version']}: {flaw['id']}"
            + (f", fixed in {', '.join(flaw['fix_versions'])}" if flaw["fix_versions"] else "")
            for one in known
            for flaw in one["vulns"]
        ),
    )


def main(arguments: list[str] | None = None) -> int:
    """Write the list of parts, look the lock up, and end with 1 where a release should wait."""
    parser = argparse.ArgumentParser(prog="python -m tools.release_audit", description=__doc__)
    parser.add_argument("--tools", type=Path, required=True, help="folder with pip-audit and cyclonedx-py")
    parser.add_argument("--installed", type=Path, required=True, help="python of an environment from the lock")
    parser.add_argument("--sbom", type=Path, required=True, metavar="FILE", help="where the list of parts goes")
    given = parser.parse_args(arguments)
    given.sbom.parent.mkdir(parents=True, exist_ok=True)
    _run(
        *(given.tools / "cyclonedx-py", "environment", "--pyproject", ROOT / "pyproject.toml"),
        *("--output-reproducible", "--of", "JSON", "-o", given.sbom, given.installed),
    ).check_returncode()
    print(f"{given.sbom}: {len(json.loads(given.sbom.read_text(encoding='utf-8'))['components'])} packages")
    looked_up = _run(
        *(given.tools / "pip-audit", "--require-hashes", "--disable-pip", "-r", LOCK),
        *("--format", "json", "--progress-spinner", "off"),
    )
    audit = read_audit(looked_up.stdout)
    print(audit.summary)
    problems = lock_problems(LOCK.read_text(encoding="utf-8"), today=datetime.now(UTC).date()) + audit.problems
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def _run(*command: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)


if __name__ == "__main__":
    sys.exit(main())

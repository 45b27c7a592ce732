"""What `make release` says of a lock: its age, and what a database of vulnerabilities knows of it."""

import json
from datetime import date

import pytest
from tools.release_audit import MOST_DAYS, lock_problems, read_audit

_LOCK = "# resolved 2026-01-01\nrich==15.0.0 \\\n    --hash=sha256:0\n"


@pytest.mark.parametrize(("today", "problems"), [(date(2026, 3, 2), 0), (date(2026, 3, 3), 1)])
def test_a_lock_may_be_sixty_days_old(today: date, problems: int) -> None:
    assert MOST_DAYS == 60
    assert len(lock_problems(_LOCK, today=today)) == problems


def test_a_lock_without_a_date_is_a_problem() -> None:
    assert lock_problems("rich==15.0.0\n", today=date(2026, 1, 1)) != []


def test_a_vulnerability_is_named_with_its_package_and_the_version_that_mends_it() -> None:
    flaw = {"id": "PYSEC-1", "fix_versions": ["15.0.1"], "aliases": []}
    audit = read_audit(
        json.dumps(
            {
                "dependencies": [
                    {"name": "rich", "version": "15.0.0", "vulns": [flaw]},
                    {"name": "click", "version": "8.1", "vulns": []},
                    {"name": "own", "skip_reason": "not found"},
                ]
            }
        )
    )
    assert audit.problems == ["known vulnerability: rich 15.0.0: PYSEC-1, fixed in 15.0.1"]
    assert audit.summary == "known vulnerabilities: 1, in 2 of 3 packages that the database knows"


@pytest.mark.parametrize("report", ["", json.dumps({"dependencies": [{"name": "rich", "skip_reason": "not found"}]})])
def test_a_database_that_does_not_answer_is_not_called_clean(report: str) -> None:
    audit = read_audit(report)
    assert audit.problems == []
    assert "no database" in audit.summary

"""The answers of a sweep as Parquet, and the audits of its table in SQL. The only module that imports duckdb.

What is read is data: every text reaches DuckDB inside JSON or as a parameter, and DuckDB loads no extension.
"""

import glob
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from upskill.domain.sweep import ROW_FIELDS, RowValues
from upskill.domain.text import on_one_line
from upskill.domain.trial import ARMS
from upskill.errors import EngineError

if TYPE_CHECKING:
    import duckdb

MEMORY = "400MB"
"""For DuckDB; what does not fit goes to the scratch folder."""
CLOSE = 1e-9
"""How far a lift may be from the one that its answers give."""
_PART = 100_000
"""Rows that are turned into Parquet at a time."""
_AT_ONCE = 500_000
"""Rows that are audited in one step."""
_LAST = "\U0010ffff"
"""Comes after every id."""
_MOST_SAID = 20
"""Differences that are listed; the rest is counted."""
_ANSWERS = {
    "evaluation": "VARCHAR",
    "skill": "VARCHAR",
    "model": "VARCHAR",
    "case": "VARCHAR",
    "arm": "VARCHAR",
    "repeat": "INTEGER",
    "passed": "BOOLEAN",
    "calls": "INTEGER",
    "cost": "DOUBLE",
    "family": "VARCHAR",
}
_KEYS = ("evaluation", "skill", "model", *ROW_FIELDS[1:])
_CLAIMED = {
    "evaluation": "VARCHAR",
    "model": "VARCHAR",
    "arm": "VARCHAR",
    "against": "VARCHAR",
    "mean": "DOUBLE",
    "pairs": "INTEGER",
    "earlier": "INTEGER",
}


def has_duckdb() -> bool:
    return find_spec("duckdb") is not None


@dataclass(frozen=True, kw_only=True, slots=True)
class Claimed:
    """The lift that a result claims for one model."""

    evaluation: str
    model: str
    arm: str
    against: str
    mean: float
    pairs: int
    earlier: int
    """Pairs of earlier looks among them, whose answers are in other evaluations."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """A lift that the answers do not confirm."""

    evaluation: str
    model: str
    claimed: float
    claimed_pairs: int
    found: float | None
    """`None` where the answers hold no pair."""
    found_pairs: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Audit:
    """What the answers say about the table."""

    rows: int
    distinct: int
    """Rows that differ in evaluation, model, case, arm or repeat."""
    compared: int
    """Lifts that were recomputed from the rows."""
    pooled: int
    """Lifts that include earlier looks, of which only the number of pairs was compared."""
    different: int
    differences: tuple[Difference, ...]
    """The first of those that are different."""


class Reducer:
    """Turns rows into Parquet and audits them. Files besides the targets are below `scratch`."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._database = _connect(scratch)
        self._pending: list[dict[str, Any]] = []
        self._parts: list[Path] = []

    def __enter__(self) -> "Reducer":
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def add(self, evaluation: str, skill: str, rows: Iterable[RowValues]) -> None:
        """The answers of one evaluation. Audits are fastest where evaluations come in the order of their ids."""
        self._pending += [dict(zip(_KEYS, (evaluation, skill, *row), strict=True)) for row in rows]
        if len(self._pending) >= _PART:
            self._write_part()

    def write_answers(self, target: Path) -> None:
        """Write everything that was added, in its order."""
        if self._pending or not self._parts:
            self._write_part()
        parts = [glob.escape(str(part)) for part in self._parts]
        self._run(f"COPY (FROM read_parquet(?)) TO {_quoted(target)} {_PARQUET}", [parts])
        for part in self._parts:
            part.unlink()

    def _write_part(self) -> None:
        part = self._scratch / f"part-{len(self._parts):06}.parquet"
        self._write(self._pending, _ANSWERS, part)
        self._parts.append(part)
        self._pending = []

    def write_table(self, rows: Sequence[Mapping[str, Any]], types: Mapping[str, str], target: Path) -> None:
        """Write rows with these columns."""
        self._write(rows, types, target)

    def _write(self, rows: Sequence[Mapping[str, Any]], types: Mapping[str, str], target: Path) -> None:
        source = self._as_json(rows)
        self._run(f"COPY ({_from_json(types)}) TO {_quoted(target)} {_PARQUET}", [_pattern(source)])
        source.unlink()

    def _as_json(self, rows: Sequence[Mapping[str, Any]]) -> Path:
        path = self._scratch / "rows.json"
        path.write_bytes(to_json(rows, inf_nan_mode="null"))
        return path

    def audit(self, answers: Path, claimed: Iterable[Claimed]) -> Audit:
        """Compare the answers with what the results claim."""
        rows = [{name: getattr(one, name) for name in _CLAIMED} for one in claimed]
        source = self._as_json(rows)
        self._run(f"CREATE OR REPLACE TEMP TABLE claimed AS {_from_json(_CLAIMED)}", [_pattern(source)])
        source.unlink()
        pattern = _pattern(answers)
        total = distinct = compared = pooled = different = 0
        said: list[Difference] = []
        rows_here = self._one("SELECT count(*) FROM read_parquet(?)", [pattern])[0]
        for low, high in _ranges() if rows_here > _AT_ONCE else [("", _LAST)]:
            self._run(_TURNS, [pattern, low, high])
            counted = self._one("SELECT coalesce(sum(answers), 0), coalesce(sum(bit_count(arms)), 0) FROM turns")
            total, distinct = total + int(counted[0]), distinct + int(counted[1])
            self._run(_COMPARED, [low, high])
            found = self._one(
                "SELECT count(*) FILTER (earlier = 0), count(*) FILTER (earlier > 0), count(*) FILTER (differs) "
                "FROM compared"
            )
            compared, pooled, different = compared + found[0], pooled + found[1], different + found[2]
            if found[2] and len(said) < _MOST_SAID:
                said += self._differences(_MOST_SAID - len(said))
        return Audit(
            rows=total,
            distinct=distinct,
            compared=compared,
            pooled=pooled,
            different=different,
            differences=tuple(said),
        )

    def _run(self, query: str, parameters: Sequence[object] = ()) -> "duckdb.DuckDBPyConnection":
        import duckdb

        try:
            return self._database.execute(query, parameters)
        except duckdb.Error as error:
            raise EngineError(on_one_line(f"the answers of the sweep cannot be reduced: {error}")) from error

    def _one(self, query: str, parameters: Sequence[object] = ()) -> tuple[Any, ...]:
        row: tuple[Any, ...] | None = self._run(query, parameters).fetchone()
        assert row is not None
        return row

    def _differences(self, most: int) -> Iterator[Difference]:
        found = self._run(
            "SELECT evaluation, model, mean, pairs, found, found_pairs FROM compared WHERE differs "
            "ORDER BY evaluation, model LIMIT ?",
            [most],
        ).fetchall()
        for evaluation, model, claimed, claimed_pairs, lift, pairs in found:
            yield Difference(
                evaluation=evaluation,
                model=model,
                claimed=claimed,
                claimed_pairs=claimed_pairs,
                found=lift,
                found_pairs=pairs,
            )


def _connect(scratch: Path) -> "duckdb.DuckDBPyConnection":
    """An empty database in memory that uses neither the network nor the user's settings."""
    import duckdb

    try:
        return duckdb.connect(
            config={
                "memory_limit": MEMORY,
                "temp_directory": str(scratch / "spilled"),
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
            }
        )
    except duckdb.Error as error:
        raise EngineError(f"DuckDB cannot be started ({error})") from None


def _from_json(types: Mapping[str, str]) -> str:
    """The rows of a file with an array of objects; its path is the parameter."""
    columns = ", ".join(f"'{name}': '{kind}'" for name, kind in types.items())
    return f"FROM read_json(?, format='array', columns={{{columns}}})"


def _pattern(path: Path) -> str:
    """DuckDB takes a path for a pattern."""
    return glob.escape(str(path))


def _quoted(path: Path) -> str:
    text = str(path).replace("'", "''")
    return f"'{text}'"


def _ranges() -> Iterator[tuple[str, str]]:
    """Ids are hexadecimal; a sixteenth of them at a time keeps every aggregation in memory."""
    digits = "0123456789abcdef"
    yield from zip(("", *digits[1:]), (*digits[1:], _LAST), strict=True)


_PARQUET = "(FORMAT parquet, COMPRESSION zstd)"
_WHEN = " ".join(f"WHEN '{arm}' THEN {1 << number}" for number, arm in enumerate(ARMS))
_BIT = f"CASE {{}} {_WHEN} ELSE {1 << len(ARMS)} END"
"""A bit for each arm, and one for whatever else is found there."""
# One row for each case and repeat: the arms that it has, and those of them that passed.
_TURNS = f"""
CREATE OR REPLACE TEMP TABLE turns AS
SELECT evaluation, model, "case", repeat, any_value(family) AS family, count(*) AS answers,
    bit_or(bit) AS arms, bit_or(bit) FILTER (passed) AS passed
FROM (
    SELECT *, {_BIT.format("arm")} AS bit FROM read_parquet(?) WHERE evaluation >= ? AND evaluation < ?
)
GROUP BY evaluation, model, "case", repeat
"""
# As `measuring.lift` counts: a family of cases is one unit, and each unit has the same weight; a verdict on these cases
# only has the difference over all pairs. Where repeats are copies, only the first pair of each case counts.
_COMPARED = f"""
CREATE OR REPLACE TEMP TABLE compared AS
WITH mine AS (
    SELECT *, {_BIT.format("arm")} AS bit, {_BIT.format("against")} AS bit_against
    FROM claimed WHERE evaluation >= ? AND evaluation < ?
),
pair AS (
    SELECT evaluation, model, "case", repeat, family,
        (coalesce(passed, 0) & bit > 0)::INTEGER - (coalesce(passed, 0) & bit_against > 0)::INTEGER AS difference
    FROM turns JOIN mine USING (evaluation, model)
    WHERE arms & bit > 0 AND arms & bit_against > 0
),
per_case AS (
    SELECT evaluation, model, "case", any_value(family) AS family, count(*) AS pairs, sum(difference) AS won,
        arg_min(difference, repeat) AS first_won
    FROM pair GROUP BY ALL
),
unit AS (
    SELECT evaluation, model, family IS NULL AS alone, coalesce(family, "case") AS unit,
        count(*) AS cases, sum(pairs) AS pairs, sum(won) AS won, sum(first_won) AS first_won
    FROM per_case GROUP BY ALL
),
lift AS (
    SELECT evaluation, model, sum(pairs) AS pairs, sum(cases) AS cases,
        avg(won / pairs) AS mean, sum(won) / sum(pairs) AS pooled,
        avg(first_won / cases) AS first_mean, sum(first_won) / sum(cases) AS first_pooled
    FROM unit GROUP BY ALL
),
beside AS (
    SELECT mine.*, coalesce(mine.pairs - mine.earlier = lift.cases AND lift.cases < lift.pairs, false) AS copies,
        coalesce(CASE WHEN copies THEN lift.cases ELSE lift.pairs END, 0)::INTEGER AS found_pairs,
        CASE WHEN copies THEN first_mean ELSE lift.mean END AS found_mean,
        CASE WHEN copies THEN first_pooled ELSE lift.pooled END AS found_pooled
    FROM mine LEFT JOIN lift USING (evaluation, model)
)
SELECT evaluation, model, mean, pairs, earlier, found_mean AS found, found_pairs,
    found_pairs <> pairs - earlier
    OR earlier = 0 AND coalesce(least(abs(mean - found_mean), abs(mean - found_pooled)) > {CLOSE}, true) AS differs
FROM beside
"""

"""The scripts that cases ask for: what they are started with, and what they must print. No prompt has any of it."""

import csv
import io
import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal

from upskill.core.checks.plugin import Files


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One start of a script."""

    what: str
    """In words, for the finding: which rule this run tests."""
    arguments: tuple[str, ...] = ()
    stdin: bytes = b""
    files: Files = field(default_factory=dict)
    """In the working folder."""
    replaced: Files = field(default_factory=dict)
    """Files of the skill that have other content in this run."""
    expected: str | None
    """What standard output must be; `None`: the run must fail, with nothing on standard output."""
    exit_code: int | None = None
    """With which exit code it must fail, where the task says one."""
    as_json: bool = False
    """Compare what the output means as JSON, not how it is written."""


def runs_of(task: str) -> tuple[Run, ...]:
    """The runs of a task, always the same."""
    return TASKS[task]()


def _totals() -> tuple[Run, ...]:
    """`totals.py FILE`: one JSON object, the exact sum of `amount` per `currency`."""
    draw = random.Random(2_611)
    customers = ("Smith, Jones & Co", 'The "Blue" Shop', "Åse AS", "two\nlines", "plain")

    def table(rows: list[tuple[str, str]]) -> bytes:
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow(["number", "customer", "currency", "amount"])
        for number, (currency, amount) in enumerate(rows, 1):
            writer.writerow([f"{number:04}", draw.choice(customers), currency, amount])
        return text.getvalue().encode()

    def sums(rows: list[tuple[str, str]]) -> str:
        totals: dict[str, Decimal] = {}
        for currency, amount in rows:
            totals[currency] = totals.get(currency, Decimal(0)) + Decimal(amount)
        return json.dumps({currency: f"{totals[currency]:.2f}" for currency in sorted(totals)})

    usual = [(draw.choice(["EUR", "USD", "NOK"]), f"{draw.randint(-900_00, 9_000_00) / 100:.2f}") for _ in range(60)]
    large = [
        ("USD", "90071992547409.93"),
        ("USD", "0.01"),
        ("EUR", "0.10"),
        ("EUR", "0.20"),
        ("USD", "900719925474099.07"),
    ]
    whole = [("JPY", "1200"), ("JPY", "300"), ("CHF", "-0.50")]
    made = [
        Run(what=what, arguments=(name,), files={name: table(rows)}, expected=sums(rows), as_json=True)
        for what, name, rows in (
            ("60 invoices in three currencies, customers with commas, quotes and line breaks", "march 2026.csv", usual),
            ("sums that binary floating point gets wrong", "large.csv", large),
            ("whole and negative amounts", "whole.csv", whole),
            ("a file with a header only", "empty.csv", []),
        )
    ]
    bad = b"number,customer,currency,amount\n0001,plain,EUR,10.00\n0002,plain,EUR,\n"
    return (
        *made,
        Run(what="a missing amount", arguments=("bad.csv",), files={"bad.csv": bad}, expected=None),
        Run(what="a file that does not exist", arguments=("nowhere.csv",), expected=None),
    )


_UNITS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}


def _durations() -> tuple[Run, ...]:
    """`seconds.py` on standard input: each line, such as `1h30m`, in seconds."""
    draw = random.Random(1_803)

    def written(parts: Mapping[str, int]) -> str:
        return "".join(f"{number}{unit}" for unit, number in parts.items())

    def lines(many: list[dict[str, int]], between: str = "\n") -> Run:
        text = between.join(written(parts) for parts in many) + "\n"
        answer = "".join(f"{sum(number * _UNITS[unit] for unit, number in parts.items())}\n" for parts in many)
        return Run(what=f"{len(many)} lines", stdin=text.encode(), expected=answer)

    usual = [
        {unit: draw.randint(0, 400) for unit in "dhms" if draw.random() < 0.6} or {"s": draw.randint(1, 9)}
        for _ in range(40)
    ]
    return (
        lines(usual),
        lines([{"h": 1, "m": 30}, {"m": 90}, {"d": 2}, {"s": 0}]),
        Run(what="empty lines between", stdin=b"\n5m\n\n\n1d1s\n", expected="300\n86401\n"),
        Run(what="no line end after the last line", stdin=b"45s\n2h", expected="45\n7200\n"),
        Run(what="nothing on standard input", expected=""),
        Run(what="an unknown unit after good lines", stdin=b"5m\n7w\n", expected=None, exit_code=2),
        Run(what="a number without a unit", stdin=b"5m\n12\n", expected=None, exit_code=2),
        Run(what="text around a duration", stdin=b"about 5m\n", expected=None, exit_code=2),
        Run(what="units in the wrong order", stdin=b"5m2h\n", expected=None, exit_code=2),
    )


def _conversions() -> tuple[Run, ...]:
    """`convert.py AMOUNT FROM TO`, with the rates in `assets/rates.json`, which finance replaces every month."""

    def converted(rates: Mapping[str, str], amount: str, source: str, target: str) -> Run:
        exact = Decimal(amount) / Decimal(rates[source]) * Decimal(rates[target])
        return Run(
            what=f"{amount} {source} in {target}, with other rates",
            arguments=(amount, source, target),
            replaced={"assets/rates.json": json.dumps(rates).encode()},
            expected=f"{exact.quantize(Decimal('0.01'), rounding=ROUND_HALF_UP)}\n",
        )

    april = {"EUR": "1", "USD": "1.25", "GBP": "0.8", "NOK": "11.5"}
    may = {"EUR": "1", "USD": "1.1", "CHF": "0.95", "XAF": "655.957"}
    return (
        converted(april, "12.50", "USD", "EUR"),
        converted(april, "0.01", "EUR", "USD"),
        converted(april, "0.1", "GBP", "EUR"),
        converted(april, "1000000.01", "NOK", "GBP"),
        converted(may, "250", "EUR", "XAF"),
        converted(may, "3.30", "USD", "CHF"),
        converted(may, "0.06", "EUR", "EUR"),
        converted(april, "0.02", "GBP", "EUR"),
        Run(what="a currency without a rate", arguments=("5", "EUR", "ZZZ"), expected=None),
        Run(what="an amount that is no number", arguments=("five", "EUR", "USD"), expected=None),
    )


TASKS: Mapping[str, Callable[[], tuple[Run, ...]]] = {
    "totals": _totals,
    "durations": _durations,
    "conversions": _conversions,
}

"""The CSV files of the tasks of `tidy-parquet`, and the tables that are right for them. Plain Python, no DuckDB.

Every task draws its files from a fixed seed: one large draw with the awkward rows, and one with a single plain row, so
that a program that fits its types or its columns to what it happens to see is found.
"""

import csv
import io
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

SEED = 7_208
Row = tuple[str | None, ...]
"""One row as text, as DuckDB shows it: `-7.50`, `2025-03-04`, `["a", "b"]`; `None` for NULL."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """A Parquet file, or a folder of partitions, that must be there after the conversion."""

    path: str
    columns: tuple[tuple[str, str], ...]
    rows: tuple[Row, ...]
    ordered: bool = True
    zstd: bool = True
    partitions: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Draw:
    """The input files of one conversion and what must come out."""

    files: tuple[tuple[str, bytes], ...]
    tables: tuple[Table, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """What a case asks for: the name of the program, and how its inputs are drawn."""

    program: str
    make: Callable[[random.Random, int], Draw]
    rows: int = 60

    def draws(self) -> tuple[Draw, ...]:
        """The large draw and the draw of one plain row; the same every time."""
        return self.make(random.Random(SEED), self.rows), self.make(random.Random(SEED + 1), 1)


def _text(rows: Iterable[Sequence[str]], *, delimiter: str = ",", end: str = "\n") -> str:
    """CSV with quotes only where they are needed."""
    written = io.StringIO()
    csv.writer(written, delimiter=delimiter, lineterminator=end).writerows(rows)
    return written.getvalue()


def _money(cents: int) -> str:
    return f"{'-' if cents < 0 else ''}{abs(cents) // 100}.{abs(cents) % 100:02d}"


def _grouped(cents: int) -> str:
    return f"{abs(cents) // 100:,}.{abs(cents) % 100:02d}"


NAMES = (
    "Ann Lee",
    'Bo "Ace" Diaz',
    "Carr, Eve",
    "Dee\nSecond Line",
    "O'Neil",
    " Fay  Gray ",
    "Zoë Ångström",
    '"Quoted"',
)


def _amounts(draw: random.Random, count: int) -> Draw:
    forms: list[Callable[[int], tuple[str, int | None]]] = [
        lambda cents: (_money(cents), cents),
        lambda cents: (_grouped(cents), cents),
        lambda cents: (f"({_grouped(cents)})", -cents),
        lambda cents: (f"${_grouped(cents)}", cents),
        lambda cents: (f"(${_grouped(cents)})", -cents),
        lambda cents: (f"-{_money(cents)}", -cents),
        lambda cents: (f" {_grouped(cents)} ", cents),
        lambda cents: (f" (${_grouped(cents)}) ", -cents),
        lambda _: ("", None),
    ]
    lines, rows = [], []
    for at, number in enumerate(draw.sample(range(1, 400_000), count)):
        text, cents = forms[at % len(forms)](draw.randint(1, 99) if at % 5 == 0 else draw.randint(100, 500_000_000))
        name = NAMES[at % len(NAMES)]
        lines.append((f"{number:07d}", name, text))
        rows.append((f"{number:07d}", name.strip(" "), None if cents is None else _money(cents)))
    table = Table(
        path="orders.parquet",
        columns=(("order_id", "VARCHAR"), ("customer", "VARCHAR"), ("amount", "DECIMAL(12,2)")),
        rows=tuple(sorted(rows)),
    )
    data = b"\xef\xbb\xbf" + _text([("order_id", "customer", "amount"), *lines], end="\r\n").encode()
    return Draw(files=(("data/orders.csv", data),), tables=(table,))


SNIFFED = 20_480


def _codes(draw: random.Random, count: int) -> Draw:
    rows = []
    for item in range(1, count + 1):
        code = str(draw.randint(1_000, 99_999_999))
        rows.append((str(item), code if 1 < item <= SNIFFED + 20 and count > 1 else code.zfill(draw.randint(9, 11))))
    if count > 1:
        rows[0] = ("1", "48213")
    table = Table(path="items.parquet", columns=(("item", "BIGINT"), ("sku", "VARCHAR")), rows=tuple(rows))
    lines = [rows[0], *rows[2:9], *rows[1:2], *rows[9:]]  # not in the order that is asked for
    return Draw(files=(("data/items.csv", _text([("item", "sku"), *lines]).encode()),), tables=(table,))


def _dates(draw: random.Random, count: int) -> Draw:
    months = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
    forms: list[Callable[[date], str]] = [
        lambda day: day.isoformat(),
        lambda day: f"{day.day:02d}.{day.month:02d}.{day.year}",
        lambda day: f"{day.month:02d}/{day.day:02d}/{day.year}",
        lambda day: f"{day.day} {months[day.month - 1]} {day.year}",
    ]
    missing = ("31.02.2024", "", "unknown", "2023-02-29", "13/13/2024", "25/12/2024", "12.25.2024")
    lines: list[tuple[str, str]] = []
    rows: list[tuple[int, str | None]] = []
    for number in draw.sample(range(1, 9_999), count):
        at = len(rows)
        day = date(2019, 1, 1) + timedelta(days=draw.randint(0, 2_500))
        if at % 7 == 6:
            lines.append((str(number), missing[at // 7 % len(missing)]))
            rows.append((number, None))
        else:
            if at % 3 == 0:
                day = day.replace(day=draw.randint(1, 12))  # fits both orders
            lines.append((str(number), forms[at % len(forms)](day)))
            rows.append((number, day.isoformat()))
    table = Table(
        path="members.parquet",
        columns=(("id", "INTEGER"), ("joined", "DATE")),
        rows=tuple((str(number), day) for number, day in sorted(rows)),
    )
    return Draw(files=(("data/members.csv", _text([("id", "joined"), *lines]).encode()),), tables=(table,))


def _latest(draw: random.Random, count: int) -> Draw:
    lines: list[tuple[str, str, str]] = []
    for person in range(count):
        email = f"user{person}@Example.org"
        moment = datetime(2025, 1, 1) + timedelta(minutes=draw.randint(0, 300_000))
        kind = person % 5 if count > 1 else 0
        for version in range((1, 3, 2, 2, 3)[kind]):
            shown = [email, email.upper(), f" {email} ", email.lower()][draw.randint(0, 3)]
            when = {1: moment - timedelta(days=version), 2: moment, 3: moment, 4: moment + timedelta(days=version)}
            updated = str(when.get(kind, moment))
            if kind == 3 and version == 1:
                updated = ""
            lines.append((shown, f"Name {person}.{version}", updated))
    order = list(range(len(lines)))
    draw.shuffle(order)
    lines = [lines[at] for at in order]
    best: dict[str, tuple[tuple[str, int], tuple[str, str, str]]] = {}
    for at, line in enumerate(lines):
        key = line[0].strip(" ").lower()
        rank = (line[2], at)
        if key not in best or rank > best[key][0]:
            best[key] = (rank, line)
    rows = [(key, line[1], line[2] or None) for key, (_, line) in sorted(best.items())]
    table = Table(
        path="customers.parquet",
        columns=(("email", "VARCHAR"), ("name", "VARCHAR"), ("updated", "TIMESTAMP")),
        rows=tuple(rows),
    )
    return Draw(
        files=(("data/customers.csv", _text([("email", "name", "updated"), *lines]).encode()),), tables=(table,)
    )


def _nulls(draw: random.Random, count: int) -> Draw:
    values: list[tuple[str, str | None]] = [
        ("", None),
        ('""', ""),
        ("NA", None),
        ('"NA"', "NA"),
        ("DE", "DE"),
        ('"F""R"', 'F"R'),
        ("-", "-"),
        ('"a, b"', "a, b"),
    ]
    lines, rows = ["id,country,note"], []
    for at, number in enumerate(draw.sample(range(1, 9_999), count)):
        country = values[at % len(values)] if count > 1 else values[4]
        note = values[at // len(values) % len(values)] if count > 1 else values[7]
        lines.append(f"{number},{country[0]},{note[0]}")
        rows.append((number, country[1], note[1]))
    table = Table(
        path="places.parquet",
        columns=(("id", "INTEGER"), ("country", "VARCHAR"), ("note", "VARCHAR")),
        rows=tuple((str(number), country, note) for number, country, note in sorted(rows, key=lambda row: row[0])),
    )
    return Draw(files=(("data/places.csv", ("\n".join(lines) + "\n").encode()),), tables=(table,))


def _rejects(draw: random.Random, count: int) -> Draw:
    lines, good, bad = ["id,qty,price"], [], []
    for at, number in enumerate(draw.sample(range(1, 9_999), count)):
        quantity, cents = draw.randint(-5, 900), draw.randint(1, 99_999)
        broken = {
            3: f"{number},many,{_money(cents)}",
            5: f"x{number},{quantity},{_money(cents)}",
            7: f"{number},{quantity}",
            11: f"{number},{quantity},{_money(cents)},late",
            15: f"{number},{quantity},n/a",
            19: f"{number},few,free",
        }.get(at % 20)
        if broken is None:
            lines.append(f"{number},{quantity},{_money(cents)}")
            good.append((number, quantity, cents))
        else:
            lines.append(broken)
            bad.append((str(len(lines)), broken))
    kept = Table(
        path="sales.parquet",
        columns=(("id", "INTEGER"), ("qty", "INTEGER"), ("price", "DECIMAL(10,2)")),
        rows=tuple((str(number), str(quantity), _money(cents)) for number, quantity, cents in sorted(good)),
    )
    rejected = Table(path="rejected.parquet", columns=(("line", "BIGINT"), ("csv_line", "VARCHAR")), rows=tuple(bad))
    return Draw(files=(("data/sales.csv", ("\n".join(lines) + "\n").encode()),), tables=(kept, rejected))


def _months(draw: random.Random, count: int) -> Draw:
    names = [f"{year}-{month:02d}" for year in (2023, 2024) for month in range(1, 13)]
    months = names[3:17] if count > 1 else ["2026-01"]
    lines, rows = [], []
    for region in draw.sample(range(100, 999), count):
        values = ["" if draw.random() < 0.3 else str(draw.randint(-50, 3_000_000_000)) for _ in months]
        lines.append((f"R {region}", *values))
        rows += [(f"R {region}", month, value or None) for month, value in zip(months, values, strict=True)]
    table = Table(
        path="sales.parquet",
        columns=(("region", "VARCHAR"), ("month", "VARCHAR"), ("sales", "BIGINT")),
        rows=tuple(sorted(rows, key=lambda row: row[:2])),
    )
    return Draw(files=(("data/wide.csv", _text([("region", *months), *lines]).encode()),), tables=(table,))


def _shops(draw: random.Random, count: int) -> Draw:
    headers = [("day", "item", "qty"), ("item", "qty", "discount", "day"), ("qty", "day", "item", "discount")]
    files: list[tuple[str, bytes]] = []
    rows: list[tuple[str, str, str, str, str | None]] = []
    for shop in ("003", "017", "120")[: 3 if count > 1 else 1]:
        header = headers[len(files)]
        lines = []
        for number in range(count // 3 or 1):
            discount = f"{draw.randint(0, 90)}.{draw.randint(0, 99):02d}" if draw.random() < 0.6 else ""
            line = {
                "day": str(date(2025, 1, 1) + timedelta(days=draw.randint(0, 300))),
                "item": f"item {number}, {draw.choice(['red', 'blue'])}",
                "qty": str(draw.randint(1, 500)),
                "discount": discount,
            }
            lines.append([line[name] for name in header])
            given = line["discount"] or None if "discount" in header else None
            rows.append((shop, line["day"], line["item"], line["qty"], given))
        files.append((f"data/shop-{shop}.csv", _text([header, *lines]).encode()))
    table = Table(
        path="shops.parquet",
        columns=(
            ("shop", "VARCHAR"),
            ("day", "DATE"),
            ("item", "VARCHAR"),
            ("qty", "INTEGER"),
            ("discount", "DECIMAL(5,2)"),
        ),
        rows=tuple(sorted(rows, key=lambda row: row[:3])),
    )
    return Draw(files=tuple(files), tables=(table,))


def _latin(draw: random.Random, count: int) -> Draw:
    names = ("Zürich", "Köln; Süd", 'Café "Zoé"', "Peña Ñ", "Ærø")
    lines, rows = [], []
    for at, number in enumerate(draw.sample(range(1, 90_000), count)):
        cents = draw.randint(-900_000_000, 900_000_000) if at % 3 else draw.randint(-99_999, 99_999)
        text = _grouped(cents).translate(str.maketrans(",.", ".,"))
        name = names[at % len(names)]
        lines.append((f"{number:06d}", name, f"{'-' if cents < 0 else ''}{text}"))
        rows.append((f"{number:06d}", name, _money(cents)))
    table = Table(
        path="kunden.parquet",
        columns=(("nr", "VARCHAR"), ("name", "VARCHAR"), ("betrag", "DECIMAL(12,2)")),
        rows=tuple(sorted(rows)),
    )
    data = _text([("nr", "name", "betrag"), *lines], delimiter=";").encode("latin-1")
    return Draw(files=(("data/kunden.csv", data),), tables=(table,))


def _windows(draw: random.Random, count: int) -> Draw:
    names = ("“Deluxe” set", "Škoda part", "rock ’n’ roll", "plain", "tea – green", 'the "big" one', "œuvre…")
    lines, rows = [], []
    for at, number in enumerate(draw.sample(range(1_000, 9_999), count)):
        cents = draw.randint(1, 9_999_999)
        lines.append((str(number), names[at % len(names)], f"€ {_grouped(cents)}"))
        rows.append((number, names[at % len(names)], _money(cents)))
    table = Table(
        path="prices.parquet",
        columns=(("id", "INTEGER"), ("item", "VARCHAR"), ("price", "DECIMAL(10,2)")),
        rows=tuple((str(number), name, price) for number, name, price in sorted(rows)),
    )
    data = _text([("id", "item", "price"), *lines], end="\r\n").encode("cp1252")
    return Draw(files=(("data/prices.csv", data),), tables=(table,))


BERLIN = (
    (date(2025, 1, 15), True),
    (date(2025, 7, 1), False),
    (date(2025, 3, 29), True),
    (date(2025, 3, 31), False),
    (date(2025, 10, 25), False),
    (date(2025, 10, 27), True),
    (date(2024, 10, 26), False),
    (date(2024, 3, 30), True),
)
"""Days, also close to a change of the clock, and whether Berlin has winter time all day."""


def _zones(draw: random.Random, count: int) -> Draw:
    lines, rows = [], []
    for at, number in enumerate(draw.sample(range(1, 9_999), count)):
        form = at % 4
        day, winter = BERLIN[at // 4 % len(BERLIN)]
        clock = datetime.combine(day, time(draw.randint(0, 23), draw.randint(0, 59), 7))
        ahead = (timedelta(0), timedelta(hours=5, minutes=30), -timedelta(hours=8), timedelta(hours=1 if winter else 2))
        shown = (f"{clock:%Y-%m-%dT%H:%M:%S}Z", f"{clock:%Y-%m-%dT%H:%M:%S}+05:30", f"{clock}-08:00", str(clock))
        lines.append((str(number), shown[form]))
        rows.append((number, f"{clock - ahead[form]}+00"))
    table = Table(
        path="events.parquet",
        columns=(("id", "INTEGER"), ("moment", "TIMESTAMP WITH TIME ZONE")),
        rows=tuple((str(number), moment) for number, moment in sorted(rows)),
    )
    return Draw(files=(("data/events.csv", _text([("id", "moment"), *lines]).encode()),), tables=(table,))


def _trips(draw: random.Random, count: int) -> Draw:
    lines, rows = [], []
    for number in range(1, count + 1):
        day = date(2023, 11, 1) + timedelta(days=draw.randint(0, 500))
        zone = draw.choice(("007", "07", "12", "300"))
        kilometres = draw.randint(1, 99_999)
        shown = f"{kilometres // 10}.{kilometres % 10}"
        lines.append((str(number), str(day), zone, shown))
        rows.append((str(number), str(day), shown, str(day.year), zone))
    table = Table(
        path="trips",
        columns=(
            ("trip_id", "INTEGER"),
            ("day", "DATE"),
            ("km", "DECIMAL(8,1)"),
            ("year", "VARCHAR"),
            ("zone", "VARCHAR"),
        ),
        rows=tuple(rows),
        ordered=False,
        partitions=("year", "zone"),
    )
    return Draw(
        files=(("data/trips.csv", _text([("trip_id", "day", "zone", "km"), *lines]).encode()),), tables=(table,)
    )


def _tags(draw: random.Random, count: int) -> Draw:
    words = ("Red", " blue ", "GREEN", "x-Large", "a b")
    lines, rows = [], []
    for at, number in enumerate(draw.sample(range(1, 9_999), count)):
        tags = [draw.choice(words) for _ in range(draw.randint(1, 4))]
        total, boxes = draw.randint(0, 500), 0 if at % 4 == 3 else draw.randint(1, 9)
        none = at % 9 == 8
        lines.append((str(number), "" if none else ";".join(tags), str(total), str(boxes)))
        shown = "[" + ",".join(f'"{tag.strip().lower()}"' for tag in tags) + "]"
        rows.append((number, None if none else shown, str(total // boxes) if boxes else None))
    table = Table(
        path="tags.parquet",
        columns=(("id", "INTEGER"), ("tags", "VARCHAR[]"), ("per_box", "INTEGER")),
        rows=tuple((str(number), tags, per_box) for number, tags, per_box in sorted(rows, key=lambda row: row[0])),
    )
    return Draw(files=(("data/tags.csv", _text([("id", "tags", "total", "boxes"), *lines]).encode()),), tables=(table,))


def _totals(draw: random.Random, count: int) -> Draw:
    lines, totals = [], dict[str, tuple[int, int]]()
    for at in range(count):
        shop, quantity, cents = f"{draw.randint(1, 12):03d}", draw.randint(1, 50), draw.randint(1, 99_999)
        if at % 10 == 9:  # more digits than a binary floating point number has
            quantity, cents = draw.randint(1_000_000, 2_000_000), draw.randint(9_000_000_000, 9_999_999_999)
        lines.append((shop, str(quantity), _money(cents)))
        items, revenue = totals.get(shop, (0, 0))
        totals[shop] = (items + quantity, revenue + quantity * cents)
    table = Table(
        path="totals.parquet",
        columns=(("shop", "VARCHAR"), ("items", "BIGINT"), ("revenue", "DECIMAL(18,2)")),
        rows=tuple((shop, str(items), _money(revenue)) for shop, (items, revenue) in sorted(totals.items())),
    )
    return Draw(files=(("data/lines.csv", _text([("shop", "qty", "price"), *lines]).encode()),), tables=(table,))


def _counts(draw: random.Random, count: int) -> Draw:
    bad = ("n/a", "", "12.5", "twelve", "9999999999", "1O", "--")
    lines, rows = [], []
    for at, number in enumerate(draw.sample(range(1, 9_999), count)):
        text = bad[at // 4 % len(bad)] if at % 4 == 3 else str(draw.randint(-40, 90_000))
        lines.append((str(number), text))
        rows.append((number, None if at % 4 == 3 else text))
    table = Table(
        path="counts.parquet",
        columns=(("id", "INTEGER"), ("pieces", "INTEGER")),
        rows=tuple((str(number), pieces) for number, pieces in sorted(rows, key=lambda row: row[0])),
    )
    return Draw(files=(("data/counts.csv", _text([("id", "pieces"), *lines]).encode()),), tables=(table,))


TASKS: dict[str, Task] = {
    "amounts": Task(program="convert.sql", make=_amounts, rows=72),
    "codes": Task(program="convert.sql", make=_codes, rows=SNIFFED + 60),
    "dates": Task(program="convert.sql", make=_dates, rows=72),
    "counts": Task(program="convert.sql", make=_counts),
    "latest": Task(program="convert.sql", make=_latest, rows=40),
    "nulls": Task(program="convert.sql", make=_nulls, rows=64),
    "rejects": Task(program="convert.sql", make=_rejects, rows=60),
    "months": Task(program="convert.sql", make=_months, rows=12),
    "shops": Task(program="convert.sql", make=_shops, rows=45),
    "latin": Task(program="convert.sql", make=_latin),
    "windows": Task(program="convert.py", make=_windows),
    "zones": Task(program="convert.sql", make=_zones),
    "trips": Task(program="convert.sql", make=_trips),
    "tags": Task(program="convert.sql", make=_tags),
    "totals": Task(program="convert.py", make=_totals, rows=120),
}

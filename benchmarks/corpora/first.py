"""Writes recorded sessions of six recorders with known habits and decoys, by which a miner of sessions is judged.

Every session, name and tool in it is made up. The same files come out each time. `write` returns the plan, whose counts
are taken from the written files.
"""

import hashlib
import json
import os
import random
import re
import sys
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

SEED = "first-corpus-1"
BEGIN = datetime(2026, 8, 10, tzinfo=UTC)
DAYS = 90
FORMATS = {"claude-code": 78, "codex": 54, "opencode": 34, "gemini-cli": 32, "cursor-stream": 24, "otel-genai": 18}
"""The recorders, by the names that upskill gives them, and the number of sessions of each."""
WITHOUT = 0.4
"""The share of sessions that have routine work only."""
LARGEST = 56
"""Messages and calls in one session."""

How = Literal["direct", "spaced", "late", "interrupted", "cut"]
"""The course of an occurrence: in one piece; other work in between; the end many turns later; the person stopped the
agent in between; the session ends there.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Occurrence:
    """One place where a habit or decoy is seen. `side` tells which of two rules that contradict each other."""

    session: str
    """The file, relative to the folder of the corpus."""
    quote: str
    """Words that stand exactly so in the session."""
    how: How = "direct"
    side: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """A habit or decoy, how a candidate about it is recognised, and where it is seen."""

    id: str
    kind: str
    description: str
    words: tuple[str, ...]
    """Regular expressions, for `re.IGNORECASE`."""
    need: int
    """How many of `words` the text of a candidate must match to be about this."""
    occurrences: tuple[Occurrence, ...]
    sessions: tuple[str, ...]
    """Files, each once, in the order of their names."""
    days: tuple[date, ...]
    """Days (UTC) on which these sessions began, each once."""
    last_seen: date

    def recognises(self, text: str) -> bool:
        """Whether the text of a candidate is about this."""
        return sum(bool(re.search(word, text, re.IGNORECASE)) for word in self.words) >= self.need


@dataclass(frozen=True, kw_only=True, slots=True)
class Written:
    """One session. A `bare` one has no habit and no decoy but routine work."""

    file: str
    recorder: str
    project: str
    day: date
    bare: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What was written."""

    sessions: tuple[Written, ...]
    habits: tuple[Subject, ...]
    decoys: tuple[Subject, ...]


_PROJECTS = """
ledger-api py 50
src/ledger/routes/invoices.py src/ledger/routes/refunds.py src/ledger/routes/tenants.py src/ledger/models.py
src/ledger/statements.py src/ledger/tax.py src/ledger/export_csv.py src/ledger/jobs/dunning.py src/ledger/search.py
src/ledger/auth/roles.py src/ledger/mail/render.py tests/unit/test_tax.py tests/unit/test_statements.py
tests/unit/test_roles.py tests/unit/test_search.py tests/unit/test_dunning.py
= the invoice list, the refund form, the tenant switcher, the tax summary, the dunning job, the CSV export
, the role check, the mail preview, the statement page, the audit trail, the credit note, the search box
= make check > ruff: ok|mypy: Success: no issues found in # source files|# passed in #.#s
= uv run pytest -q tests/unit/test_tax.py > ........................|# passed in #.#s
= uv run mypy src > Success: no issues found in # source files
= uv run ruff check src tests > All checks passed!

pollen py 48
pollen/ingest/reader.py pollen/ingest/dedupe.py pollen/export/rowgroups.py pollen/export/manifest.py pollen/schema.py
pollen/schedule.py pollen/cli.py pollen/metrics.py pollen/partition.py pollen/compact.py tests/ingest/test_reader.py
tests/ingest/test_models.py tests/export/test_models.py tests/test_schedule.py tests/test_partition.py
scripts/backfill.py
= the nightly import, the deduplication, the row group writer, the manifest, the partition planner, the compaction
, the backfill script, the schedule, the metrics page, the schema check, the late arrivals
= make check > lint ok|types ok|# passed, # skipped in #.#s
= uv run pytest -q tests/test_schedule.py > ..............|# passed in #.#s
= uv run pytest -q tests/test_partition.py > .........|# passed in #.#s
= uv run mypy pollen > Success: no issues found in # source files

tern-web ts 46
src/pages/Orders.tsx src/pages/Basket.tsx src/pages/Account.tsx src/components/PriceTag.tsx src/components/FilterBar.tsx
src/components/Toast.tsx src/lib/api.ts src/lib/format.ts src/lib/store.ts src/hooks/usePaging.ts src/styles/grid.css
src/pages/Orders.test.tsx src/lib/format.test.ts vite.config.ts
= the basket, the order table, the filter bar, the toast, the account page, the price tag, the paging hook
, the image gallery, the login dialog, the wish list, the address form, the dark theme
= npm test -- --run > Test Files  # passed (#)|     Tests  # passed (#)|  Duration  #.#s
= npx tsc --noEmit >
= npm run lint > > tern-web@1.0.0 lint|> eslint src
= npm run build > vite building for production...|# modules transformed.|built in #.#s

skua-agent go 34
cmd/skua/main.go internal/queue/queue.go internal/queue/retry.go internal/probe/disk.go internal/probe/net.go
internal/report/report.go internal/config/load.go internal/queue/queue_test.go internal/probe/disk_test.go
internal/report/table.go Makefile go.mod
= the disk probe, the network probe, the send queue, the config loader, the report table, the start-up banner
, the shutdown path, the metrics endpoint, the retry loop, the log rotation
= go test ./... > ok   skua/internal/queue  #.#s|ok   skua/internal/probe  #.#s|ok   skua/internal/report  #.#s
= go vet ./... >
= make build > go build -o bin/skua ./cmd/skua

harbour-infra yaml 38
clusters/amber.yaml clusters/cobalt.yaml clusters/fern.yaml modules/queue/main.tf modules/queue/variables.tf
modules/edge/main.tf alerts/latency.yaml alerts/disk.yaml dashboards/overview.json ci/pipeline.yaml README.md
= the edge module, the latency alert, the queue module, the nightly pipeline, the disk alert, the dashboard
, the amber cluster, the cobalt cluster, the backup bucket, the ingress rules
= terraform validate > Success! The configuration is valid.
= yamllint alerts clusters >
= make plan > Refreshing state... [#]|Plan: # to add, # to change, 0 to destroy.

quill-docs md 24
docs/index.md docs/install.md docs/guide/first-order.md docs/guide/refunds.md docs/reference/cli.md docs/faq.md
docs/reference/errors.md mkdocs.yml theme/main.html scripts/check_links.py
= the install page, the refund guide, the error reference, the navigation, the landing page, the glossary
, the link checker, the search index, the code samples
= mkdocs build --strict > INFO - Building documentation...|INFO - Documentation built in #.# seconds
= python scripts/check_links.py > # links checked, 0 broken
= npx prettier --check docs > All matched files use Prettier code style!"""

"""For each project its name, language and sessions, its files, the parts of the product, and checks that pass with what
they print, where `#` becomes a number."""


@dataclass(frozen=True, slots=True)
class Project:
    """A folder of work."""

    folder: str
    language: str
    sessions: int
    files: tuple[str, ...]
    parts: tuple[str, ...]
    checks: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        """The last part of the folder."""
        return self.folder.rsplit("/", 1)[1]


def _lines(table: str) -> list[str]:
    """The entries of a table, which are separated by bars and line ends."""
    return [entry for row in table.split("\n") for entry in row.split("|")]


def _words(text: str) -> list[str]:
    """The words of a text."""
    return text.split()


def _project(table: str) -> Project:
    head, parts, *checks = table.split("\n= ")
    name, language, count, *files = head.split()
    pairs = tuple((line.split(" >", 1)[0], line.split(" >", 1)[1].strip()) for line in checks)
    words = tuple(part.strip() for part in parts.replace("\n", "").split(","))
    return Project(f"/home/dev/{name}", language, int(count), tuple(files), words, pairs)


PROJECTS = tuple(_project(table) for table in _PROJECTS.strip().split("\n\n"))

SYMPTOMS = """shows yesterday's figures|answers with a 500|forgets what was chosen|stays empty|takes nine seconds
counts some rows twice|drops the last entry|keeps spinning|prints a stack trace|ignores the limit|jumps to the top
sorts umlauts to the end|shows the wrong zone|loses the order|is cut off on the right|writes an empty file|never ends
uses twice the memory it should|is not reachable by keyboard|mixes up two tenants|starts twice|logs nothing
shows a raw identifier|swallows the message|hangs on shutdown|reports success too early|misses the header line"""
WHEN = """after a reload|when the list is empty|for names with a dash|on the second page|on the first of a month
with more than a thousand entries|in the evening|after the last merge|only on the staging machine|if two people edit
on a slow line|with an old session|when the window is narrow|without a default|in about one of ten runs
for accounts from last year|after a restart|with the new schema|when the input ends in a blank line|in Safari
as soon as a filter is set|on leap days|if the file is missing|behind the proxy|for guests|under load"""
ASKS = """Can you find out why?|Please have a look.|What is going on there?|I would like that fixed today.|Any idea?
See whether you can reproduce it.|A customer reported it.|Start with the smallest change.|Not urgent, but annoying.
It came up in the review.|I could not see why from the log.|Found by accident.||||"""
DEEDS = "Add|Show|Hide|Move|Rename|Split|Drop|Collect|Print|Measure|Limit|Sort|Group|Cache|Sketch|Replace|Port|Shorten"
THINGS = """the age column|a hint for newcomers|the undo step|the dead branch|the local names|the dry run|the old layout
the data flow|the progress line|the owner|the entry points|the compact view|the memory use|the slow part|the order
the constants|the hand-written parser|the warnings|the second header|the totals|the empty rows|the helper module"""
STARTS = """Why does it happen that|Since when is it so that|Where do we decide that|Is it intended that
Who noticed that|Can you show me why|Is there a reason why|Could it be that
What do we know about this:|Explain to me why"""
REMARKS = """I will start with {f}.|Let me see how {f} is put together.|{f} looks like the right place.
First I read what calls {f}.|The entry point is in {f}, so I look there.|I want to see the neighbours of {f} as well.
Nothing unusual so far.|This part is older than the rest.|The branch for the empty case is suspicious.
I have a guess, let me check it.|That explains the order of the calls.|The helper is used in three places.
Two callers pass the default, one does not.|I change this in one place only.|The condition was the wrong way round.
Now the same for the second caller.|I keep the signature as it is.|One more look at {f} before I change it.
The name is misleading, the logic is fine.|So the value is computed twice.|I will run the checks now."""
CLOSINGS = """Done. The cause was in {f}; the checks pass.|Fixed in {f}. The second caller was not affected.
That was all: one condition in {f}.|{f} now handles this case, and the rest is unchanged.
The change is small and local to {f}.|I changed {f} only. Nothing else depends on it.
It works now. The old branch in {f} is gone.|Finished, see {f}.|The reason was a stale value kept by {f}.
Short answer: {f} did this twice, now it does it once.
Explained above; no change was needed in {f}.|I left {f} mostly alone and moved one line."""
NOUNS = _words("""order entry batch row page region owner limit window chunk draft report queue item cursor bucket
label scope target source parent child offset margin policy filter header footer record segment worker route""")
VERBS = _words("load merge split render collect resolve apply build check trim sort parse emit group fold fill lookup")
CODE = {
    "py": """def {v}_{n}({m}: list[str], *, strict: bool = False) -> list[str]:
    found = [each for each in {m} if each]
    if not {m}:|        return []|    {n} = {v}({m}, strict=strict)|    return sorted({n})|class {N}{M}:|
    for {n} in {m}:|        yield {v}_{n}({n})|    \"\"\"The {n} of a {m}.\"\"\"|    assert {n} is not None
from app.{n} import {v}_{m}|    raise ValueError(f"no {n} in {m}")|    log.debug("{v} %s", {n})""",
    "ts": """export function {v}{N}({m}: {M}[]): {M}[] {|  const {n} = {m}.filter((each) => each.{n} !== null);
  return {n};|}|interface {N}Props { {m}: string; {n}?: number }|  const [{n}, set{N}] = useState<{M} | null>(null);|
  useEffect(() => { {v}({n}); }, [{n}]);|  if (!{n}) return null;|import { {v}{N} } from "../lib/{m}";
  <{N}List items={ {m} } />|  await {v}({ {n}, {m} });""",
    "go": """func {v}{N}({m} []string) ([]string, error) {|\tif len({m}) == 0 {|\t\treturn nil, err{N}|\t}|}|
\tfor _, {n} := range {m} {|\t\tout = append(out, {v}({n}))|type {N}{M} struct {|\t{N} string|\treturn out, nil
\tdefer {n}.Close()|\tvar {n} {M}""",
    "yaml": """{n}:|  {m}: {v}|  - name: {n}-{m}|    replicas: 3|resource "bucket" "{n}_{m}" {|  {n} = var.{m}|}|
    labels: { app: {n} }|  enabled: true|variable "{m}" { type = string }|      threshold: 40
output "{n}" { value = {m} }""",
    "md": """## The {n} of a {m}|A {n} is made when you {v} a {m}.|- first, {v} the {n}|- then look at the {m}||
> The {m} is shown once.|See [the {n}](../{n}.md).|| {n} | {m} |""",
}


@dataclass(slots=True)
class Call:
    """One use of a tool (`shell`, `read`, `edit`, `write`, `search`, `fetch`), whoever records it."""

    tool: str
    target: str
    """The command, path, pattern or address."""
    output: str = ""
    code: int = 0
    old: str = ""
    new: str = ""
    where: str = ""
    """Of a search, the folder."""
    refused: str = ""
    """What the person typed when they did not let it through."""


@dataclass(slots=True)
class Turn:
    """One message of the person, perhaps `amid` the work; or of the agent with its calls; or the agent is stopped."""

    who: Literal["person", "agent", "stop"]
    text: str = ""
    calls: list[Call] = field(default_factory=list)
    amid: bool = False

    @property
    def size(self) -> int:
        """Messages and calls, as a recorder counts that writes each alone."""
        return max(1, bool(self.text) + len(self.calls))


Turns = list[Turn]
Made = tuple[list[Turns], str]
"""The pieces of an occurrence, between which other things may happen, and words that stand in the session."""


def person(text: str) -> Turn:
    """A message of the person."""
    return Turn("person", text)


def agent(text: str = "", *calls: Call) -> Turn:
    """A message of the agent."""
    return Turn("agent", text, list(calls))


def shell(command: str, output: str = "", code: int = 0) -> Call:
    """A command."""
    return Call("shell", command, output, code)


class Maker:
    """Ordinary work in one project."""

    def __init__(self, random_: random.Random, project: Project) -> None:
        self.random = random_
        self.project = project

    def pick(self, table: str | Sequence[str]) -> str:
        """One entry."""
        return self.random.choice(_lines(table) if isinstance(table, str) else table)

    def number(self, least: int = 2, most: int = 400) -> int:
        """A number."""
        return self.random.randint(least, most)

    def noun(self) -> str:
        """A word of the trade."""
        return self.random.choice(NOUNS)

    def part(self) -> str:
        """A part of the product, as people call it."""
        return self.random.choice(self.project.parts)

    def file(self) -> str:
        """A file of the project, mostly one of many."""
        path = self.random.choice(self.project.files)
        folder, _, name = path.rpartition("/")
        if self.random.random() < 0.15:
            return path
        begin = "test_" if name.startswith("test_") else ""
        return f"{folder or 'misc'}/{begin}{self.random.choice(VERBS)}_{self.noun()}.{name.rpartition('.')[2]}"

    def code(self, count: int) -> str:
        """Lines as they stand in a file of the project."""
        rows = []
        for _ in range(count):
            one, other = self.noun(), self.noun()
            row = self.pick(CODE[self.project.language]).replace("{v}", self.random.choice(VERBS))
            row = row.replace("{n}", one).replace("{m}", other)
            rows.append(row.replace("{N}", one.title()).replace("{M}", other.title()))
        return "\n".join(rows)

    def commits(self, count: int) -> str:
        """Lines of a log of commits."""
        return "\n".join(
            f"{self.random.getrandbits(28):07x} {self.random.choice(VERBS)} the {self.noun()} of {self.part()}"
            for _ in range(count)
        )

    def filled(self, text: str) -> str:
        """Each `#` replaced by a number, each bar by the end of a line."""
        return re.sub("#", lambda _: str(self.number(1, 90)), text.replace("|", "\n"))

    def log(self, size: int) -> str:
        """A long output."""
        rows, length, at = [], 0, BEGIN + timedelta(minutes=self.number(0, 9000))
        while length < size:
            at += timedelta(milliseconds=self.number(1, 4000))
            words = f"{self.random.choice(VERBS)} {self.noun()} {self.noun()}={self.number(1, 9999)}"
            rows.append(f"{at:%H:%M:%S.%f} {self.pick('info|info|debug')} [{self.noun()}-{self.number(1, 9)}] {words}")
            length += len(rows[-1]) + 1
        return "\n".join(rows)

    def request(self) -> str:
        """What a person wants, different each time."""
        part, kind = self.part(), self.random.random()
        state = f"{part} {self.pick(SYMPTOMS)} {self.pick(WHEN)}"
        if kind < 0.5:
            text = f"{state[0].upper()}{state[1:]}. {self.pick(ASKS)}".strip()
        elif kind < 0.8:
            text = f"{self.pick(DEEDS)} {self.pick(THINGS)} in {part}; {state}."
        else:
            text = f"{self.pick(STARTS)} {state}?"
        return text[0].lower() + text[1:] if self.random.random() < 0.2 else text

    def remark(self, table: str, path: str) -> str:
        """What the agent says."""
        return self.pick(table).replace("{f}", path)

    def edit(self, path: str, new: str = "", old: str = "") -> Call:
        """A change of a file."""
        return Call("edit", path, old=old or self.code(2), new=new or self.code(self.number(2, 6)))

    def read(self, path: str, content: str = "") -> Call:
        """A look at a file."""
        return Call("read", path, content or self.code(self.number(15, 160)))

    def check(self) -> Call:
        """A check that passes."""
        command, output = self.random.choice(self.project.checks)
        return shell(command, self.filled(output))

    def search(self, pattern: str, where: str, hits: int) -> Call:
        """A search for a pattern, with lines of other files as hits."""
        found = [f"{self.file()}:{self.number()}:{self.code(1).strip()}" for _ in range(hits)]
        return Call("search", pattern, "\n".join(found), 0 if hits else 1, where=where)

    def step(self) -> Turn:
        """One thing that an agent does on its way."""
        path = self.file()
        text = self.remark(REMARKS, path) if self.random.random() < 0.45 else ""
        kind = self.random.random()
        if kind < 0.4:
            return agent(text, self.read(path))
        if kind < 0.55:
            word = f"{self.random.choice(VERBS)}_{self.noun()}"
            return agent(text, self.search(word, path.split("/")[0], self.number(1, 9)))
        if kind < 0.8:
            return agent(text, self.edit(path))
        if kind < 0.9:
            return agent(text, self.check())
        look = [
            f"git log --oneline -{self.number(3, 20)} -- {path}",
            f"wc -l {path}",
            f"git show --stat HEAD~{self.number(1, 9)}",
        ]
        return agent(text, shell(self.pick(look), self.commits(self.number(2, 12))))

    def filler(self, count: int) -> Turns:
        """Steps of the agent alone."""
        return [self.step() for _ in range(count)]

    def block(self, *, first: bool) -> Turns:
        """A request of the person and the work on it."""
        turns = [person(self.request())]
        if first and self.random.random() < 0.5:
            turns.append(agent("", shell(ROUTINE, "" if self.random.random() < 0.4 else f" M {self.file()}")))
        turns += self.filler(self.number(1, 6))
        if self.random.random() < 0.04:
            size = self.number(8_000, 100_000)
            turns.append(agent("", shell(f"tail -n {self.number(300, 900)} logs/{self.noun()}.log", self.log(size))))
        if self.random.random() < 0.6:
            turns.append(agent("", self.check()))
        return [*turns, agent(self.remark(CLOSINGS, self.file()))]


ROUTINE = "git status --short"
MONEY = """Amounts are integers in cents everywhere, so {n} must not become a float.
Why does {f} divide by 100? We keep cents until the template prints them.
No decimals in the database please. {n} is a whole number of cents.
That is the rounding bug again: a float for {n}. Use integer cents.
1999, not 19.99. The column holds minor units, and {n} is no exception.
Money never travels as a float here; {f} has to pass cents as an int.
Hm, {n} comes back as 12.5 now. It should be 1250, in minor units, like every other amount.
Please turn {n} back into an integer, we only format currency at the edge.
you put round(x, 2) into {f} again. whole cents, the smallest unit, nothing after the point"""
FRAGMENT = """Don't edit CHANGELOG.md by hand, add a fragment below changes/ named {n}.md.
Revert the CHANGELOG.md part. Release notes are put together from changes/, so {n}.md goes there.
The release script overwrites CHANGELOG.md. What you wrote belongs into changes/{n}.md.
Missing again: a file in changes/ that tells users about {p}.
Users will notice this, so where is the fragment about {p}? One short file in changes/, please.
CI will complain, {p} has no news fragment. changes/{n}.md, one sentence.
Third merge conflict in CHANGELOG.md this week. Nobody touches that file; one fragment per change.
and the fragment? put the sentence about {p} into changes/, not into the big file"""
CLOCK = """No sleep in tests. There is a frozen_clock fixture, advance it with tick().
{f} takes {k} seconds because of time.sleep; move the clock instead: frozen_clock.tick({k}).
Please never wait for real time in a test, frozen_clock is there for {p} too.
That sleep has to go. tick() exists for this.
CI is slow enough. Let the frozen clock tick rather than sleeping in {f}.
Why do we wait {k} real seconds in {f}? The fixture for time is frozen_clock.
I'd rather not poll until the timeout passes; call tick({k}) on the clock and assert straight away.
same as with the scheduler: time is faked in tests, you don't sleep({k})"""
GENERATED = """files below gen/ are generated, change schema/{n}.ridl and run ridlc
This file is what ridlc wrote. Edit the .ridl and generate it again.
Look at its first line: generated. The source is schema/{n}.ridl.
your edit would be gone after the next ridlc run, so change the schema
Not in gen/. Add the field to schema/{n}.ridl first.
stop, that one is machine-written; go through the ridl schema of {n}"""
HANDOFF = """Before you finish, note in handoff.md what is still untested about {p}.
At the end leave a short list of open points in handoff.md.
Last thing as always: handoff.md gets the untested parts and what the next one should look at.
And update handoff.md so that I can pick this up tomorrow, mostly the things you could not verify.
Close with an entry in handoff.md: done, not done, not tested.
Do not forget the handoff file, three lines are enough, with whatever you left open around {p}.
I will go on from another machine, so put the state of {p} into handoff.md once it works.
finish with handoff.md (what was checked, what was not)"""
CONTRACT = """If you change a route for {p}, raise api_rev in contract.json by one.
Remember contract.json, its api_rev goes up with every new response field.
As this touches an endpoint, bump api_rev as well.
The clients compare api_rev, so increase it in contract.json together with the route of {p}.
contract.json needs the next api_rev, otherwise the mobile build refuses it.
Endpoint change, so: contract first, api_rev plus one, then the handler of {p}.
the response gets another shape here, please count up the revision in contract.json"""
ACCEPTED = """Right, I change that.|Understood.|Sorry, corrected now.|You are right. I put it back.|I missed that."""
SERVICES = _words("billing-edge mailer stock-sync gatehouse invoice-worker thumbs price-feed courier geo-cache")
RINGS = ["amber", "cobalt", "fern", "ochre", "slate"]
TABLES = _words("orders_daily visits refunds_raw shipments tenants_dim price_events sessions_wide stock_moves")


def _worded(make: Maker, table: str, number: int, name: str = "", path: str = "") -> str:
    """One wording of the table, with its gaps filled."""
    text = table.split("\n")[number % len(table.split("\n"))].replace("{f}", path).replace("{p}", make.part())
    return text.replace("{n}", name or make.noun()).replace("{k}", str(make.number(3, 45)))


def _correction(make: Maker, deed: Call, said: str, repair: Call) -> Made:
    """The agent does it the wrong way, the person says so, the agent changes it."""
    first = agent(make.remark(REMARKS, deed.target) if make.number() % 2 else "", deed)
    return [[first], [person(said), agent(make.pick(ACCEPTED), repair), agent("", make.check())]], said


def money(make: Maker, number: int) -> Made:
    """Amounts as floats."""
    name, path = f"{make.noun()}_total", make.file()
    wrong = [f"{name} = float(row.{name}) / 100", f"const {name} = amount / 100;", f"{name} = round(price * 1.19, 2)"]
    deed = make.edit(path, wrong[number % 3])
    return _correction(
        make, deed, _worded(make, MONEY, number, name, path), make.edit(path, f"{name} = int(row.{name})")
    )


def fragment(make: Maker, number: int) -> Made:
    """The log of changes edited by hand, or no note of a change."""
    line, name = f"{make.part()} no longer {make.pick(SYMPTOMS)}", f"{make.noun()}-{make.noun()}"
    deed = make.edit("CHANGELOG.md", f"- {line}", "## Unreleased")
    return _correction(
        make, deed, _worded(make, FRAGMENT, number, name), Call("write", f"changes/{name}.md", new=f"{line}.")
    )


def clock(make: Maker, number: int) -> Made:
    """Tests that wait."""
    path = make.pick([path for path in make.project.files if "test" in path])
    wrong = f"    time.sleep({make.number(1, 12)})\n    assert {make.noun()}.done"
    repair = make.edit(path, f"    frozen_clock.tick({make.number(2, 50)})", wrong)
    return _correction(make, make.edit(path, wrong), _worded(make, CLOCK, number, path=path), repair)


def generated(make: Maker, number: int) -> Made:
    """Edits of generated files, which the person does not let through."""
    name = make.noun()
    path = f"src/gen/{name}_client.ts" if make.project.language == "ts" else f"internal/gen/{name}.ridl.go"
    refused = make.edit(path)
    refused.refused = _worded(make, GENERATED, number, name)
    schema = make.edit(f"schema/{name}.ridl", f"field {make.noun()}: text?")
    run = shell(f"ridlc gen schema/{name}.ridl --out {path.rsplit('/', 1)[0]}", f"wrote {path}")
    pieces = [[agent("", refused)], [agent(make.pick(ACCEPTED), schema), agent("", run)]]
    return pieces, refused.refused


def lease(make: Maker, number: int) -> Made:
    """A push that is refused until a lease is taken."""
    service, ring = make.pick(SERVICES), make.pick(RINGS)
    push = f"skiff push {service} --ring {ring}"
    refusal = f"skiff: push of {service} refused: nobody holds the lease (ring {ring})"
    first = [push, f"cd deploy && {push}", f"timeout 600 {push} --wait", f"{push} 2>&1 | tail -20"][number % 4]
    turns = [agent(make.pick("Rolling it out.||Now the push."), shell(first, refusal, 0 if "tail" in first else 3))]
    wrong = (
        shell(f"{push} --force", "skiff: unknown flag --force", 2),
        shell(f"skiff status {service}", f"{service}  ring={ring}  build={make.number()}  lease=-"),
    )
    turns += [agent("", call) for call in wrong[: number % 3]]
    wins = [
        f"skiff lease take {service} && {push}",
        f"skiff lease take {service} --for {make.number(5, 40)}m",
        f"cd deploy && skiff lease take --service {service}; {push} --wait",
        f'skiff lease take {service} -m "{make.noun()}" && timeout 600 {push} 2>&1 | tail -20',
    ]
    win, taken, pushed = wins[(number // 2) % 4], f"lease on {service} taken", f"pushed {service} to {ring}, healthy"
    last = [agent("", shell(win, f"{taken}\n{pushed}" if push in win else taken))]
    return [turns, last if push in win else [*last, agent("", shell(push, pushed))]], win


def importlib_mode(make: Maker, number: int) -> Made:
    """Test folders with files of the same names."""
    one, other = make.random.sample(["tests/ingest", "tests/export", "tests/api", "tests/jobs"], 2)
    name, folder = make.pick("test_models|test_errors|test_helpers"), make.project.folder
    error = (
        f"ERROR collecting {other}/{name}.py\nimport file mismatch:\nimported module '{name}' has this __file__ "
        f"attribute:\n  {folder}/{one}/{name}.py\nwhich is not the same as the test file we want to collect:\n"
        f"  {folder}/{other}/{name}.py\nHINT: remove __pycache__ / .pyc files and/or use a unique basename for your "
        "test file modules\n1 error in 0.4s"
    )
    begins = ["pytest -q", "python -m pytest", ".venv/bin/pytest -x"]
    first = f"{begins[number % 3]} {one} {other}"
    turns = [agent(make.pick("|Both groups together.|Running the wider set."), shell(first, error, 2))]
    if number % 2:
        clear = shell("find . -name __pycache__ -type d -prune -exec rm -r {} +")
        turns += [agent("Perhaps stale caches.", clear), agent("", shell(first, error, 2))]
    wins = [
        f"pytest --import-mode=importlib {one} {other} -q",
        f"python -m pytest --import-mode importlib {one} {other}",
        f'PYTEST_ADDOPTS="--import-mode=importlib" pytest {other} {one}',
        f".venv/bin/pytest {one} {other} -x --import-mode=importlib",
    ]
    win = wins[(number // 2) % 4]
    return [turns, [agent("", shell(win, make.filled("............|# passed in #.#s")))]], win


def autostash(make: Maker, number: int) -> Made:
    """A rebase with changes in the work tree."""
    base = make.pick("main|release|next|stable")
    first = [f"git rebase origin/{base}", "git pull --rebase", f"git fetch -q && git rebase origin/{base}"][number % 3]
    place, code = ("pull with rebase", 128) if "pull" in first else ("rebase", 1)
    error = f"error: cannot {place}: You have unstaged changes.\nerror: Please commit or stash them."
    wins = [
        f"git rebase --autostash origin/{base}",
        f"git pull --rebase --autostash origin {base}",
        f"git -c rebase.autoStash=true pull --rebase origin {base}",
        f"git fetch -q origin && git rebase --autostash origin/{base}",
    ]
    turns = [agent("", shell(first, error, code))]
    if number % 3 == 1:
        turns.append(agent("", shell("git diff --stat", f" {make.file()} | {make.number(1, 30)} +-")))
    done = f"Created autostash: {make.number(4096, 65535):x}\nApplied autostash.\nSuccessfully rebased."
    return [turns, [agent("", shell(wins[number % 4], done))]], wins[number % 4]


QUERN_HELP = """usage: quern export TABLE [--since-epoch N] [--kind rowgroup|flat] [-o FILE]

Writes a table in the layout of the archive.

  --since-epoch N   only rows that arrived in or after import epoch N, which is not a date
  --kind KIND       rowgroup (default) or flat; flat has no index
  -o FILE           must end in .qrn"""


def quern_help(make: Maker, number: int) -> Made:
    """The options of a command, looked up each time."""
    look = [
        shell("quern export --help", QUERN_HELP),
        shell("quern help export", QUERN_HELP),
        shell("quern export -h | grep -A2 since", QUERN_HELP.split("\n\n")[2]),
        shell("man quern-export | col -b | head -60", f"QUERN-EXPORT(1)\n\n{QUERN_HELP}"),
        Call("fetch", "http://docs.example.invalid/quern/export", f"# quern export\n\n{QUERN_HELP}"),
    ][number % 5]
    table = make.pick(TABLES)
    use = f"quern export {table} --since-epoch {make.number(100, 999)} -o out/{table}.qrn"
    wish = person(f"{make.pick('I need|Please get me|Write out')} {table.replace('_', ' ')} of the last few imports.")
    turns = [wish] * (number % 2) + [agent(make.pick("I check the options first.||How was that flag called?"), look)]
    return [turns, [agent("", shell(use, f"{make.number(1000, 90000)} rows"))]], look.target


RINGS_FILE = """# which ring runs where, and who is asked before a change
[amber]\ncluster = "north-2"\nnamespace = "amb"\nask = "platform"\n[cobalt]\ncluster = "north-4"\nnamespace = "cob-live"
ask = "payments"\n[fern]\ncluster = "south-1"\nnamespace = "fern"\nask = "platform"\n[ochre]\ncluster = "east-1"
namespace = "och-b"\nask = "search"\n[slate]\ncluster = "east-3"\nnamespace = "slt"\nask = "data\""""


def ring_file(make: Maker, number: int) -> Made:
    """A small file, read each time for one line of it."""
    path, ring = "deploy/rings.toml", make.pick(RINGS)
    section = next(part for part in RINGS_FILE.split("[") if part.startswith(ring))
    look = [
        make.read(path, RINGS_FILE),
        shell(f"cat {path}", RINGS_FILE),
        shell(f"grep -A3 {ring} {path}", f"[{section}"),
        shell(f"sed -n '1,{make.number(20, 60)}p' {path}", RINGS_FILE),
        Call("search", ring, f"{path}:{make.number(2, 20)}:[{ring}]\n[{section}", where=path),
    ][number % 5]
    question = person(f"{make.pick('Where does|On which cluster does|In what namespace does')} {ring} run today?")
    place = section.split('"')[1]
    use = f"kubectl --context {place} {make.pick('get pods|top nodes|get events')}"
    turns = ([question] if number % 3 == 0 else []) + [agent("", look)]
    return [turns, [agent("", shell(use, make.log(700)))]], look.target if look.tool == "shell" else path


HUNTS = (
    "feature_flag|isEnabled|FEATURE_|toggle|flags.|launchdarkly|enable_|experiment|rollout|getFlag|kill_switch|variant"
)


def switch_hunt(make: Maker, number: int) -> Made:
    """A long search for one and the same file."""
    name, path = f"{make.noun()}-{make.noun()}", "platform/switches/registry.kdl"
    asks = f"Turn {name} off for the pilot tenants.|Who decides whether {name} is on?|Please enable {name} in staging."
    turns = [person(f"{asks}|We need a flag for {name}.".split("|")[number % 4])]
    for pattern in make.random.sample(HUNTS.split("|"), 5 + number % 3):
        find = shell(f"find . -iname '*{pattern.strip('_.').lower()}*' -not -path './node_modules/*'")
        hunt = make.search(pattern, make.pick("src|.|packages"), make.number(0, 12))
        turns.append(agent("", find if make.random.random() < 0.3 else hunt))
    turns.insert(3, agent("Not there. I widen the search.", make.search(name, ".", 0)))
    registry = "\n".join(f'switch "{make.noun()}-{make.noun()}" default=off owner="{make.noun()}"' for _ in range(30))
    off, on = (f'switch "{name}" default={state}' for state in ("off", "on"))
    look = agent("", shell("ls -R platform | head -40", "platform/switches:\nregistry.kdl\nREADME"))
    return [turns, [look, agent("", make.read(path, f"{registry}\n{off}")), agent("", make.edit(path, on, off))]], path


def handoff(make: Maker, number: int) -> Made:
    """A wish for a note at the end."""
    said = _worded(make, HANDOFF, number)
    note = f"done: {make.part()}\nopen: {make.part()} {make.pick(WHEN)}"
    return [[person(said)], [agent("", Call("write", "handoff.md", new=note))]], said


def contract(make: Maker, number: int) -> Made:
    """A wish for a higher revision."""
    said, rev = _worded(make, CONTRACT, number), make.number(40, 200)
    return [[person(said)], [agent("", make.edit("contract.json", f'"api_rev": {rev + 1}', f'"api_rev": {rev}'))]], said


def _again(wrong: Call, right: Call, quote: str = "") -> Made:
    """A failure and what is run after it."""
    return [[agent("", wrong)], [agent("", right)]], quote or right.target


def flaky(make: Maker, number: int) -> Made:
    """A test that passes the second time."""
    test = "tests/sync/test_backoff.py::test_gives_up_after_three"
    command = [f"pytest {test}", f"pytest -q {test}", f"uv run pytest {test} -x"][number % 3]
    failed = f"E       assert {make.number(4, 6)} == 3\nFAILED {test} - assert\n1 failed in {make.number(1, 9)}.4s"
    return _again(shell(command, failed, 1), shell(command, f"1 passed in {make.number(1, 9)}.2s"), test)


def port(make: Maker, number: int) -> Made:
    """A port that is taken."""
    one, other = make.number(3000, 5999), make.number(6000, 9800)
    serve = "make serve PORT={}|python -m http.server {}|npm run dev -- --port {}|bin/serve --listen 127.0.0.1:{}"
    command = serve.split("|")[number % 4]
    taken = shell(command.format(one), f"OSError: [Errno 98] Address already in use: ('127.0.0.1', {one})", 1)
    return _again(taken, shell(command.format(other), f"listening on 127.0.0.1:{other}"))


TICKETS = """This is {t}, branch {b}.|Work on {b} please, it belongs to {t}.|{t} again. The branch is called {b}.
Switch to {b} before you start ({t}).|For {t}; there is a branch {b} already."""
SUBJECTS = """Commit subjects get a prefix, fix: or feat:, so this is a fix: for {p}.
No prefix in commit subjects, just a plain sentence about {p}.|Please use feat: as the prefix of that commit subject.
Drop the feat: prefix, the commit subject is a sentence.|The commit subject lacks its prefix (docs:, fix:, feat:).
Commit subjects without fix: or feat:, please."""
DOCSTRINGS = """Every function in {f} gets a docstring.|Leave the docstrings out of {f}, the names say enough.
Please add docstrings, also for the private functions of {f}.|No docstrings on functions like these.
I want a docstring on that function.|Remove that docstring, the function in {f} is clear without."""
NETWORK = """npm ci=npm error code ETIMEDOUT\\nnpm error network request to http://registry.example.invalid/vite failed
uv sync=error: Failed to fetch: `http://pypi.example.invalid/simple/attrs/`\\n  Caused by: connection reset
git fetch origin=fatal: unable to access 'http://git.example.invalid/x.git/': Could not resolve host
go mod download=go: module lookup: dial tcp 127.0.0.53:53: i/o timeout
terraform init=Error: Failed to query available provider packages: 503 Service Unavailable"""
TYPOS = """gti status|git statsu|pyhton scripts/check.py|mkae check|grpe -rn todo src|ls -la scr|gi tdiff|cat REDAME.md
sl src|wc -l src/*.yp|head -n2O README.md|sed -n 1,1Op README.md|git lgo --oneline"""
RIGHT = """git status|git status|python scripts/check.py|make check|grep -rn todo src|ls -la src|git diff|cat README.md
ls src|wc -l src/*.py|head -n20 README.md|sed -n 1,10p README.md|git log --oneline"""
TALK = """Thanks, that looks great!|Good morning! Coffee first, then this.|Nice, thank you.
Perfect, have a good weekend.|Haha, fair enough.|Great work, thanks a lot.|Sounds good, go on.|ok cool, thanks
Lunch, back in an hour.|Wow, that was quick."""


def _told(first: Turns, said: str, repair: Call) -> Made:
    """The person says something that holds only here."""
    return [first, [person(said), agent("", repair)]], said


def ticket(make: Maker, number: int) -> Made:
    """A ticket and a branch."""
    name = f"{make.random.choice(VERBS)}-{make.noun()}-{make.noun()}"
    said = _lines(TICKETS)[number % 5].replace("{t}", f"TRN-{make.number(1000, 9999)}").replace("{b}", name)
    return _told([], said, shell(f"git switch {name}", f"Switched to branch '{name}'"))


def subjects(make: Maker, number: int) -> Made:
    """Two rules about commits that contradict each other."""
    said = _lines(SUBJECTS)[number % 6].replace("{p}", make.part())
    words = f"{make.random.choice(VERBS)} the {make.noun()} of {make.part().removeprefix('the ')}"
    one, other = (f"fix: {words}", words) if number % 2 else (words, f"fix: {words}")
    return _told([agent("", shell(f'git commit -qam "{one}"'))], said, shell(f'git commit -q --amend -m "{other}"'))


def docstrings(make: Maker, number: int) -> Made:
    """Two rules about comments that contradict each other."""
    path = make.file()
    said = _lines(DOCSTRINGS)[number % 6].replace("{f}", path)
    return _told([agent("", make.edit(path))], said, make.edit(path))


def network(make: Maker, number: int) -> Made:
    """A network that fails once."""
    command, _, error = NETWORK.split("\n")[number % 5].replace("\\n", "\n").partition("=")
    return _again(shell(command, error, 128 if "git" in command else 1), shell(command, make.filled("done in #.#s")))


def typo(make: Maker, number: int) -> Made:
    """A misspelt command."""
    wrong, right = (_lines(table)[number % 13] for table in (TYPOS, RIGHT))
    program, *rest = wrong.split()
    known = {"git": f"git: '{rest[0]}' is not a git command.", "gti": "gti: command not found"}
    error = known.get(program, f"{program}: {rest[-1]}: No such file or directory" if rest else "")
    if program not in ("git", "ls", "cat", "wc", "head", "sed"):
        error = f"bash: {program}: command not found"
    return _again(shell(wrong, error, 127 if "command not" in error else 1), shell(right, make.commits(3)), wrong)


def version(make: Maker, number: int) -> Made:
    """A version that changes."""
    tool = ["node", "terraform", "go", "mypy", "vite", "ruff", "python", "mkdocs", "pytest"][number % 9]
    one = f"{tool} {make.number(1, 22)}.{make.number(0, 30)}.{make.number(0, 9)}"
    said = [f"We are on {one} now.", f"CI was moved to {one}, use that.", f"From today it is {one}."][number % 3]
    return _told([agent("", shell(f"{tool} --version", one[:-1] + "0"))], said, make.edit("README.md", one))


def talk(make: Maker, number: int) -> Made:
    """Small talk."""
    said = _lines(TALK)[number % 10]
    return [[], [person(said), agent(make.pick("You are welcome.|Glad it helps.|Enjoy.|Any time."))]], said


def wrong_file(make: Maker, number: int) -> Made:
    """A file that was not meant."""
    one, other = make.random.sample(make.project.files, 2)
    said = [f"No, not {one}. I meant {other}.", f"Wrong file, look at {other}.", f"I said {other}, you opened {one}."]
    return _told([agent("", make.read(one))], said[number % 3], make.read(other))


def own_mistake(make: Maker, number: int) -> Made:
    """A mistake that a check finds."""
    path, name = make.file(), f"{make.random.choice(VERBS)}_{make.noun()}_{number}"
    check, passed = make.random.choice(make.project.checks)
    kinds = [
        f"name '{name}' is not defined",
        f"'{name}' has no member '{make.noun()}'",
        f"expected 2 arguments, {name} got 3",
    ]
    error = f"{path}:{make.number()}: error: {kinds[number % 3]}"
    fixed = [agent("", make.edit(path, name)), agent("", shell(check, make.filled(passed)))]
    return [[agent("", make.edit(path)), agent("", shell(check, error, 1))], fixed], error


@dataclass(frozen=True, slots=True)
class Spec:
    """A habit or decoy to be put into sessions."""

    id: str
    kind: str
    count: int
    first: int
    """The first day, counted from the beginning."""
    last: int
    need: int
    projects: list[str]
    """None for all."""
    description: str
    words: tuple[str, ...]
    make: Callable[[Maker, int], Made]


_HABITS = r"""
money-in-cents; correction; 14 0 90 2 ledger-api tern-web
Amounts of money are whole numbers of cents (minor units), never floats, until they are shown.
\bcents?\b; \bminor units?\b; \bfloat; \binteger|whole number|\bint\b; \bamounts?\b|\bmoney\b; 100\b|19\.99|round\(
changes-fragment; correction; 12 0 90 2 ledger-api tern-web skua-agent
Changes that users notice get a fragment in changes/; CHANGELOG.md is not edited by hand.
CHANGELOG\.md; \bchanges/; \bfragment; release notes|\bnews\b
frozen-clock; correction; 11 0 66 2 ledger-api pollen
Tests do not sleep: they advance the frozen_clock fixture with tick().
frozen[_ ]clock|\bclock\b; \btick\b; \bsleep; \bfixture\b|faked|real (?:time|seconds)
generated-files; refused call; 9 0 90 2 tern-web skua-agent
Files below gen/ are not edited: schema/*.ridl is changed and ridlc is run.
\bridlc?\b; \bgen/|\bgenerated?\b|machine-written; \bschema\b
skiff-lease; failed command, other form works; 17 0 90 2 harbour-infra ledger-api skua-agent
`skiff push` is refused until `skiff lease take SERVICE` was run.
\bskiff\b; \blease\b
pytest-importlib; failed command, other form works; 18 0 90 2 pollen ledger-api
Several test folders together need `pytest --import-mode=importlib`, because file names repeat.
import-mode[ =]importlib; \bpytest\b
rebase-autostash; failed command, other form works; 10 0 90 2
`git rebase` and `git pull --rebase` fail on unstaged changes; with --autostash they work.
auto-?stash; \brebase\b
quern-export-options; look-up of a help page; 15 0 90 2 pollen harbour-infra
The options of `quern export` (--since-epoch, -o *.qrn) are looked up each time.
\bquern\b; \bexport\b
rings-file; look-up in a file; 13 0 90 1 harbour-infra skua-agent
deploy/rings.toml is read each time to learn the cluster and namespace of a ring.
\brings\.toml\b
switch-registry; long search; 9 0 90 1 tern-web ledger-api
Feature switches are searched for at length; they are in platform/switches/registry.kdl.
registry\.kdl|platform/switches
handoff-note; repeated instruction; 16 0 90 1
At the end of the work handoff.md gets what was done, what is open and what is untested.
\bhand-?off\b
contract-revision; repeated instruction; 8 48 90 1 ledger-api tern-web
A change of an endpoint raises api_rev in contract.json by one.
\bapi_rev\b; \bcontract\.json\b"""
_DECOYS = r"""
flaky-test; flaky test; 15 0 90 1 ledger-api pollen
A test fails and passes with the same command.
test_backoff|gives_up_after
another-port; one-off value; 12 0 90 1
A port is taken and another one is free, a different one each time.
address already in use|errno 98|\bPORT=\d|--port \d|--listen 127|http\.server \d
ticket-and-branch; one-off value; 22 0 90 1
The person names a ticket and a branch, others each time.
\bTRN-\d+|\bgit switch\b
commit-prefix; contradicted rule; 12 0 90 1 tern-web
Commit subjects with a prefix are asked for in some sessions, without one in others.
commit subject|\bprefix\b|--amend|\bfeat:|\bfix:
docstrings; contradicted rule; 10 0 90 1 ledger-api pollen
Docstrings are asked for in some sessions and unwanted in others.
docstring
network; transient error; 13 0 90 1
The network fails once, then the same command works.
ETIMEDOUT|could not resolve|i/o timeout|failed to fetch|npm ci\b|uv sync\b|fetch origin$|go mod download|terraform init
typos; typo; 11 0 90 1
A command is misspelt, differently each time.
command not found|\bgti\b|statsu|pyhton|mkae|grpe|\bscr\b|gi tdiff|REDAME|^sl src|\.yp\b|n2O|1Op|\blgo\b
versions; changing value; 9 0 90 1
The version in use is named, another each time.
(?:node|terraform|\bgo|mypy|vite|ruff|python|mkdocs|pytest) \d+\.\d+\.\d+|--version\b
small-talk; small talk; 36 0 90 1
Thanks, greetings and the like.
\bthanks?\b|good morning|weekend|fair enough|sounds good|\blunch\b|that was quick|great!
wrong-file; one-off value; 13 0 90 1
The person meant another file, another one each time.
\bI meant\b|\bwrong file\b|\bI said\b.*\byou opened\b
own-mistakes; ordinary debugging; 24 0 90 1
A mistake of the agent fails a check; after an edit the same check passes.
is not defined|has no member|expected 2 arguments
routine; routine work; 0 0 90 1
Commands that always work: git status at the start, the checks of a project; also where nothing else is planned.
git status --short|\bmake (?:check|plan|build)|npm test|npx |yamllint|uv run|go (?:test|vet)|mkdocs build|links c"""


def _specs(table: str, makers: Sequence[Callable[[Maker, int], Made]]) -> tuple[Spec, ...]:
    rows = table.strip().split("\n")
    found = []
    for head, description, words, make in zip(rows[::3], rows[1::3], rows[2::3], makers, strict=True):
        name, kind, rest = head.split("; ")
        count, first, last, need, *projects = rest.split()
        patterns = tuple(words.split("; "))
        found.append(
            Spec(name, kind, int(count), int(first), int(last), int(need), projects, description, patterns, make)
        )
    return tuple(found)


_MAKERS = (money, fragment, clock, generated, lease, importlib_mode, autostash, quern_help, ring_file, switch_hunt)
HABITS = _specs(_HABITS, (*_MAKERS, handoff, contract))
DECOYS = _specs(
    _DECOYS,
    (flaky, port, ticket, subjects, docstrings, network, typo, version, talk, wrong_file, own_mistake, talk),
)


@dataclass(slots=True)
class Session:
    """One session while it is made."""

    number: int
    recorder: str
    project: Project
    began: datetime
    bare: bool
    random: random.Random
    wanted: list[tuple[Spec, int, How]] = field(default_factory=list)
    turns: Turns = field(default_factory=list)
    file: str = ""
    seen: list[tuple[Spec, str, How, str]] = field(default_factory=list)
    ended: bool = True
    """False where the recording stops in the middle."""

    def identity(self) -> str:
        """A new id."""
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))


def _sessions(choose: random.Random) -> list[Session]:
    """Empty sessions, in the order of time."""
    recorders = [name for name, count in FORMATS.items() for _ in range(count)]
    projects = [project for project in PROJECTS for _ in range(project.sessions)]
    choose.shuffle(recorders)
    choose.shuffle(projects)
    times: list[datetime] = []
    while len(times) < len(recorders):
        day = BEGIN + timedelta(days=choose.randrange(DAYS))
        if day.weekday() < 5 or choose.random() < 0.15:
            times.append(day + timedelta(hours=7, seconds=choose.randrange(11 * 3600)))
    times.sort()
    bare = set(choose.sample(range(len(times)), round(WITHOUT * len(times))))
    return [
        Session(number, recorder, project, began, number in bare, random.Random(f"{SEED}-{number}"))
        for number, (recorder, project, began) in enumerate(zip(recorders, projects, times, strict=True))
    ]


def _assign(choose: random.Random, sessions: list[Session]) -> None:
    """Decide which session gets what: at most four, one of which may cut it off. Half of a habit is in one piece."""
    broken: tuple[How, ...] = ("spaced", "late", "interrupted", "cut")
    for spec in (*HABITS, *DECOYS):
        first, last = (BEGIN + timedelta(days=day) for day in (spec.first, spec.last))
        fit = [one for one in sessions if not one.bare and len(one.wanted) < 4 and first <= one.began < last]
        fit = [one for one in fit if not spec.projects or one.project.name in spec.projects]
        idle = [one for one in fit if not one.wanted]
        chosen = choose.sample(idle if len(idle) >= spec.count else fit, spec.count)
        order, courses = list(range(spec.count)), list(range(spec.count))
        if spec.kind != "contradicted rule":
            choose.shuffle(order)
        choose.shuffle(courses)
        for session, number, course in zip(sorted(chosen, key=lambda one: one.number), order, courses, strict=True):
            how: How = broken[(course // 2) % 4] if course % 2 else "direct"
            if spec in DECOYS and how != "spaced":
                how = "direct"
            elif how == "cut" and any(other == "cut" for _, _, other in session.wanted):
                how = "spaced"
            session.wanted.append((spec, number, how))


STOPS = (
    "Wait.|One moment, something else first.|Hold on.|Stop for a second.|Pause, please.|Before that:|Quick question:"
)
RESUMES = (
    "OK, go on with what you did.|Back to it.|Now continue.|Go on where you stopped.|That is settled, please continue."
)


def _lay_out(session: Session) -> None:
    """Fill the session: ordinary work, and the occurrences after the answers in it."""
    make = Maker(session.random, session.project)
    made = [(*spec.make(make, number), spec, number, how) for spec, number, how in session.wanted]
    room = LARGEST - sum(turn.size for pieces, *_ in made for piece in pieces for turn in piece)
    room -= 6 * sum(how in ("interrupted", "spaced") for *_, how in made)
    blocks: list[Turns] = []
    wanted = max(3 if any(how == "late" for *_, how in made) else 1, 1 + session.number % 5)
    while len(blocks) < wanted or sum(map(len, blocks)) < 6:
        if len(blocks) >= 3 and room < 12:
            break
        block = make.block(first=not blocks)
        blocks.append(block if room > 14 else block[:2] + block[-1:])
        room -= sum(turn.size for turn in blocks[-1])
    inside: list[Turns] = [[] for _ in blocks]
    after: list[Turns] = [[] for _ in blocks]
    end: Turns = []

    def put(at: int, turns: Turns) -> None:
        """What the agent does stands before its answer, what the person says after it."""
        (after if not turns or turns[0].who == "person" or after[at] else inside)[at].extend(turns)

    for (opening, tail), quote, spec, number, how in made:
        session.seen.append((spec, quote, how, f"side {number % 2 + 1}" if spec.kind == "contradicted rule" else ""))
        at = make.random.randrange(len(blocks) - (2 if how == "late" else 0))
        if how == "direct" and spec.kind == "repeated instruction" and make.random.random() < 0.5:
            # It comes with the first request.
            blocks[0][0].text += " " + opening[0].text
            after[-1] += tail
        elif how == "late":
            put(at, opening)
            put(-1, tail)
        elif how == "cut":
            end += [*opening, *tail[: 1 if tail[0].who == "person" else 2]]
            session.ended = False
        elif how == "interrupted":
            put(at, _interrupted(make, opening, tail))
        else:
            put(at, [*opening, *(make.filler(make.number(1, 3)) if how == "spaced" else [])])
            put(at, tail)
    for block, amid, added in zip(blocks, inside, after, strict=True):
        session.turns += [*block[:-1], *amid, block[-1], *added]
    session.turns += end


def _interrupted(make: Maker, opening: Turns, tail: Turns) -> Turns:
    """The person stops the agent or speaks amid its work, to say what is wrong or to ask for something else first."""
    if tail[0].who == "person":
        tail[0].amid = make.random.random() < 0.5
        return [*opening, make.step(), *([] if tail[0].amid else [Turn("stop")]), *tail]
    other = [person(f"{make.pick(STOPS)} {make.request()}"), make.step(), agent(make.remark(CLOSINGS, make.file()))]
    return [*opening, Turn("stop"), *other, person(make.pick(RESUMES)), *tail]


Json = dict[str, Any]
TOOLS = """
claude-code Bash:command Read:file_path Edit:file_path:old_string:new_string Write:file_path:content
 Grep:pattern:path WebFetch:url
codex exec_command exec_command apply_patch apply_patch exec_command exec_command
opencode bash:command read:filePath edit:filePath:oldString:newString write:filePath:content
 grep:pattern:path webfetch:url
gemini-cli run_shell_command:command read_file:file_path replace:file_path:old_string:new_string
 write_file:file_path:content search_file_content:pattern:dir_path web_fetch:prompt
cursor-stream shellToolCall:command readToolCall:path editToolCall:path:oldString:newString
 writeToolCall:path:fileText grepToolCall:pattern:path webFetchToolCall:url
otel-genai bash:command read_file:path edit_file:path:old:new write_file:path:content grep:pattern:path fetch:url"""
"""Of each recorder the names of its tools and of what they are given."""
_TOOLS = {row.split()[0]: row.split()[1:] for row in TOOLS.strip().replace("\n ", " ").split("\n")}
KINDS = ("shell", "read", "edit", "write", "search", "fetch")


class Recorder:
    """Writes a session as one recorder does."""

    says_why = False
    """Whether the reason for a refusal is recorded with it, not as a message."""

    def __init__(self, session: Session, folder: Path) -> None:
        self.session = session
        self.folder = folder
        self.random = session.random
        self.cwd = session.project.folder
        self.id = session.identity()
        self.now = session.began
        self.rows: list[Json] = []
        self.document: Json = {}

    def write(self) -> None:
        """Write the file and set its time."""
        self.session.file = self.open()
        for turn in self.session.turns:
            self.wait(*((20, 240) if turn.who == "person" else (3, 30)))
            if turn.who == "stop":
                self.stop()
            elif turn.who == "person":
                self.person(turn.text, amid=turn.amid)
            else:
                self.agent(turn)
            for call in turn.calls:
                if call.refused and not self.says_why:
                    self.wait(4, 20)
                    self.person(call.refused, amid=False)
        self.close()
        path = self.folder / self.session.file
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = [self.document] if self.document else self.rows
        indent = 1 if "messages" in self.document else None
        text = "".join(json.dumps(row, ensure_ascii=False, indent=indent) + "\n" for row in rows)
        path.write_text(text, encoding="utf-8")
        os.utime(path, (self.now.timestamp(), self.now.timestamp()))

    def open(self) -> str:
        """Begin the recording; returns the path of its file."""
        raise NotImplementedError

    def person(self, text: str, *, amid: bool) -> None:
        """Record a message of the person."""
        raise NotImplementedError

    def agent(self, turn: Turn) -> None:
        """Record a message of the agent and its calls."""
        raise NotImplementedError

    def stop(self) -> None:
        """Record that the person stopped the agent, if this recorder does."""

    def close(self) -> None:
        """End the recording."""

    def wait(self, least: int, most: int) -> None:
        """Let time pass."""
        self.now += timedelta(seconds=self.random.randint(least, most), milliseconds=self.random.randrange(1000))

    @property
    def iso(self) -> str:
        """The time as most recorders write it."""
        return self.now.strftime("%Y-%m-%dT%H:%M:%S.") + f"{self.now.microsecond // 1000:03d}Z"

    @property
    def ms(self) -> int:
        """The time in milliseconds."""
        return int(self.now.timestamp() * 1000)

    def short(self, begin: str) -> str:
        """A new id with a beginning."""
        return begin + self.session.identity().replace("-", "")[:16]

    def tool(self, call: Call) -> tuple[str, Json]:
        """The name of the tool and what it is given."""
        name, *fields = _TOOLS[self.session.recorder][KINDS.index(call.tool)].split(":")
        path = f"{self.cwd}/{call.target}"
        values = {"read": [path], "edit": [path, call.old, call.new], "write": [path, call.new]}
        return name, dict(zip(fields, values.get(call.tool, [call.target, call.where]), strict=False))


class ClaudeCode(Recorder):
    """Writes `~/.claude/projects/FOLDER/ID.jsonl`."""

    says_why = True
    parent: str | None = None

    def open(self) -> str:
        if self.random.random() < 0.6:
            shot = {"messageId": self.id, "trackedFileBackups": {}, "timestamp": self.iso}
            self.rows.append({"type": "file-history-snapshot", "messageId": self.id, "snapshot": shot})
        if self.random.random() < 0.4:
            caveat = (
                "<local-command-caveat>Caveat: the messages below were generated by the user.</local-command-caveat>"
            )
            self._add("user", {"role": "user", "content": caveat}, isMeta=True)
        return f"claude/projects/{self.cwd.replace('/', '-')}/{self.id}.jsonl"

    def _add(self, kind: str, message: Json, **more: Any) -> None:
        row: Json = {"parentUuid": self.parent, "isSidechain": False, "userType": "external", "cwd": self.cwd}
        row |= {"sessionId": self.id, "version": "2.1.197", "gitBranch": "main", "uuid": self.session.identity()}
        self.rows.append(row | {"timestamp": self.iso, "type": kind} | ({"message": message} if message else {}) | more)
        self.parent = str(row["uuid"])

    def person(self, text: str, *, amid: bool) -> None:
        if amid:
            self._add("attachment", {}, attachment={"type": "queued_command", "prompt": text, "commandMode": "prompt"})
        else:
            self._add("user", {"role": "user", "content": text})

    def stop(self) -> None:
        self._add("user", {"role": "user", "content": [{"type": "text", "text": "[Request interrupted by user]"}]})

    def agent(self, turn: Turn) -> None:
        about = {"id": self.short("msg_"), "type": "message", "role": "assistant", "model": "claude-sonnet-5"}
        parts: list[tuple[Json, Call | None]] = [({"type": "text", "text": turn.text}, None)] if turn.text else []
        for call in turn.calls:
            name, given = self.tool(call)
            parts.append(({"type": "tool_use", "id": self.short("toolu_"), "name": name, "input": given}, call))
        for block, each in parts:
            usage = {"input_tokens": 9, "cache_read_input_tokens": 18000, "output_tokens": self.random.randint(20, 400)}
            self._add("assistant", about | {"content": [block], "stop_reason": None, "usage": usage})
            if each is not None:
                self.wait(0, 20)
                self._result(str(block["id"]), each)

    def _result(self, call_id: str, call: Call) -> None:
        output, failed = call.output or "No matches found", bool(call.refused or (call.tool == "shell" and call.code))
        seen: Any = {"mode": "content", "content": output}
        if call.refused:
            output = (
                "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file "
                "edit, the new_string was NOT written to the file). To tell you how to proceed, the user said:\n"
            ) + call.refused
        elif call.tool == "shell":
            output = f"Exit code {call.code}\n{call.output}" if failed else call.output
            seen = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
        elif call.tool == "read":
            output = "\n".join(f"{number:6}→{row}" for number, row in enumerate(call.output.split("\n"), start=1))
            file = {"filePath": f"{self.cwd}/{call.target}", "content": call.output, "startLine": 1}
            seen = {"type": "text", "file": file}
        elif call.tool in ("edit", "write"):
            output = f"The file {self.cwd}/{call.target} has been updated."
            seen = {"filePath": f"{self.cwd}/{call.target}", "oldString": call.old, "newString": call.new}
        if not failed and self.random.random() < 0.03:
            output += "\n<system-reminder>The task list is empty. Do not mention this to the user.</system-reminder>"
        block = {"type": "tool_result", "tool_use_id": call_id, "content": output, "is_error": failed}
        result = f"Error: {output}" if failed else seen
        self._add("user", {"role": "user", "content": [block]}, toolUseResult=result)

    def close(self) -> None:
        if self.session.ended:
            self.rows.append({"type": "last-prompt", "leafUuid": self.parent, "sessionId": self.id})


class Codex(Recorder):
    """Writes `~/.codex/sessions/YEAR/MONTH/DAY/rollout-….jsonl`."""

    def open(self) -> str:
        meta = {
            "session_id": self.id,
            "id": self.id,
            "timestamp": self.iso,
            "cwd": self.cwd,
            "originator": "codex_cli_rs",
        }
        self._row("session_meta", meta | {"cli_version": "0.166.0", "source": "cli", "history_mode": "legacy"})
        rules = "<INSTRUCTIONS>\nKeep changes small. Run the checks.\n</INSTRUCTIONS>"
        self._message("user", f"# AGENTS.md instructions for {self.cwd}\n\n{rules}")
        self._message(
            "user", f"<environment_context>\n  <cwd>{self.cwd}</cwd>\n  <shell>bash</shell>\n</environment_context>"
        )
        self._row("turn_context", {"turn_id": "t1", "cwd": self.cwd, "approval_policy": "on-request", "model": "gpt-6"})
        return f"codex/sessions/{self.now:%Y/%m/%d}/rollout-{self.now:%Y-%m-%dT%H-%M-%S}-{self.id}.jsonl"

    def _row(self, kind: str, payload: Json) -> None:
        self.rows.append({"timestamp": self.iso, "type": kind, "payload": payload})

    def _message(self, role: str, text: str) -> None:
        kind = "input_text" if role == "user" else "output_text"
        self._row("response_item", {"type": "message", "role": role, "content": [{"type": kind, "text": text}]})

    def person(self, text: str, *, amid: bool) -> None:
        self._message("user", text)
        self._row("event_msg", {"type": "user_message", "message": text} | ({"steer": True} if amid else {}))

    def stop(self) -> None:
        self._message("user", "<turn_aborted>\n  <reason>interrupted</reason>\n</turn_aborted>")
        self._row("event_msg", {"type": "turn_aborted", "reason": "interrupted"})

    def agent(self, turn: Turn) -> None:
        if turn.text:
            self._message("assistant", turn.text)
            self._row("event_msg", {"type": "agent_message", "message": turn.text})
        for call in turn.calls:
            about: Json = {"call_id": self.short("call_"), "name": self.tool(call)[0]}
            self.wait(0, 20)
            if call.tool in ("edit", "write"):
                self._row("response_item", {"type": "custom_tool_call", **about, "input": self._patch(call)})
                body = {
                    "output": f"Success. Updated the following files:\nM {call.target}",
                    "metadata": {"exit_code": 0},
                }
                output = "patch rejected by user" if call.refused else json.dumps(body)
                kind = "custom_tool_call_output"
            else:
                commands = {"read": f"sed -n '1,200p' {call.target}", "search": f"rg -n '{call.target}' {call.where}"}
                command = commands.get(call.tool, f"curl -s {call.target}" if call.tool == "fetch" else call.target)
                given = json.dumps({"cmd": command, "workdir": self.cwd}, ensure_ascii=False)
                self._row("response_item", {"type": "function_call", **about, "arguments": given})
                output = f"Wall time: 0.4 seconds\nProcess exited with code {call.code}\nOutput:\n{call.output}"
                kind = "function_call_output"
            self._row("response_item", {"type": kind, "call_id": about["call_id"], "output": output})

    def _patch(self, call: Call) -> str:
        new = "\n".join(f"+{row}" for row in call.new.split("\n"))
        old = "\n".join(f"-{row}" for row in call.old.split("\n"))
        hunk = f"Add File: {call.target}" if call.tool == "write" else f"Update File: {call.target}\n@@\n{old}"
        return f"*** Begin Patch\n*** {hunk}\n{new}\n*** End Patch"

    def close(self) -> None:
        if self.session.ended:
            self._row("event_msg", {"type": "task_complete", "turn_id": "t1"})


class Opencode(Recorder):
    """Writes what `opencode export ID` prints."""

    says_why = True

    def open(self) -> str:
        info = {"id": self.short("ses_"), "slug": self.session.project.name, "directory": self.cwd, "title": "Work"}
        self.document = {"info": info | {"version": "1.18.33", "time": {"created": self.ms}}, "messages": []}
        return f"opencode/{info['id']}.json"

    def _add(self, role: str, parts: list[Json], **more: Any) -> None:
        session, message = self.document["info"]["id"], self.short("msg_")
        info: Json = {"id": message, "sessionID": session, "role": role, "time": {"created": self.ms}, **more}
        for number, part in enumerate(parts):
            part |= {"id": f"prt_{message[4:]}{number}", "sessionID": session, "messageID": message}
        self.document["messages"].append({"info": info, "parts": parts})

    def person(self, text: str, *, amid: bool) -> None:
        note = {
            "type": "text",
            "text": "<system-reminder>The user sent a message.</system-reminder>",
            "synthetic": True,
        }
        self._add("user", [{"type": "text", "text": text}, *([note] if amid else [])], agent="build")

    def stop(self) -> None:
        self._add(
            "assistant", [{"type": "step-start"}], modelID="glm-5", error={"name": "MessageAbortedError", "data": {}}
        )

    def agent(self, turn: Turn) -> None:
        parts: list[Json] = [{"type": "step-start"}, *([{"type": "text", "text": turn.text}] if turn.text else [])]
        for call in turn.calls:
            name, given = self.tool(call)
            begun = self.ms
            self.wait(0, 20)
            state: Json = {"status": "completed", "input": given, "time": {"start": begun, "end": self.ms}}
            if call.refused:
                why = "The user rejected permission to use this specific tool call with the following feedback: "
                state |= {"status": "error", "error": why + call.refused}
            else:
                done = "Edit applied successfully." if call.new else call.output or "(no output)"
                about = {"exit": call.code, "truncated": False} if call.tool == "shell" else {}
                state |= {"output": done, "title": call.target, "metadata": about}
            parts.append({"type": "tool", "callID": self.short("call_"), "tool": name, "state": state})
        parts.append({"type": "step-finish", "reason": "tool-calls" if turn.calls else "stop", "cost": 0})
        self._add("assistant", parts, modelID="glm-5", providerID="local", mode="build", path={"cwd": self.cwd})


class GeminiCli(Recorder):
    """Writes `~/.gemini/tmp/PROJECT/chats/session-….jsonl`, and the file that names the folder of the project."""

    def open(self) -> str:
        project = self.folder / "gemini" / "tmp" / self.session.project.name
        project.mkdir(parents=True, exist_ok=True)
        (project / ".project_root").write_text(self.cwd, encoding="utf-8")
        head = {
            "sessionId": self.id,
            "projectHash": hashlib.sha256(self.cwd.encode()).hexdigest(),
            "startTime": self.iso,
        }
        self.rows.append(head | {"lastUpdated": self.iso, "kind": "main"})
        return f"gemini/tmp/{project.name}/chats/session-{self.now:%Y-%m-%dT%H-%M}-{self.id[:8]}.jsonl"

    def _message(self, kind: str, content: Any) -> Json:
        return {"id": self.session.identity(), "timestamp": self.iso, "type": kind, "content": content}

    def person(self, text: str, *, amid: bool) -> None:
        self.rows.append(self._message("user", [{"text": text}]) | ({"hint": True} if amid else {}))

    def stop(self) -> None:
        self.rows.append(self._message("info", "Request cancelled."))

    def agent(self, turn: Turn) -> None:
        message = self._message("gemini", turn.text) | {"model": "gemini-3-pro", "thoughts": []}
        if turn.calls and self.random.random() < 0.4:
            # The recorder writes a message when it begins, and again when its calls are done.
            self.rows.append(message)
        self.rows.append(message | ({"toolCalls": [self._call(call) for call in turn.calls]} if turn.calls else {}))

    def _call(self, call: Call) -> Json:
        name, given = self.tool(call)
        call_id, output, status = self.short(f"{name}-"), call.output or "(empty)", "success"
        self.wait(0, 20)
        if call.refused:
            output, status = "[Operation Cancelled] Reason: User did not allow tool call", "cancelled"
        elif call.tool == "shell":
            output = f"Output: {output}\nError: (none)\nExit Code: {call.code}\nProcess Group PGID: {self.ms % 9000}"
        elif call.new:
            output = f"Successfully modified file: {call.target} (1 replacements)."
        response = {"functionResponse": {"id": call_id, "name": name, "response": {"output": output}}}
        record: Json = {"id": call_id, "name": name, "args": given, "status": status, "timestamp": self.iso}
        return record | {"result": [response], "resultDisplay": call.output[:400]}


class CursorStream(Recorder):
    """Writes what `cursor-agent --output-format stream-json` prints."""

    says_why = True

    def open(self) -> str:
        self._row(
            "system", subtype="init", apiKeySource="login", cwd=self.cwd, model="Composer 2", permissionMode="default"
        )
        return f"cursor/{self.id}.jsonl"

    def _row(self, kind: str, **more: Any) -> None:
        self.rows.append({"type": kind, **more, "session_id": self.id, "timestamp_ms": self.ms})

    def person(self, text: str, *, amid: bool) -> None:
        message = {"role": "user", "content": [{"type": "text", "text": text}]}
        self._row("user", message=message, **({"queued": True} if amid else {}))

    def agent(self, turn: Turn) -> None:
        model_call = self.short("mc_")
        if turn.text:
            said = {"role": "assistant", "content": [{"type": "text", "text": turn.text}]}
            self._row("assistant", message=said, model_call_id=model_call)
        for call in turn.calls:
            name, given = self.tool(call)
            about: Json = {"call_id": self.short("tool_"), "model_call_id": model_call}
            self._row("tool_call", subtype="started", tool_call={name: {"args": given}}, **about)
            self.wait(0, 20)
            done: Json = {"success": {"content": call.output or "no matches"}}
            if call.refused:
                done = {"rejected": {"reason": call.refused}}
            elif call.tool == "shell":
                kind, place = ("failure", "stderr") if call.code else ("success", "stdout")
                done = {kind: {"exitCode": call.code, "stdout": "", "stderr": "", place: call.output}}
            elif call.new:
                done = {"success": {"path": f"{self.cwd}/{call.target}", "linesAdded": call.new.count("\n") + 1}}
            self._row("tool_call", subtype="completed", tool_call={name: {"args": given, "result": done}}, **about)

    def close(self) -> None:
        if self.session.ended:
            self._row(
                "result", subtype="success", duration_ms=self.random.randint(9000, 900000), is_error=False, result=""
            )


class OtelGenai(Recorder):
    """Writes an OTLP export of one agent. To stay small, only the last span of the model holds the messages."""

    def open(self) -> str:
        place = [_pair("service.name", "coder"), _pair("process.working_directory", self.cwd)]
        scope: Json = {"scope": {"name": "opentelemetry.instrumentation.genai"}, "spans": self.rows}
        self.document = {"resourceSpans": [{"resource": {"attributes": place}, "scopeSpans": [scope]}]}
        self._said: list[Json] = []
        self._span("invoke_agent", "coder", {"gen_ai.agent.name": "coder"})
        return f"otel/{self.now:%Y-%m-%d}-{self.id[:8]}.json"

    def _span(self, operation: str, name: str, attributes: dict[str, str], status: int = 0) -> None:
        row: Json = {
            "traceId": self.id.replace("-", ""),
            "spanId": self.short(""),
            "name": f"{operation} {name}",
            "kind": 1,
        }
        row |= {"startTimeUnixNano": f"{self.ms}000000", "endTimeUnixNano": f"{self.ms + 900}000000"}
        about = {"gen_ai.operation.name": operation} | attributes
        row |= {"attributes": [_pair(*each) for each in about.items()]} | (
            {"status": {"code": status}} if status else {}
        )
        self.rows.append(row | ({"parentSpanId": self.rows[0]["spanId"]} if self.rows else {}))

    def person(self, text: str, *, amid: bool) -> None:
        parts = [{"type": "text", "content": text}]
        self._said.append({"role": "user", "parts": parts} | ({"name": "amid"} if amid else {}))

    def agent(self, turn: Turn) -> None:
        self._span("chat", "glm-5", {"gen_ai.request.model": "glm-5"})
        parts: list[Json] = [{"type": "text", "content": turn.text}] if turn.text else []
        answers: list[Json] = []
        for call in turn.calls:
            (name, given), call_id = self.tool(call), self.short("call_")
            parts.append({"type": "tool_call", "id": call_id, "name": name, "arguments": given})
            output = "Tool use rejected by user" if call.refused else call.output or "ok"
            answers.append({"type": "tool_call_response", "id": call_id, "response": output})
            self.wait(0, 20)
            about = {"gen_ai.tool.name": name, "gen_ai.tool.call.id": call_id}
            self._span("execute_tool", name, about, status=2 if call.refused or call.code else 1)
        self._said += [
            {"role": "assistant", "parts": parts},
            *([{"role": "tool", "parts": answers}] if answers else []),
        ]

    def close(self) -> None:
        messages = {"gen_ai.input.messages": json.dumps(self._said, ensure_ascii=False), "gen_ai.output.messages": "[]"}
        self._span("chat", "glm-5", {"gen_ai.request.model": "glm-5"} | messages)


def _pair(key: str, value: str) -> Json:
    return {"key": key, "value": {"stringValue": value}}


RECORDERS = dict(zip(FORMATS, (ClaudeCode, Codex, Opencode, GeminiCli, CursorStream, OtelGenai), strict=True))
TIME = re.compile(
    r'"(?:timestamp|startTime)": "(?P<iso>\d{4}-\d\d-\d\d)T|"(?:timestamp_ms|created)": (?P<ms>\d{13})\b'
    r'|"startTimeUnixNano": "(?P<nano>\d{13})\d{6}"'
)


def texts(content: str) -> str:
    """All strings of a recording, decoded, one below the other."""
    document = content.startswith(("{\n", '{"resourceSpans"'))
    values = [json.loads(content)] if document else [json.loads(row) for row in content.split("\n") if row]
    return "\n".join(text for value in values for text in _strings(value))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _strings(part)
    elif isinstance(value, str):
        yield value
        if value.startswith(('{"cmd"', '[{"role"')):
            yield from _strings(json.loads(value))


def began(content: str) -> date:
    """The day (UTC) on which a recording begins."""
    found = TIME.search(content)
    if found is None:
        raise ValueError("a recording without a time")
    if found["iso"]:
        return date.fromisoformat(found["iso"])
    return datetime.fromtimestamp(int(found["ms"] or found["nano"]) / 1_000, tz=UTC).date()


def _subject(spec: Spec, seen: Sequence[Occurrence], text_of: dict[str, str], day_of: dict[str, date]) -> Subject:
    """The habit or decoy with its counts. Raises where words that should be in a session are not."""
    for each in seen:
        if each.quote not in text_of[each.session]:
            raise ValueError(f"{spec.id}: {each.session} lacks {each.quote!r}")
    files = tuple(sorted({each.session for each in seen}))
    days = tuple(sorted({day_of[file] for file in files}))
    return Subject(
        id=spec.id,
        kind=spec.kind,
        description=spec.description,
        words=spec.words,
        need=spec.need,
        occurrences=tuple(seen),
        sessions=files,
        days=days,
        last_seen=days[-1],
    )


def write(folder: Path) -> Plan:
    """Write all sessions below `folder`, and return what is in them."""
    choose = random.Random(SEED)
    sessions = _sessions(choose)
    _assign(choose, sessions)
    text_of: dict[str, str] = {}
    day_of: dict[str, date] = {}
    seen: dict[str, list[Occurrence]] = {spec.id: [] for spec in (*HABITS, *DECOYS)}
    for session in sessions:
        _lay_out(session)
        RECORDERS[session.recorder](session, folder).write()
        content = (folder / session.file).read_text(encoding="utf-8")
        text_of[session.file], day_of[session.file] = texts(content), began(content)
        for spec, quote, how, side in session.seen:
            seen[spec.id].append(Occurrence(session=session.file, quote=quote, how=how, side=side))
        if ROUTINE in text_of[session.file]:
            seen["routine"].append(Occurrence(session=session.file, quote=ROUTINE))
    habits, decoys = (
        tuple(_subject(spec, seen[spec.id], text_of, day_of) for spec in specs) for specs in (HABITS, DECOYS)
    )
    written = (
        Written(file=one.file, recorder=one.recorder, project=one.project.name, day=day_of[one.file], bare=one.bare)
        for one in sessions
    )
    return Plan(sessions=tuple(written), habits=habits, decoys=decoys)


def main() -> None:
    """Write the corpus into the folder that is named, and print what is in it."""
    plan = write(Path(sys.argv[1]))
    rows = [f"{len(plan.sessions)} sessions"]
    for each in (*plan.habits, *plan.decoys):
        rows.append(f"{each.id:22} {len(each.sessions):4} sessions {len(each.days):4} days, last {each.last_seen}")
    sys.stdout.write("\n".join(rows) + "\n")


if __name__ == "__main__":
    main()

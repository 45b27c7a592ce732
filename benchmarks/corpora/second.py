"""Synthetic recorded sessions of four teams with invented tools, and the plan of what is in them.

`write(folder)` writes the sessions, always the same, and returns the plan. `python second_corpus.py FOLDER` too,
and prints the plan as JSON; the plan is never written beside the sessions. People, tools and hosts are invented.
"""

import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

SEED = "second-corpus-4"
FIRST_DAY = datetime(2026, 8, 17, tzinfo=UTC)
DAYS = 89
SESSIONS = 252
BLANK = 0.36
CAPACITY = 16
FORMATS = {"claude-code": 74, "codex": 54, "gemini-cli": 38, "opencode": 34, "cursor-stream": 28, "chat": 24}


@dataclass(frozen=True, slots=True)
class Occurrence:
    """Place of one occurrence: the session's file, and words that stand in it exactly."""

    session: str
    quote: str
    whole: bool
    """Whether all of it is there: false where the session ends, or nobody acts on it, before the right form came."""


@dataclass(frozen=True, slots=True)
class Topic:
    """One habit or one decoy, with everything needed to recognise a candidate about it and to check its support."""

    id: str
    description: str
    kind: str
    words: tuple[str, ...]
    """Compared without case, as whole words; a `*` at the end stands for any ending."""
    need: int
    """How many different `words` must be in a candidate's text."""
    sessions: tuple[str, ...]
    """Relative file names, in order of time."""
    days: int
    """Number of different days (UTC)."""
    last_seen: str
    """Date of the newest session, as 2026-09-30."""
    places: tuple[Occurrence, ...]

    def recognises(self, text: str) -> bool:
        """Tell whether a candidate with this text is about the topic."""
        return sum(bool(_pattern(word).search(text)) for word in self.words) >= self.need


def _pattern(word: str) -> re.Pattern[str]:
    tail = "" if word.endswith("*") else r"(?!\w)"
    return re.compile(rf"(?<!\w){re.escape(word.removesuffix('*'))}{tail}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that was put into the sessions."""

    habits: tuple[Topic, ...]
    decoys: tuple[Topic, ...]
    sessions: tuple[str, ...]
    """All of them, in order of time."""
    formats: dict[str, int]


def _tables(text: str) -> dict[str, tuple[str, ...]]:
    """Rows by the name before them. Two bars part rows on one line; `¶` is a line break in a row."""
    found: dict[str, list[str]] = {}
    name = ""
    for line in text.strip().splitlines():
        named, begins, rest = line.partition(" :=")
        name = named if begins else name
        rows = (rest if begins else line).strip().split(" || ")
        found.setdefault(name, []).extend(row.strip().replace("¶", "\n") for row in rows if row.strip())
    return {name: tuple(rows) for name, rows in found.items()}


T = _tables(r"""
orders-lake := suppliers|couriers|returns|baskets|parcels|reviews|regions|cohorts|orders|visits|promos|stock
ledger-sync := invoices|accruals|mandates|vouchers|journal|payouts|dunning|closing|batches|intake|banks|fx
valve-fw := pressure|stepper|encoder|battery|shutoff|thermal|keypad|radio|clock|seat|leak|coil
meter-fw := tamper|tariff|supply|sensor|pulse|alarm|flow|mbus|irda|lcd|nvm|rtc
handbook := mounting|firmware|install|pairing|tariffs|gateway|exports|billing|alerts|meters|roles|reset|sites
lanternshop := wishlist|shipping|account|coupons|catalog|returns|search|stores|gifts|media|cart|till|mail
data.nouns := late-arrival logic|partition layout|freshness check|summary query|staging view|snapshot job|quality gate
test fixture|type mapping|schema diff|archive job|dedup step|lag metric|export job|sampler|loader|lookup|merge|join
mart
fw.nouns := calibration routine|interrupt handler|duty cycle logic|power-down path|settings block|state machine|driver
watchdog hook|sampling loop|register map|ring buffer|wakeup path|fault latch|crc check|self test|unit test|debounce
filter
docs.nouns := troubleshooting list|reference table|migration guide|parameter table|intro paragraph|figure captions|faq
glossary entry|overview page|install page|quick start|cross-links|checklist|tutorial|examples|callouts|appendix|diagram
shop.nouns := feature switch|loading state|image loader|empty state|a11y labels|breadcrumb|validation|sort order|drawer
price line|search box|api route|list view|webhook|reducer|mailer|badge|cache|modal|form|hook|page
data.files := tests/test_{p}_{s}.py|models/{p}_{s}.sql|lake/{p}/{s}.py|lake/{p}_{s}.py|jobs/{s}_{p}.py
fw.files := tests/{p}_{s}_test.c|include/{p}_{s}.h|board/{s}_{p}.c|src/{p}/{s}.c|src/{p}_{s}.c
docs.files := reference/{p}-{s}.adoc|tutorials/{s}-{p}.adoc|partials/{p}-{s}.adoc|guides/{p}-{s}.adoc
shop.files := packages/{p}/src/{s}/index.ts|apps/front/src/{p}/{s}.tsx|packages/{p}/src/{s}.tsx|packages/{p}/src/{s}.ts
data.checks := duckdb var/{p}.db "select count(*) from {p}_{s}" || python -m pytest tests/test_{p}_{s}.py -q
python -m lake.{p} --dry-run --limit {n} || sqlfluff lint models/{p}_{s}.sql || wc -l var/out/{p}-{s}.csv
fw.checks := python tools/mapcheck.py out/{p}.map --top {n} || arm-none-eabi-objdump -d out/{p}_{s}.o
clang-format --dry-run src/{p}/{s}.c || ninja -C out {p}_{s}_test || cppcheck --quiet src/{p}
docs.checks := python tools/linkwalk.py reference/{p}-{s}.adoc || python tools/figures.py {p} --max {n}
aspell list < tutorials/{s}-{p}.adoc || wc -w guides/{p}-{s}.adoc || vale guides/{p}-{s}.adoc
shop.checks := npx stylelint apps/front/src/{p}/*.css || node scripts/{s}-{p}.mjs --limit {n}
npx eslint packages/{p}/src/{s}.ts || npx tsc --noEmit -p packages/{p} || node scripts/bundle-{p}.mjs
data.code := select {a}_id, {b}_at, count(*) as n_{c} from {a}_{b} group by 1, 2
def {a}_{b}(rows: list[Row], limit: int = {n}) -> list[Row]: || left join {c}_{a} as {b} on {b}.{a}_id = {c}.{a}_id
yield replace(row, {a}=normalise(row.{b}), {c}={n}) || assert len({a}) == {n}, "{b} has holes in {c}"
return [one for one in {b} if one.{c} > {n}] || -- {a} keeps the newest {b} of each {c}
if row.{a} is None or row.{b} in seen:
fw.code := void {a}_{b}_step(const struct {c} *ctx) || if ({a}_state.{b} >= {c}_LIMIT_{n}) {{
}} else {{ {a}_{b}_enter({c}_IDLE); }} || /* {a} settles {n} ticks after {b} */ || static uint16_t {a}_{b}_raw[{n}];
return {a}_crc({b}, sizeof {c}); || #define {a}_{b}_MASK (1u << {n}) || {a}->{b} = ({c} << 3) | 0x{n};
docs.code := NOTE: A {a} without {b} keeps its {c} for {n} days. || To change a {a}, edit its {b} and apply the {c}.
The {a} of a {b} shows {n} values for each {c}. || xref:{a}-{b}.adoc[{c}] describes the details. || |{a} |{b} |{n} |{c}
. Open the {a} panel and select *{b}*.
shop.code := return {a}.map((one) => ({{ ...one, {b}: {c}[one.id] }})) || <{a} className="{b}-{n}" onSelect={{{c}}} />
const [{a}, set{b}] = useState<{c} | null>(null) || export function {a}{n}({b}: {c}Props) {{
import {{ {a} }} from '../{c}' || if (!{a}.{b}) return {c}.empty
stems := fallback|cascade|compact|helpers|border|bridge|events|hourly|legacy|limits|linear|lookup|nested|notify|policy
remote|rollup|shared|smooth|source|spread|strict|target|tuning|weekly|window|amber|basic|batch|chunk|daily|delta|guard
inner|joint|local|model|outer|pairs|pivot|plain|probe|queue|quota|retry|rules|scope|shape|shift|slice|slots|state|steps
sweep|table|tiles|union|core|edge|fast|idle|main|mask|pack|peak|rank|rate|trim|view|wave|wire|zone
verbs := write tests for|walk me through|trace through|add a case to|double-check|have a go at|restructure|carry over
simplify|speed up|clean up|document|untangle|look at|explain|measure|replace|extract|compare|prepare|shorten|rename
extend|finish|rework|harden|shrink|review|inline|sketch|split|merge|check|draft|tidy|move|drop
openers := |||||next: |can you |could you please |hey, |ok. |then |let's |I need you to |quick one: |now |your turn: |
tails := . The design is in my head only, ask if unsure|; I only care about the happy path today|, it logs far too much
, it runs out of memory on big inputs|; I want to delete the flag around it|, it should cope with an empty input
; operations saw it twice last week|, the second argument is never used|, the order of results jumps around
, it is slower than it was in June|; the person who wrote it has left|, the new hire could not follow it
, it swallows the original reason|, it is called from three places|, a reviewer asked why it exists|, it blocks others
, it was copied from a neighbour|; there is a ring in the imports|, two callers disagree about it|, a null gets through
, I think the default is wrong|; half of it looks dead to me|, it leaks a handle somewhere|, it handles leap days badly
, a customer in Graz hit it|; names in there are a mess|, the old one stays for now|, I have a demo on Thursday
, nobody dares to touch it|; the spec says otherwise|, start from the callers|, smallest diff you can
; keep the public names
says := I rewrote {o}. The odd part in {x} was a loop over stale entries. || Finished. {x} got shorter by {n} lines.
Two helpers in {x} did the same, so {o} uses one of them now. || {o}: it works on the samples I tried ({n} of them).
{x} was the place. I changed {o} and left the callers alone. || I have finished with {o}; {n} call sites were affected.
I kept the shape of {o} and only moved code within {x}. || {x} reads better now; {o} has {n} statements left.
That is in place: {o}, with {n} cases covered. || The cause was in {x}: an index started at {n}.
Done: {o} is in {x} now, {n} lines changed. || All of {o} goes through {x} now. || Ready: {o}, see {x}.
leads := I want to see what {x} expects. || Following the callers of {o}. || Let me see who calls this. || Next, {x}.
Checking {o} again. || Now the other half. || Reading {x} first. || {x} looks related. || I'll change {x}.
One look at {x}. || Trying it out.
fields := bottle_deposit|voucher_value|shipping_cost|refund_total|handling_fee|open_balance|credit_line|bank_charge
tip_amount|commission|gift_value|unit_price|net_price|surcharge|gross_sum|late_fee|freight|deposit|payout|rebate
cents.said := hm, {f} has a fraction in it. A cent is the smallest thing we have, so an integer would do, wouldn't it?
Small thing: is there a reason {f} isn't an integer number of cents? finance can't reconcile decimals that drift
I had to repair {f} by hand after you left, it was REAL. Amounts are integer cents in this repo
Could you change {f} so it's stored in cents? Floating point and money don't get along here.
reconciliation says¶  {p}.{f}  expected 1999  got 1998.9999999999998¶guess why. float.
ok and for the {p} export the same thing, with {f} in cents this time, not some double
we got burned by 0.1 + 0.2 once already. cents please for {f}, not floats || no doubles for {f}. BIGINT cents.
{f}... decimals... *sigh*. You know what I'm going to say: cents, int
{f} as a float? no. Whole cents, integer, like everywhere else || 19.99 is not a price, 1999 is. {f}: float -> cents
money = int cents!!! how often do I have to write this ({f})
cents.done := {f} no longer has a fraction. || Changed: {f} is an integer. || {f} holds whole cents now.
cents.edit.data := cast(raw.{f} as double) as {f} => cast(raw.{f} * 100 as bigint) as {f}_cents
row['{f}'] = float(raw['{f}']) => row['{f}_cents'] = to_cents(raw['{f}']) || {f}: float = 0.0 => {f}_cents: int = 0
{f} REAL NOT NULL, => {f}_cents BIGINT NOT NULL,
cents.edit.shop := {f}: parseFloat(raw.{f}), => {f}_cents: toCents(raw.{f}),
{f}: Number(form.{f}) => {f}_cents: toCents(form.{f})
headings.said := the {p} chapter can have the same structure, just without all the capitals in the section titles
Would you mind sentence case in the titles of the {p} chapter? It's written down nowhere but it's how we do it.
lowercase everything after the first word in that heading ({H}), product names aside || == {H}¶¶^ nope ({p}). == {h}
The editor sent {p} back. Her remark: 'Title Case in headings, not our style'. || Why Is Every Word A Capital In "{H}"?
headings: one capital, at the start. you did it again on the {p} page || title case out, sentence case in. whole of {p}
this isn't German :) section titles don't capitalise nouns, see "{H}"
is "{H}" a heading or a book? small letters after the first one
sentence case for headings pls. "{H}" looks like a film poster
Capitals in headings again ({H}). Only the first word.
headings.done := The section is called “{h}” now. || Only first words start big now. || Retitled: {h}.
headings.edit.docs := === {H} => === {h} || == {H} => == {h} || .{H} => .{h}
prints.said := the {m} retry can go in. And trace macro instead of printf please, I don't want to say it a fourth time
please take the printf calls out of {m} again and emit trace events, the uart isn't even wired on production boards
printf in {m}.c pulled newlib's formatter in, 11 kB gone. We've got the TRACE_EVT macro for that
linker: region overflowed, _vfprintf_r is in the map. {m} printfs, kick them out
I see puts() and printf() in {m}.c, both can't stay; tracing has its own macro || no printf on target ({m}). TRACE_EVT.
arm-none-eabi-size says¶   text 33112 (limit 32768)¶that's your printf in {m}
where does the stdio include in {m}.c come from? We log through TRACE_EVT || stdio.h for {m}, on a 32k part, seriously
Would TRACE_EVT do here? printf blocks in the isr of {m}. || debug prints in {m}: TRACE_EVT(...), never printf/puts
prints.done := {m} emits a trace event instead. || Replaced by the macro. || Gone from {m}.c.
prints.edit.fw := #include <stdio.h>¶printf("{p} {s} %d\n", {s}); => TRACE_EVT(EV_{P}_{S}, {n});
printf("{s}=%u", ctx->{s}); => TRACE_EVT(EV_{S});
kiln.plain := kiln bundle {p}-{z} || kiln build {p}-{z} || kiln image {p}-{z} || kiln size {p}-{z} || kiln test {p}-{z}
kiln.error := 1 => error K041: toolchain is ambiguous for {p}-{z} (2 candidates)
3 => kiln: no profile selected¶known: m0-rel m4-dbg m4-rel || 2 => kiln: cannot resolve linker script: profile is empty
4 => K077 {p}-{z}: cpu unknown, refusing to guess || 2 => kiln.toml:14: PROFILE has no value
kiln.extra := kiln clean && {cmd} -j4 || {cmd} --target {p}-{z}
kiln.right := cd ~/{proj} && kiln --profile m4-rel {verb} {p}-{z} 2>&1 | tail -5 || KILN_PROFILE=m4-rel {cmd}
kiln --profile=m4-dbg {verb} {p}-{z} -j4 || kiln --profile m4-rel {verb} {p}-{z} || {cmd} --profile m4-rel
kiln.passed := {p}-{z}.elf  {a} text
tidemill.plain := tidemill drop-part {p}_{z} --day {dd} || tidemill backfill {p}_{z} --day {dd}
tidemill replay {p}_{z} --day {dd} || tidemill peek {p}_{z} --day {dd} || tidemill diff {p}_{z} --day {dd}
tidemill.error := 1 => Traceback (most recent call last):¶  File "tidemill/keys.py", line 88, in find¶KeyError: '{dd}'
4 => tidemill: nothing to do for {dd} (0 partitions match) || 1 => ValueError: '{dd}' is no partition of {p}_{z}
2 => tidemill: --day: not understood
tidemill.extra := tidemill {verb} {p}_{z} --date {dd} || {cmd}T00:00
tidemill.right := tidemill -q {verb} {p}_{z} --day={dc} || tidemill {verb} {p}_{z} --day {dc}
tidemill {verb} --day {dc} {p}_{z}
tidemill.passed := {p}_{z}/{dc}: {a} rows
tenant.plain := npx vitest run packages/{p}/test/{s}.test.ts -t '{s}' || pnpm vitest run packages/{p}/test/{s}.test.ts
npx vitest run packages/{p}/test/{s}.test.ts
tenant.error := 1 =>  FAIL  {s}.test.ts¶Error: connect ENOENT /run/lantern/db.sock¶ Test Files  1 failed (1)
1 =>  FAIL  {s}.test.ts¶Error: SHOP_ENV is not defined¶ ❯ packages/core/src/env.ts:12:11¶ Test Files  1 failed (1)
1 =>  FAIL  {s}.test.ts¶TypeError: Cannot read properties of undefined (reading 'tenant')¶ Tests  4 failed (4)
1 => Startup Error¶Error: no tenant in context; was this started by hand?
tenant.extra := SHOP_ENV=test {cmd} || {cmd} --no-threads
tenant.right := stallkeeper shell --tenant demo -- {cmd} || stallkeeper shell -c "{cmd}" || stallkeeper shell -- {cmd}
tenant.passed := ✓ packages/{p}/test/{s}.test.ts ({n} tests)¶ Test Files  1 passed (1)
reindex.plain := inkwell render reference/{p}-{s}.adoc || inkwell check tutorials/{p}-{s}.adoc
inkwell preview guides/{p}-{s}.adoc || inkwell check guides/{p}-{s}.adoc
reindex.error := 5 => inkwell: sources are newer than the anchor table ({n} files)
1 => {p}-{s}.adoc:41: unresolved xref <<{p}-{s}>>¶1 problem || 70 => inkwell: anchor table: checksum differs¶aborted
1 => {p}-{s}.adoc: E17 {n} anchors unknown
reindex.extra := {cmd} --verbose || {cmd} --force
reindex.right := inkwell reindex guides ;; {cmd} || inkwell reindex -q && {cmd} || inkwell reindex && {cmd}
reindex.passed := 612 anchors¶{p}-{s}.adoc: ok, {n} links
probe.look := fetch => https://docs.example.invalid/probeline/attach || shell => probeline attach --help
shell => probeline attach --help 2>&1 | head -24 || shell => man probeline | col -b || shell => probeline help attach
shell => probeline --help
probe.then.fw := shell => timeout {n} probeline attach --dev /dev/ttyACM{d} --speed 921600 --frame cobs
dictionary.look := shell => grep -n -A2 {col} contracts/column_dictionary.yaml
shell => yq .columns.{col} contracts/column_dictionary.yaml || shell => sed -n '1,80p' contracts/column_dictionary.yaml
read => ../orders-lake/contracts/column_dictionary.yaml || shell => cat contracts/column_dictionary.yaml
read => contracts/column_dictionary.yaml
dictionary.then.data := edit => where {col} in ({n}, {d})
rounding.said := accounting says tax is taken per line in {c} but per basket elsewhere, is that in our code at all?
{c}: five-unit rounding at the desk does not happen any more. Where would that live?
The invoice for {c} is off by one at the last digit, find out where that comes from
Sum of lines != total for {c}. No idea where this is done, have fun
Why do we show 4,95 in {c} and 4,94 on the confirmation mail? || who decides how a line total is rounded? {c} complains
vat on the {c} receipt differs from what the till shows
countries := Switzerland|Iceland|Hungary|Denmark|Czechia|Finland|Norway|Sweden|Poland|Japan
hunts := Math.round|taxPerLine|minorUnits|roundHalf|grossFrom|lineTotal|perBasket|roundTo5|cashStep|sumLines|toFixed
bankers|swedish|taxMode|vatFor|ceilTo
fragments.said := CI:¶  check-fragments: no file added below changes.d/ ({p}-{s})¶same as last time, add one
Release manager wants a fragment for every user-visible change, so please write one for the {p} {s} as well
the {p} {s} one-liner for the release notes goes to changes.d, past tense, no number || {r} + changes.d entry pls
where's the fragment for {p} {s}? reviewers bounce it without a file in changes.d
{r}. As usual I'd like a one-line note under changes.d/ with it || {r}. Put a fragment in changes.d when you're through
{r}, incl. the news fragment (changes.d/{p}-{s}.md) || and don't forget changes.d for the {p} {s}
{r} and finish with the changelog fragment
fragments.done := The fragment lies beside the others. || The note is changes.d/{p}-{s}.md. || Added {p}-{s}.md.
footprint.said := {r}. I'd be glad about a before/after of flash and ram use once you're done, our lead asks each time
what does the map file say about {m} compared with before? Flash and RAM, two rows
{r}. Budget is tight on this board, so the usual bss/text comparison afterwards
how many bytes is {m} now? I want both numbers, flash + ram, same as always || {r}; report the footprint diff when done
{r}. When it's in, tell me what it costs: flash and RAM, before and after.
Close with the footprint table for {m} (text/data/bss, old vs new) please
And the bill for {m}? (bytes of flash/ram, before -> after) || no answer on {m} without the bytes: flash, ram, old, new
{r}. And at the end the size delta in bytes, flash/ram
radio.run :=
ctest --test-dir out -R radio_jitter => 1/1 Test #3: radio_jitter ...***Failed¶  slot edge {n} us late => 1/1 Passed
ctest --test-dir out -R radio_wakeup => 1/1 Test #4: radio_wakeup ...***Failed¶  woke {n} us late => 1/1 Passed
ctest --test-dir out -R radio_beacon => 1/1 Test #5: radio_beacon ...***Failed¶  slot {n} missing => 1/1 Passed
browser.run :=
npx playwright test e2e/{p}-{s}.spec.ts => Timeout 30000ms exceeded waiting for getByRole('button') => 1 passed (9.4s)
npx playwright test e2e/{s}.spec.ts -g {p} => Timeout 30000ms exceeded waiting for getByText('{s}') => 1 passed (7.1s)
network.run := npm install {l} => npm error network ECONNRESET¶npm error network aborted => added {n} packages
curl -fsSLO https://mirror.example.invalid/{s}-{p}.tar.gz => curl: (35) Recv failure: ECONNRESET => {a} bytes
pip install {p}-{s} => WARNING: Retrying: 502 Bad Gateway¶no index => installed {p}-{s}
git fetch origin {g} => ssh: Temporary failure in name resolution => * [new ref] {g}
go install example.invalid/{l}@latest => net/http: TLS handshake timeout => {l}
typos.run := souce tools/{s}.env => source tools/{s}.env || pyhton tools/{s}.py => python tools/{s}.py
dfif {x} {x}.new => diff {x} {x}.new || mkidr -p out/{s} => mkdir -p out/{s} || gerp -n {s} {x} => grep -n {s} {x}
haed -40 {x} => head -40 {x} || tial -20 {x} => tail -20 {x} || stta {x} => stat {x} || cta {x} => cat {x}
redgreen.data := python -m pytest tests/test_{p}_{s}.py -q => E   KeyError: '{s}_{p}'¶1 failed
python -m pytest tests/test_{p}_{s}.py -q => E   assert {n} == {d}¶1 failed
redgreen.fw := ninja -C out {p}_{s}_test => {x}:{n}: assertion {s}_{p} == {d} failed
ninja -C out {p}_{s}_test => {x}:{n}:9: error: '{s}_{p}' undeclared
redgreen.shop :=
npx tsc --noEmit -p packages/{p} => {x}({n},7): error TS2{n}9: Property '{s}' is missing in type '{H}'.
routine.run := git status && git diff --stat || git log --oneline -8 || git status --short || git diff --stat
ports.said := could the preview of {p} listen on port {b} today? I have something else on {a}
for {p} I'd rather have port {b} than {a}, just this once || not {a}! port {b}, the other one belongs to the demo
the proxy looks for {p} at port {b} right now || no, {b}. I told you the port is {b} for {p}
port {a} is taken on my machine, use {b} || wrong port ({a}), should be {b} || EADDRINUSE :::{a} -> take {b}
branches.said := should have been {g}, that branch has the {p} change already || wrong branch. {p} goes on {g}
this is {t}, not {u}, please fix the ticket in the title || don't work on main for this, I made the branch {g}
Please move it over to branch {g}; {u} is closed || the {p} ticket is {t}, I mixed it up with {u} || use ticket {t}
not that branch!! {g}
commits.said := one commit for {p} please, I don't want the history of your attempts
never squash, {p} has to stay as separate commits so I can bisect || why is {p} squashed? I review commit by commit
Always a single commit per task, so squash {p} when you are done || keep the {p} commits apart, don't squash
please don't fold {p}: several small commits, as it was || could you fold {p} into a single commit?
squash the {p} work into one commit
spelling.said := it's 'color' in {p}, not 'colour', our readers are in Ohio || organise with s in {p}, British spelling
British spelling on the {p} page please: colour, licence || {p} came out in British spelling. Make it American
{p} is in American spelling, change it to British || American spelling, so color and license in {p}
organize with z in {p}, American spelling || we write 'colour' here, see {p}
versions.said := why still {l} {w}? the version on the server is {v} || go back to version {v} for {l}, {w} breaks {p}
bump {l} from {w} to {v} while you are at it || no, version {v} of {l}; {w} has the leak || pin {l} to {v}
{l} {v} came out yesterday, bump it || not {w}. {l} version {v}, please || {l} must be version {v} here
chat.said := you're quicker than my whole team :) thanks || cheers, that was the worst part of my day || thanks, lovely
Mondays... thanks for bearing with me || good weekend? mine was wet. Anyway || coffee first, back in ten || brb, phone
lunch! don't run away :) || brilliant, thanks a lot || lol, fair enough || nice one, thanks || haha ok, cheers
claude-code := Bash|Read|Edit|Write|Grep|WebFetch || command|file_path|old_string|new_string|content|pattern|path|url
gemini-cli := run_shell_command|read_file|replace|write_file|search_file_content|web_fetch
command|absolute_path|old_string|new_string|content|pattern|path|prompt
opencode := bash|read|edit|write|grep|webfetch || command|filePath|oldString|newString|content|pattern|path|url
cursor-stream := shell|read|edit|write|grep| || command|path|oldText|newText|fileText|pattern|path|
chat := bash|read_file|str_replace|write_file|| || command|path|old_str|new_str|content|||
codex := exec_command||||| || cmd|||||||
habits := cents => 18 => data shop => 4 => 2 => correction => cents,float*,integer,double,bigint
Amounts of money are whole cents in an integer; the person corrects floats, doubles and REAL columns.
headings => 13 => docs => 4 => 2 => correction => heading*,sentence case,title case,titles,capital*,lowercase
Headings of the handbook are in sentence case; the person corrects capitals on every word.
prints => 17 => fw => 4 => 2 => correction => printf*,TRACE_EVT,stdio,stdio.h,trace macro
Firmware has no printf or stdio; the macro TRACE_EVT is used instead, as the person says each time.
kiln => 24 => fw => 3 => 2 => failed command => kiln,--profile,KILN_PROFILE,profile
`kiln` without a profile fails, with different messages; with --profile m4-rel (or m4-dbg) it works.
tidemill => 20 => data => 3 => 2 => failed command => tidemill,--day
`tidemill ... --day 2026-09-03` fails, with different messages; the day without dashes works.
tenant => 16 => shop => 3 => 2 => failed command => stallkeeper,vitest
vitest started directly fails, with different messages; inside `stallkeeper shell` it works.
probe => 12 => fw => 2 => 2 => look-up => probeline,help,attach,man probeline,docs.example.invalid/probeline
How to attach with probeline (921600, cobs) is looked up in its help, manual or documentation each time.
dictionary => 22 => data => 2 => 1 => look-up => column_dictionary*
The meaning of codes in columns is read from contracts/column_dictionary.yaml, in several ways.
rounding => 10 => shop => 9 => 1 => long search => rounding_table,packages/till/src/legacy
Where totals and tax are rounded is searched for at length; it is packages/till/src/legacy/rounding_table.ts.
fragments => 15 => data shop => 3 => 1 => instruction => changes.d,fragment,check-fragments
The person asks for a fragment for the release notes in changes.d with each change.
footprint => 12 => fw => 3 => 2 => instruction => flash,footprint,bss,bytes,ram,arm-none-eabi-size
The person asks for the use of flash and RAM, old and new, at the end of each firmware task.
reindex => 15 => docs => 3 => 2 => prerequisite => inkwell,reindex
`inkwell check`, `render` and `preview` fail on a stale table of anchors; after `inkwell reindex` they work.
decoys := radio => 14 => fw => 2 => 1 => flaky test => radio_jitter,radio_wakeup,radio_beacon
Timing tests of the radio fail and then pass with the same command.
browser => 14 => shop => 2 => 1 => flaky test => playwright
Browser tests run into a time limit and then pass with the same command.
ports => 16 => * => 1 => 1 => one-off values => port,EADDRINUSE
The person asks for another port, each time a different one.
branches => 18 => * => 1 => 1 => one-off values => branch,ticket
The person names another branch or ticket, each time a different one.
commits => 24 => * => 1 => 1 => contradiction => squash*,commit,commits
Half of the time the person wants one commit, half of the time several.
spelling => 16 => docs => 1 => 1 => contradiction => British,American,spelling,colour,color
Half of the time the person wants British spelling, half of the time American.
network => 22 => * => 2 => 1 => net => ECONNRESET,mirror.example.invalid,pip install,npm install,git fetch,go install
Downloads fail on the way and then pass with the same command.
typos => 16 => * => 2 => 1 => typos => command not found,gerp,haed,pyhton,tial,dfif,cta,stta,mkidr,souce
The agent mistypes a program's name, each time another, and then writes it right.
versions => 16 => * => 1 => 1 => changing versions => version,pin,bump
The person asks for another version of a package, always another package and version.
chat => 25 => * => 1 => 1 => small talk => thanks,cheers,coffee,lol,weekend,lunch,brb || The person is friendly.
routine => 24 => * => 1 => 1 => routine => git status,git diff,git log
The agent looks at the state of the repository, which works.
redgreen => 22 => data fw shop => 4 => 1 => red and green => pytest,ninja,tsc
A check fails on the change just made, each time for another reason; after an edit the same check passes.
""")


def _pool(name: str) -> tuple[str, ...]:
    return tuple(word for row in T[name] for word in row.split("|"))


TEAMS = {"orders-lake": "data", "ledger-sync": "data", "valve-fw": "fw", "meter-fw": "fw"}
TEAMS |= {"handbook": "docs", "lanternshop": "shop"}
WEIGHTS = (50, 36, 48, 36, 42, 46)
MODES = ("plain", "late", "between", "plain", "stop", "plain", "cut", "between", "plain", "late", "plain", "cut")
CLAUDE_REFUSED = """The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a \
file edit, the new_string was NOT written to the file). To tell you how to proceed, the user said:"""
KINDS = ("shell", "read", "edit", "write", "search", "fetch")
ARGUMENTS = ("command", "path", "old", "new", "body", "pattern", "where", "url")
MODELS = {"claude-code": "claude-sonnet-5", "codex": "gpt-6-codex", "gemini-cli": "gemini-3-pro"}
MODELS |= {"opencode": "claude-sonnet-5", "cursor-stream": "Composer 2"}
ROUNDING = "packages/till/src/legacy/rounding_table.ts"
PROBE_HELP = """probeline 4 - talk to a board over its debug uart

usage: probeline attach [--dev DEV] [--speed BAUD] [--frame cobs|slip|raw] [--board NAME]
       probeline record|replay FILE

attach
  --dev DEV       device file, default /dev/ttyACM0; boards with a hub have two, the second one is the console
  --speed BAUD    921600 on rev C and later, 460800 on rev A and B
  --frame KIND    cobs on everything built after the bootloader change, slip before
  --board NAME    reads speed and frame from boards/NAME.toml
  --quiet-ms N    silence that ends a message (default 20)
"""
COLUMNS = "columns:\n" + "\n".join(
    f"  {part}_{kind}:\n    type: {of}\n    codes: {{{n}: open, {n + 10}: held, {n + 20}: closed, {n + 30}: void}}"
    for n, part in enumerate(_pool("orders-lake"), 1)
    for kind, of in (("st_cd", "smallint"), ("src_cd", "char(2)"), ("rsn_cd", "smallint"))
)


class EndOfSession(Exception):
    """Signal that a session ends in the middle of something."""


@dataclass(slots=True)
class Event:
    """One thing that happened: words of a person or of the agent, a call, or a stop by the person."""

    kind: str
    at: datetime
    text: str = ""
    tool: str = ""
    args: dict[str, str] = field(default_factory=dict)
    output: str = ""
    code: int = 0
    refused: bool = False
    amid: bool = False


@dataclass(slots=True)
class Tale:
    """One session while it is told."""

    rng: Random
    project: str
    team: str
    folder: str
    recorder: str
    now: datetime
    events: list[Event] = field(default_factory=list)
    places: list[tuple[str, str, bool]] = field(default_factory=list)
    ordinary: int = 0
    _is_ordinary: bool = False

    def add(self, kind: str, **about: Any) -> None:
        """Let something happen."""
        self.now += timedelta(seconds=self.rng.randint(4, 130))
        self.events.append(Event(kind, self.now, **about))
        self.ordinary += self._is_ordinary

    def call(self, tool: str, output: str, code: int = 0, *, text: str = "", **args: str) -> None:
        """Let the agent use a tool."""
        self.add("call", text=text, tool=tool, args=args, output=output, code=code)

    def edit(self, path: str, old: str, new: str, *, text: str = "") -> None:
        """Let the agent change a file."""
        self.call("edit", f"The file {path} has been updated.", text=text, path=path, old=old, new=new)

    def place(self, topic: str, quote: str, *, whole: bool = True) -> None:
        """Note that something occurs here, by its longest line."""
        self.places.append((topic, max(quote.split("\n"), key=len).strip(), whole))

    def pick(self, name: str) -> str:
        """Choose a word of a pool at random."""
        return self.rng.choice(_pool(name))

    def path(self) -> str:
        """Name a file of the project."""
        return self.pick(f"{self.team}.files").format(p=self.pick(self.project), s=self.pick("stems"))

    def thing(self) -> str:
        """Name something that is worked on."""
        stem = f"{self.pick('stems')} " if self.rng.random() < 0.4 else ""
        return f"the {self.pick(self.project)} {stem}{self.pick(f'{self.team}.nouns')}"

    def request(self) -> str:
        """Word an ordinary request."""
        text = f"{self.pick('openers')}{self.pick('verbs')} {self.thing()}"
        text += self.pick("tails") if self.rng.random() < 0.45 else self.rng.choice((f" in {self.path()}", "", "", "."))
        return text[0].upper() + text[1:] if self.rng.random() < 0.35 else text

    def names(self) -> dict[str, Any]:
        """Fill every slot that a row of the tables can have."""
        rng, p, s = self.rng, self.pick(self.project), self.pick("stems")
        day = self.now - timedelta(days=rng.randint(1, 40))
        heading = rng.choice((f"choose a {s} for the {p}", f"how the {p} finds its {s}", f"change the {s} of a {p}"))
        letters = rng.choice(("LS", "VF", "DOC", "OL"))
        column = f"{rng.choice(_pool('orders-lake'))}_{rng.choice(('st_cd', 'src_cd', 'rsn_cd'))}"
        versions = [f"{rng.randint(0, 9)}.{rng.randint(0, 20)}.{rng.randint(0, 30)}" for _ in range(2)]
        found = {"p": p, "s": s, "P": p.upper(), "S": s.upper(), "m": f"{p}_{s}", "x": self.path(), "o": self.thing()}
        found |= {"n": str(rng.randint(12, 90)), "d": str(rng.randint(0, 3)), "f": self.pick("fields"), "col": column}
        found |= {"z": rng.choice(("boot", "app", "field", "bench", "raw", "wide")), "c": self.pick("countries")}
        found |= {"H": heading.title(), "h": heading.capitalize(), "r": self.request().rstrip(".")}
        found |= {"dd": f"{day:%Y-%m-%d}", "dc": f"{day:%Y%m%d}", "v": versions[0], "w": versions[1]}
        found["proj"] = self.project
        found |= {"a": str(rng.randint(3000, 9900)), "b": str(rng.randint(3000, 9900))}
        found |= {"t": f"{letters}-{rng.randint(200, 5000)}", "u": f"{letters}-{rng.randint(5001, 9800)}"}
        found["g"] = f"{rng.choice(('fix', 'feat', 'wip', 'try'))}/{self.pick('stems')}-{p}"
        found["l"] = f"{rng.choice(('lib', 'py', 'node-', 'open'))}{self.pick('stems')}"
        return found

    def code(self, lines: int) -> str:
        """Make up lines of a file."""
        rng, forms, pool = self.rng, T[f"{self.team}.code"], (*_pool("stems"), *_pool(self.project))
        words = ({name: rng.choice(pool) for name in "abc"} | {"n": str(rng.randint(2, 99))} for _ in range(lines))
        return "\n".join("    " * rng.randint(0, 2) + rng.choice(forms).format(**each) for each in words)

    def log(self, lines: int) -> str:
        """Make up the output of a program."""
        rng, words = self.rng, (*_pool(self.project), *_pool("stems"))
        states = ("ready", "skipped", "rows", "cached", "visited", "kept", "level")
        made = (f"{'/'.join(rng.sample(words, 2))} {rng.choice(states)}" for _ in range(lines))
        return "\n".join(f"[{rng.randint(0, 99999):06}] {one} {rng.randint(1, 9999)}" for one in made)

    def lead(self) -> str:
        """Let the agent announce a call, now and then."""
        often = 0.15 if self.recorder == "codex" else 0.3
        return self.rng.choice(T["leads"]).format(x=self.path(), o=self.thing()) if self.rng.random() < often else ""

    def work(self, calls: int) -> None:
        """Do ordinary work."""
        before, self._is_ordinary = self._is_ordinary, True
        for _ in range(calls):
            self._work_once()
        self._is_ordinary = before

    def _work_once(self) -> None:
        rng, path, lead, names = self.rng, self.path(), self.lead(), self.names()
        size = rng.choice((3, 8, 14, 30, 60, 110)) if rng.random() < 0.994 else rng.randint(700, 2500)
        match rng.choices(("read", "edit", "check", "search", "write", "list", "odd"), (24, 24, 22, 12, 5, 8, 3))[0]:
            case "read":
                self.call("read", self.code(size), text=lead, path=path)
            case "edit":
                self.edit(path, self.code(rng.randint(1, 4)), self.code(rng.randint(1, 6)), text=lead)
            case "check":
                passed = rng.choice((f"{names['n']} passed in {rng.random() * 9:.2f}s", "ok", "0 problems", "clean"))
                command = rng.choice(T[f"{self.team}.checks"]).format(**names)
                self.call("shell", f"{self.log(min(size, 40))}\n{passed}", text=lead, command=command)
            case "search":
                hits = (f"{self.path()}:{rng.randint(3, 400)}:{self.code(1)}" for _ in range(rng.randint(2, 9)))
                self.call("search", "\n".join(hits), text=lead, pattern=names["m"], where=path.rpartition("/")[0])
            case "write":
                self.call("write", f"Wrote {path}", text=lead, path=path, body=self.code(min(size, 30)))
            case "list":
                listed = "\n".join(self.path().rpartition("/")[2] for _ in range(rng.randint(3, 12)))
                self.call("shell", listed, text=lead, command=f"ls {path.rpartition('/')[0]}")
            case _:
                gone = f"head: cannot open '{path}.orig': No such file or directory"
                self.call("shell", gone, 1, command=f"head -20 {path}.orig")

    def task(self, calls: int) -> None:
        """Do one ordinary task: asked for, worked on and reported."""
        before, self._is_ordinary = self._is_ordinary, True
        self.add("user", text=self.request())
        self.work(calls)
        self.add("say", text=self.rng.choice(T["says"]).format(**self.names()))
        self._is_ordinary = before

    def gap(self, mode: str, *, only: tuple[str, ...] = ("between", "late", "stop")) -> None:
        """Put between a beginning and its end what the mode asks for."""
        if mode not in only:
            return
        if mode == "between":
            self.work(self.rng.randint(2, 4))
        elif mode == "late":
            self.now += timedelta(minutes=self.rng.randint(5, 50))
            for _ in range(self.rng.randint(1, 2)):
                self.task(self.rng.randint(2, 4))
            self.work(self.rng.randint(0, 3))
        elif mode == "stop":
            self.add("stop")
            self.task(self.rng.randint(1, 2))


Teller = Callable[[Tale, str, int, str], None]


def _row(name: str, k: int, names: dict[str, Any]) -> list[str]:
    """Row number `k` of a table, its slots filled, in its parts."""
    return [part.strip() for part in T[name][k % len(T[name])].format(**names).split("=>")]


def _correction(tale: Tale, topic: str, k: int, mode: str) -> None:
    """Let the agent do it wrong, the person complain at once or much later, and the agent put it right."""
    names = tale.names()
    words, old = _row(f"{topic}.said", k, names)[0], tale.code(2)
    bad, good = _row(f"{topic}.edit.{tale.team}", k, names)
    path = f"src/{names['m']}.c" if topic == "prints" else names["x"]
    if k % 5 == 3 and mode in ("plain", "cut"):
        tale.add("call", text=words, tool="edit", args={"path": path, "old": old, "new": bad}, code=1, refused=True)
        if tale.recorder not in ("claude-code", "opencode", "cursor-stream"):
            tale.add("user", text=words)
        bad = old
    else:
        tale.edit(path, old, bad, text=tale.lead())
        tale.gap(mode, only=("late", "between"))
        tale.add("user", text=words, amid=mode == "between")
    tale.place(topic, words, whole=mode != "cut")
    if mode == "cut":
        raise EndOfSession
    tale.gap(mode, only=("stop",))
    tale.edit(path, bad, good)
    tale.add("say", text=_row(f"{topic}.done", k, names)[0])


def _other_form(tale: Tale, topic: str, k: int, mode: str) -> None:
    """Let a command fail, perhaps in two forms, and another form of it work, at once or later."""
    names = tale.names()
    names["cmd"] = plain = _row(f"{topic}.plain", k, names)[0]
    names["verb"] = plain.split()[1]
    code, error = _row(f"{topic}.error", k // 2, names)
    tale.call("shell", error, int(code), command=plain)
    if k % 3 == 1:
        tale.gap(mode, only=("between",))
        tale.call("shell", error, int(code), command=_row(f"{topic}.extra", k // 3, names)[0])
    if mode == "cut" and k % 2:
        tale.place(topic, plain, whole=False)
        raise EndOfSession
    tale.gap(mode)
    passed = _row(f"{topic}.passed", 0, names)[0]
    right = _row(f"{topic}.right", k * 2 + k // 3, names)[0].split(" ;; ")
    for command in right:
        tale.call("shell", f"{tale.log(tale.rng.randint(1, 8))}\n{passed}", command=command)
    tale.place(topic, right[0])
    if mode == "cut":
        raise EndOfSession


def _look_up(tale: Tale, topic: str, k: int, mode: str) -> None:
    """Let the agent read what it read in other sessions, and use it."""
    names = tale.names()
    tool, target = _row(f"{topic}.look", k, names)
    text = PROBE_HELP if topic == "probe" else COLUMNS
    if names["col"] in target:
        text = text[text.index(names["col"]) :][:160]
    key = {"shell": "command", "fetch": "url", "read": "path"}[tool]
    tale.add("call", tool=tool, output=text, args={key: target})
    tale.place(topic, target.removeprefix("../"), whole=mode != "cut")
    if mode == "cut":
        raise EndOfSession
    tale.gap(mode)
    tool, then = _row(f"{topic}.then.{tale.team}", 0, names)
    if tool == "edit":
        tale.edit(tale.path(), tale.code(1), then)
    else:
        tale.call(tool, tale.log(tale.rng.randint(5, 40)), command=then)


def _long_search(tale: Tale, topic: str, k: int, mode: str) -> None:
    """Let the agent search in many ways for what it found in other sessions."""
    names, rng, last = tale.names(), tale.rng, ""
    tale.add("user", text=_row(f"{topic}.said", k, names)[0])
    for number, word in enumerate(rng.sample(_pool("hunts"), rng.randint(4, 6))):
        where = rng.choice(("packages", "apps", ".", "packages/core", "packages/cart/src", "apps/front/src"))
        hits = "\n".join(f"{tale.path()}:{rng.randint(5, 300)}: {tale.code(1)}" for _ in range(rng.randint(0, 8)))
        if number % 3 == 0:
            last = word
            tale.call("search", hits or "No matches found", pattern=word, where=where)
        elif number % 3 == 1:
            last = f"rg -n {word} {where}"
            tale.call("shell", hits, 0 if hits else 1, command=last)
        else:
            last = f"find {where} -iname '*{word.lower()}*' -not -path '*/node_modules/*'"
            tale.call("shell", "", command=last)
            tale.gap(mode)
    if mode == "cut":
        tale.place(topic, last, whole=False)
        raise EndOfSession
    tale.call("shell", f"{ROUNDING}\npackages/till/src/legacy/README.md", command="rg -l HALF_EVEN packages")
    table = "\n".join(f"  {name}: {{ step: {5 * n}, mode: 'HALF_EVEN' }}," for n, name in enumerate(_pool("countries")))
    tale.call("read", f"export const ROUNDING = {{\n{table}\n}}", path=ROUNDING)
    tale.place(topic, ROUNDING)
    tale.add("say", text=f"{names['c']} is set in {ROUNDING}.")


def _instruction(tale: Tale, topic: str, k: int, mode: str) -> None:
    """Let the person ask for something that they ask for in other sessions, and the agent do it in the end."""
    names, rng = tale.names(), tale.rng
    words = _row(f"{topic}.said", k, names)[0]
    tale.add("user", text=words, amid=mode == "between")
    tale.place(topic, words, whole=mode != "cut")
    tale.work(rng.randint(2, 4))
    if mode == "cut":
        raise EndOfSession
    tale.gap(mode)
    if topic == "fragments":
        path = f"changes.d/{names['p']}-{names['s']}.md"
        tale.call("write", f"Wrote {path}", path=path, body=f"Made {names['o']} calmer.\n")
        tale.add("say", text=_row("fragments.done", k, names)[0])
        return
    text, data, bss = rng.randint(9000, 31000), rng.randint(90, 900), rng.randint(900, 4000)
    table = f"   text\t   data\t    bss\n  {text}\t{data}\t{bss}"
    tale.call("shell", table, command=f"arm-none-eabi-size out/{names['m']}.elf")
    rows = f"| flash | {text - 212} | {text} |\n| ram | {bss} | {bss + 8} |"
    tale.add("say", text=f"| | old | new |\n|---|---|---|\n{rows}")


def _flaky(tale: Tale, topic: str, k: int, mode: str) -> None:
    """Let a command fail, and the same command pass later."""
    command, failed, passed = _row(f"{topic}.run", k, tale.names())
    for _ in range(2 if k % 4 == 1 else 1):
        tale.call("shell", failed, 1, command=command)
    tale.gap(mode, only=("between",))
    tale.call("shell", passed, command=command)
    tale.place(topic, command)


def _typo(tale: Tale, topic: str, k: int, _: str) -> None:
    wrong, right = _row(f"{topic}.run", k, tale.names())
    tale.call("shell", f"bash: {wrong.split()[0]}: command not found", 127, command=wrong)
    tale.call("shell", tale.code(3), command=right)
    tale.place(topic, wrong)


def _red_green(tale: Tale, topic: str, k: int, _: str) -> None:
    names = tale.names()
    command, failed = _row(f"{topic}.{tale.team}", k, names)
    tale.edit(names["x"], tale.code(1), tale.code(2))
    tale.call("shell", failed, 1, command=command)
    tale.edit(names["x"], tale.code(1), tale.code(2))
    tale.call("shell", "ok", command=command)
    tale.place(topic, command)


def _routine(tale: Tale, topic: str, k: int, _: str) -> None:
    command = T[f"{topic}.run"][k % len(T[f"{topic}.run"])]
    tale.call("shell", "\n".join(f" M {tale.path()}" for _ in range(tale.rng.randint(1, 6))), command=command)
    tale.place(topic, command)


def _typed(tale: Tale, topic: str, k: int, mode: str) -> None:
    """Let the person type something of which only the values, or the opposite, come again."""
    words = _row(f"{topic}.said", k, tale.names())[0]
    tale.work(tale.rng.randint(1, 2))
    tale.add("user", text=words, amid=mode == "between")
    tale.place(topic, words)
    tale.work(tale.rng.randint(1, 2))


TELLERS: dict[str, Teller] = {"correction": _correction, "look-up": _look_up, "long search": _long_search}
TELLERS |= {"failed command": _other_form, "prerequisite": _other_form, "instruction": _instruction, "typos": _typo}
TELLERS |= {"flaky test": _flaky, "net": _flaky, "red and green": _red_green, "routine": _routine}


@dataclass(frozen=True, slots=True)
class Spec:
    """One habit or decoy before it is told."""

    id: str
    count: int
    teams: str
    size: int
    need: int
    kind: str
    words: tuple[str, ...]
    description: str


def _specs(name: str) -> Iterator[Spec]:
    for about, description in zip(T[name][::2], T[name][1::2], strict=True):
        topic, count, teams, size, need, kind, words = about.split(" => ")
        yield Spec(topic, int(count), teams, int(size), int(need), kind, tuple(words.split(",")), description)


HABITS, DECOYS = tuple(_specs("habits")), tuple(_specs("decoys"))


@dataclass(slots=True)
class _Slot:
    """A session before it is told."""

    number: int
    project: str
    recorder: str
    start: datetime
    blank: bool
    items: list[tuple[Spec, int, str]] = field(default_factory=list)
    load: int = 0


def _slots(rng: Random) -> list[_Slot]:
    recorders = [name for name, count in FORMATS.items() for _ in range(count)]
    rng.shuffle(recorders)
    projects = rng.choices(list(TEAMS), WEIGHTS, k=SESSIONS)
    starts: list[datetime] = []
    while len(starts) < SESSIONS:
        day = FIRST_DAY + timedelta(days=rng.randrange(DAYS))
        if day.weekday() < 5 or rng.random() < 0.12:
            starts.append(day + timedelta(minutes=rng.randint(7 * 60, 18 * 60), seconds=rng.randrange(60)))
    rows = enumerate(zip(sorted(starts), projects, recorders, strict=True))
    return [_Slot(n, project, recorder, start, rng.random() < BLANK) for n, (start, project, recorder) in rows]


def _assign(slots: list[_Slot], rng: Random) -> None:
    """Give each habit and each decoy its sessions, in many of which it is interrupted."""
    for spec in (*HABITS, *DECOYS):
        ways = [(slot.load + spec.size > CAPACITY, slot.load > 8, rng.random(), slot.number) for slot in slots]
        free = [slots[way[-1]] for way in sorted(ways)]
        fits = [slot for slot in free if not slot.blank and (spec.teams == "*" or TEAMS[slot.project] in spec.teams)]
        chosen = sorted(fits[: spec.count], key=lambda slot: slot.number)
        order = list(range(len(chosen)))
        modes = [MODES[k % len(MODES)] for k in order]
        rng.shuffle(order)
        rng.shuffle(modes)
        for slot, k, mode in zip(chosen, order, modes, strict=True):
            if mode == "cut" and (spec in DECOYS or any(other == "cut" for _, _, other in slot.items)):
                mode = "late"
            slot.items.append((spec, k, mode))
            slot.load += spec.size


def _told(slot: _Slot) -> Tale:
    """Tell one session: what it was given, and around it more ordinary work than that."""
    rng = Random(f"{SEED}-{slot.number}")
    tale = Tale(rng, slot.project, TEAMS[slot.project], f"/home/dev/{slot.project}", slot.recorder, slot.start)
    tale.task(rng.randint(4, 7))
    try:
        for spec, k, mode in sorted(slot.items, key=lambda item: (item[2] == "cut", rng.random())):
            ahead = spec.size + 2 if mode == "cut" else 0
            while tale.ordinary <= len(tale.events) - tale.ordinary + ahead:
                tale.task(rng.randint(1, 4))
            TELLERS.get(spec.kind, _typed)(tale, spec.id, k, mode)
            tale.work(rng.choice((0, 0, 1, 3)))
        while tale.ordinary <= len(tale.events) - tale.ordinary + 2:
            tale.task(rng.randint(2, 4))
        wanted = rng.choice((0, 0, 8, 12, 18, 26, 40))
        while len(tale.events) < wanted:
            tale.task(rng.randint(2, 6))
        if rng.random() < 0.15:
            tale.add("user", text=tale.request())
            tale.work(rng.randint(1, 2))
    except EndOfSession:
        pass
    return tale


def _uuid(rng: Random) -> str:
    digits = f"{rng.getrandbits(128):032x}"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


def _iso(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03}Z"


def _ms(at: datetime) -> int:
    return int(at.timestamp() * 1000)


def _lines(records: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


WITHOUT_TOOL = {"read": "sed -n '1,240p' {path}", "search": "rg -n '{pattern}' {where}", "fetch": "curl -sL {url}"}


def _native(tale: Tale, event: Event) -> tuple[str, dict[str, str]]:
    """Name of the tool and its arguments, as this recorder has them."""
    tools = dict(zip(KINDS, T[tale.recorder][0].split("|"), strict=True))
    keys = dict(zip(ARGUMENTS, T[tale.recorder][1].split("|"), strict=True))
    args, tool = dict(event.args), event.tool
    if not tools[tool]:
        args, tool = {"command": WITHOUT_TOOL[tool].format(**args)}, "shell"
    if "path" in args and tale.recorder in ("claude-code", "gemini-cli", "opencode"):
        args["path"] = os.path.normpath(f"{tale.folder}/{args['path']}")
    return tools[tool], {keys[key]: value for key, value in args.items()}


def _claude(tale: Tale, rng: Random) -> tuple[str, str]:
    base = {"isSidechain": False, "userType": "external", "cwd": tale.folder, "sessionId": (session := _uuid(rng))}
    base |= {"version": f"2.1.{rng.randint(180, 260)}", "gitBranch": rng.choice(("main", "work", "next"))}
    lines: list[dict[str, Any]] = []

    def add(kind: str, at: datetime, **more: Any) -> None:
        parent = lines[-1]["uuid"] if lines else None
        lines.append({"parentUuid": parent, **base, "type": kind, "uuid": _uuid(rng), "timestamp": _iso(at), **more})

    def agent(event: Event, *content: dict[str, Any]) -> None:
        about: dict[str, Any] = {"id": f"msg_{rng.getrandbits(64):016x}", "type": "message", "role": "assistant"}
        about |= {"model": MODELS["claude-code"], "usage": {"input_tokens": 9, "output_tokens": rng.randint(10, 300)}}
        for number, block in enumerate(content):
            add("assistant", event.at + timedelta(milliseconds=400 * number), message={**about, "content": [block]})

    for number, event in enumerate(tale.events):
        said = [{"type": "text", "text": event.text}] if event.text and not event.refused else []
        if event.kind == "user" and event.amid and tale.events[number - 1].kind == "call":
            add("attachment", event.at, attachment={"type": "queued_command", "prompt": event.text})
        elif event.kind in ("user", "stop"):
            text = event.text or "[Request interrupted by user]"
            add("user", event.at, message={"role": "user", "content": [{"type": "text", "text": text}]})
        elif event.kind == "say":
            agent(event, *said)
        else:
            name, args = _native(tale, event)
            call, output = f"toolu_{rng.getrandbits(80):020x}", event.output
            agent(event, *said, {"type": "tool_use", "id": call, "name": name, "input": args})
            if event.refused:
                output = f"{CLAUDE_REFUSED}\n{event.text}"
            elif event.code:
                output = f"Exit code {event.code}\n{output}"
            result = {"type": "tool_result", "tool_use_id": call, "content": output, "is_error": bool(event.code)}
            beside: Any = {"stdout": output[:800], "stderr": "", "interrupted": False}
            message = {"role": "user", "content": [result]}
            done = event.at + timedelta(seconds=2)
            add("user", done, message=message, toolUseResult=f"Error: {output}" if event.code else beside)
    return f"claude/projects/{tale.folder.replace('/', '-')}/{session}.jsonl", _lines(lines)


def _codex(tale: Tale, rng: Random) -> tuple[str, str]:
    session, start = _uuid(rng), tale.events[0].at
    lines: list[dict[str, Any]] = []

    def add(kind: str, at: datetime, **payload: Any) -> None:
        lines.append({"timestamp": _iso(at), "type": kind, "payload": payload})

    def message(at: datetime, role: str, text: str) -> None:
        kind = "output_text" if role == "assistant" else "input_text"
        add("response_item", at, type="message", role=role, content=[{"type": kind, "text": text}])

    about = {"id": session, "session_id": session, "cwd": tale.folder, "originator": "codex_cli_rs"}
    add("session_meta", start, **about, cli_version="0.166.0", source="cli", model_provider="openai")
    message(start, "user", f"<environment_context>\n  <cwd>{tale.folder}</cwd>\n</environment_context>")
    add("turn_context", start, cwd=tale.folder, model=MODELS["codex"], approval_policy="on-request")
    for event in tale.events:
        if event.kind == "user":
            message(event.at, "user", event.text)
            add("event_msg", event.at, type="user_message", message=event.text, images=[])
        elif event.kind == "stop":
            add("event_msg", event.at, type="turn_aborted", reason="interrupted")
        elif event.text and not event.refused:
            message(event.at, "assistant", event.text)
            add("event_msg", event.at, type="agent_message", message=event.text)
        if event.kind == "call":
            begun, ended = _codex_call(tale, event)
            call = f"call_{rng.getrandbits(64):016x}"
            add("response_item", event.at, call_id=call, **begun)
            add("response_item", event.at + timedelta(seconds=2), call_id=call, **ended)
    return f"codex/sessions/{start:%Y/%m/%d}/rollout-{start:%Y-%m-%dT%H-%M-%S}-{session}.jsonl", _lines(lines)


def _codex_call(tale: Tale, event: Event) -> tuple[dict[str, str], dict[str, str]]:
    if event.tool not in ("edit", "write"):
        name, args = _native(tale, event)
        arguments = json.dumps({**args, "workdir": tale.folder})
        output = f"Wall time: 1.2 seconds\nProcess exited with code {event.code}\nOutput:\n{event.output}"
        begun = {"type": "function_call", "name": name, "arguments": arguments}
        return begun, {"type": "function_call_output", "output": output}
    old = "".join(f"-{row}\n" for row in event.args.get("old", "").splitlines())
    new = "".join(f"+{row}\n" for row in event.args.get("new", event.args.get("body", "")).splitlines())
    head = f"*** Update File: {event.args['path']}\n@@\n" if old else f"*** Add File: {event.args['path']}\n"
    output = json.dumps({"output": f"Success. {event.output}", "metadata": {"exit_code": 0, "duration_seconds": 0.1}})
    patch = f"*** Begin Patch\n{head}{old}{new}*** End Patch"
    begun = {"type": "custom_tool_call", "name": "apply_patch", "input": patch}
    return begun, {"type": "custom_tool_call_output", "output": "patch rejected by user" if event.refused else output}


def _gemini(tale: Tale, rng: Random) -> tuple[str, str]:
    session, start = _uuid(rng), tale.events[0].at
    head = {"sessionId": session, "projectHash": f"{rng.getrandbits(256):064x}", "kind": "main"}
    lines: list[dict[str, Any]] = [{**head, "startTime": _iso(start), "lastUpdated": _iso(tale.now)}]
    for number, event in enumerate(tale.events):
        record: dict[str, Any] = {"id": f"{session[:8]}-{number}", "timestamp": _iso(event.at)}
        if event.kind == "user":
            record |= {"type": "user", "content": [{"text": event.text}]}
        elif event.kind == "stop":
            record |= {"type": "info", "content": "Request cancelled."}
        else:
            text = "" if event.refused else event.text
            record |= {"type": "gemini", "content": text, "model": MODELS["gemini-cli"]}
        if event.kind == "call":
            name, args = _native(tale, event)
            call, status, output = f"{name}-{_ms(event.at)}-{number}", "success", event.output
            if event.refused:
                status, output = "cancelled", "[Operation Cancelled] Reason: User denied execution."
            elif event.tool == "shell":
                output = f"Command: {args['command']}\nDirectory: (root)\nOutput: {output}\nError: (none)\n"
                output += f"Exit Code: {event.code}\nSignal: (none)"
            result = [{"functionResponse": {"id": call, "name": name, "response": {"output": output}}}]
            record["toolCalls"] = [{"id": call, "name": name, "args": args, "status": status, "result": result}]
        lines.append(record)
    return f"gemini/tmp/{tale.project}/chats/session-{start:%Y-%m-%dT%H-%M}-{session[:8]}.jsonl", _lines(lines)


def _opencode(tale: Tale, rng: Random) -> tuple[str, str]:
    session = f"ses_{rng.getrandbits(96):024x}"
    messages: list[dict[str, Any]] = []
    for number, event in enumerate(tale.events):
        about: dict[str, Any] = {"id": f"msg_{number:04}{session[4:16]}", "sessionID": session}
        about |= {"role": "user" if event.kind == "user" else "assistant", "time": {"created": _ms(event.at)}}
        parts: list[dict[str, Any]] = []
        if event.kind != "user":
            about |= {"modelID": MODELS["opencode"], "providerID": "anthropic", "path": {"cwd": tale.folder}}
        if event.kind == "stop":
            about["error"] = {"name": "MessageAbortedError", "data": {"message": "aborted"}}
        if event.text and not event.refused:
            parts.append({"type": "text", "text": event.text})
        if event.kind == "call":
            name, args = _native(tale, event)
            state: dict[str, Any] = {"input": args, "time": {"start": _ms(event.at), "end": _ms(event.at) + 1800}}
            if event.refused:
                why = "The user rejected permission to use this specific tool call with the following feedback: "
                state |= {"status": "error", "error": why + event.text}
            else:
                metadata = {"exit": event.code} if name == "bash" else {}
                state |= {"status": "completed", "output": event.output, "metadata": metadata}
            parts.append({"type": "tool", "callID": f"toolu_{rng.getrandbits(64):016x}", "tool": name, "state": state})
        for place, part in enumerate(parts):
            part |= {"id": f"prt_{number:04}{place}{session[4:14]}", "sessionID": session, "messageID": about["id"]}
        messages.append({"info": about, "parts": parts})
    times = {"created": _ms(tale.events[0].at), "updated": _ms(tale.now)}
    info = {"id": session, "directory": tale.folder, "title": "Session", "version": "1.18.33", "time": times}
    return f"opencode/{session}.json", json.dumps({"info": info, "messages": messages}, indent=1, ensure_ascii=False)


def _cursor(tale: Tale, rng: Random) -> tuple[str, str]:
    session, start = _uuid(rng), tale.events[0].at
    first = {"type": "system", "subtype": "init", "apiKeySource": "login", "cwd": tale.folder, "session_id": session}
    lines: list[dict[str, Any]] = [{**first, "model": MODELS["cursor-stream"], "timestamp_ms": _ms(start)}]
    for event in tale.events:
        when = {"session_id": session, "timestamp_ms": _ms(event.at)}
        role = "user" if event.kind == "user" else "assistant"
        if event.text and not event.refused:
            message = {"role": role, "content": [{"type": "text", "text": event.text}]}
            lines.append({"type": role, "message": message, **when})
        if event.kind != "call":
            continue
        name, args = _native(tale, event)
        call = {"type": "tool_call", "call_id": f"tool_{rng.getrandbits(64):016x}", "model_call_id": f"mc_{len(lines)}"}
        lines.append({**call, "subtype": "started", "tool_call": {f"{name}ToolCall": {"args": args}}, **when})
        result: dict[str, Any] = {"success": {"content": event.output}}
        if event.refused:
            result = {"rejected": {"reason": event.text}}
        elif name == "shell":
            streams = {"stdout": "" if event.code else event.output, "stderr": event.output if event.code else ""}
            result = {"failure" if event.code else "success": {"exitCode": event.code, **streams}}
        done = {f"{name}ToolCall": {"args": args, "result": result}}
        lines.append({**call, "subtype": "completed", "tool_call": done, **when})
    return f"cursor/{tale.project}/{start:%Y%m%d-%H%M}-{session[:8]}.jsonl", _lines(lines)


def _chat(tale: Tale, rng: Random) -> tuple[str, str]:
    start = tale.events[0].at
    system = f"You are a coding agent. The working directory is {tale.folder}."
    lines: list[dict[str, Any]] = [{"role": "system", "content": system, "timestamp": _iso(start)}]
    for event in tale.events:
        when = {"timestamp": _iso(event.at)}
        text = None if event.refused else event.text or None
        if event.kind == "call":
            name, args = _native(tale, event)
            call = f"call_{rng.getrandbits(64):016x}"
            calls = [{"id": call, "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}]
            lines.append({"role": "assistant", "content": text, "tool_calls": calls, **when})
            output = f"Exit code: {event.code}\n{event.output}" if event.code else event.output
            output = "User declined this call." if event.refused else output
            lines.append({"role": "tool", "tool_call_id": call, "content": output, **when})
        elif text:
            lines.append({"role": "user" if event.kind == "user" else "assistant", "content": text, **when})
    return f"chats/{start:%Y-%m}/{tale.project}-{start:%d%H%M}-{rng.getrandbits(24):06x}.jsonl", _lines(lines)


WRITERS = dict(zip(FORMATS, (_claude, _codex, _gemini, _opencode, _cursor, _chat), strict=True))


def write(folder: Path) -> Plan:
    """Write all sessions below a folder, and return what is in them."""
    rng = Random(SEED)
    slots = _slots(rng)
    _assign(slots, rng)
    return write_tales(folder, SEED, slots, _told, habits=HABITS, decoys=DECOYS, formats=FORMATS)


def write_tales(
    folder: Path,
    seed: str,
    slots: Sequence[Any],
    told: Callable[[Any], Tale],
    *,
    habits: Sequence[Any],
    decoys: Sequence[Any],
    formats: dict[str, int],
) -> Plan:
    """Write the session of each slot, as it is told, and return what is in them."""
    days: dict[str, str] = {}
    places: dict[str, list[Occurrence]] = {}
    for slot in slots:
        tale = told(slot)
        name, text = WRITERS[slot.recorder](tale, Random(f"{seed}-ids-{slot.number}"))
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
        os.utime(path, (tale.now.timestamp(), tale.now.timestamp()))
        days[name] = f"{slot.start:%Y-%m-%d}"
        for topic, quote, whole in tale.places:
            places.setdefault(topic, []).append(Occurrence(name, quote, whole))

    def topics(specs: Sequence[Any]) -> tuple[Topic, ...]:
        return tuple(_topic(spec, tuple(places[spec.id]), days) for spec in specs)

    return Plan(topics(habits), topics(decoys), tuple(days), formats)


def _topic(spec: Any, places: tuple[Occurrence, ...], days: dict[str, str]) -> Topic:
    sessions = tuple(dict.fromkeys(one.session for one in places))
    seen = {days[session] for session in sessions}
    about = (spec.id, spec.description, spec.kind, spec.words, spec.need)
    return Topic(*about, sessions, len(seen), max(seen), places)


def main() -> None:
    """Write the sessions below the folder named on the command line, and print the plan."""
    if len(sys.argv) != 2:
        sys.exit("usage: python second_corpus.py FOLDER")
    json.dump(asdict(write(Path(sys.argv[1]))), sys.stdout, indent=1, ensure_ascii=False)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()

"""Synthetic recorded sessions of four other teams (infrastructure, a game, a laboratory, timetables), and the plan.

`write(folder)` writes the sessions, always the same, and returns the plan of what is in them. The formats and the
values are those of `second`; teams, work, habits, decoys and words are its own. People, tools and hosts are invented.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from string import Template
from typing import Any

from benchmarks.corpora.second import EndOfSession, Plan, Tale, write_tales

SEED = "third-corpus-3"
FIRST_DAY = datetime(2026, 8, 24, tzinfo=UTC)
DAYS = 82
FORMATS = {"claude-code": 68, "codex": 54, "gemini-cli": 36, "opencode": 34, "cursor-stream": 26, "chat": 22}
PROJECTS = {"dockyard-infra": 44, "nightwatch": 20, "mossfall": 58, "plankton-pipeline": 58}
PROJECTS |= {"timetable-svc": 44, "stopfinder": 16}
TEAMS = {"dockyard-infra": "ops", "nightwatch": "ops", "mossfall": "game", "plankton-pipeline": "lab"}
TEAMS |= {"timetable-svc": "rail", "stopfinder": "rail"}
WITH_HABITS = 0.44
"""Share of the sessions of a project in which habits may stand."""
MODES = ("plain", "late", "plain", "stop", "plain", "between", "late", "plain", "cut", "plain", "between", "plain")
"""Half of the occurrences are plain. The others are corrected late, are interrupted, or end with the session."""


def _rows(text: str) -> dict[str, tuple[str, ...]]:
    """Rows by the `[name]` before them. Two bars part rows on one line; `¶` is a line break in a row."""
    found: dict[str, list[str]] = {}
    name = ""
    for line in text.strip().splitlines():
        if line.startswith("["):
            name, _, line = line[1:].partition("]")
        rows = line.removeprefix(" ").split(" || ")
        found.setdefault(name, []).extend(row.replace("¶", "\n") for row in rows if row)
    return {name: tuple(rows) for name, rows in found.items()}


T = _rows(r"""
[dockyard-infra] ingress|registry|volumes|gateways|peering|buckets|queues|nodes|quotas|roles|subnets|backups|proxies
crons|secrets
[nightwatch] pagers|silences|probes|panels|recorders|receivers|heartbeats|budgets|rotas|exporters|shards|labels
[mossfall] lantern|grapple|bogfrog|weather|inventory|dialogue|lilypad|boss|parallax|footsteps|minimap|savegame|crafting
fishing
[plankton-pipeline] copepod|diatom|larvae|salinity|turbidity|nettow|ctd|frames|masks|biomass|taxa|depthbin|chlorophyll
[timetable-svc] headway|layover|calendar|transfer|block|crew|ferry|nightbus|detour|dwell|depot|interchange|holiday
[stopfinder] geocode|radius|walkleg|suggest|aliases|ranking|kiosk|shelter|favourites|bearing|lifts
[stems] outer|inner|merge|split|cache|index|reader|writer|guard|table|bounds|rules|names|sizes|order|group|trace|delta
batch|plain|extra|local|shared|lookup|filter|parse|emit|retry|limits|weights|edges|paths|units|hooks|seeds|steps|marks
[ops.nouns] stack|module|overlay|alert|role binding|job|chart values|policy|probe config|rollout script|network rule
[game.nouns] menu|scene|hitbox|state machine|sound trigger|shader|tooltip|drop table|save migration|camera|tween
[lab.nouns] segmentation step|regression|classifier|qc report|plot|loader|calibration|table for the paper|notebook
[rail.nouns] endpoint|importer|planner|query|migration|validator|feed reader|dto|repository class|scheduler|mapper
[ops.files] stacks/$p/main.hcl|stacks/$p/$s.hcl|modules/$s/$p.hcl|overlays/$p/$s.yaml|scripts/${p}_$s.sh
[game.files] src/sim/$p/$s.lua|src/ui/${p}_$s.lua|scenes/$p/$s.scene|native/src/${p}_$s.rs|assets/defs/$p/$s.toml
[lab.files] plankton/$p/$s.py|R/${p}_$s.R|workflows/$p.flow|config/$s/$p.yaml|notebooks/${p}_$s.py
[rail.files] router/src/main/kotlin/$p/$S.kt|api/src/main/kotlin/$p/$S.kt|router/src/test/kotlin/$p/${S}Test.kt
db/V${n}__${p}_$s.sql
[ops.checks] kelpctl get $p -n $s|yamllint overlays/$p/$s.yaml|shellcheck scripts/${p}_$s.sh|kelpctl describe $p/$s-$n
promtool check rules overlays/$p/$s.yaml|yq .spec.$s overlays/$p/$s.yaml|kelpctl logs deploy/$p --since ${n}m
[game.checks] luacheck src/sim/$p|cargo clippy -p native|stylua --check src/ui/${p}_$s.lua
cargo build -p native --features $s|python tools/scenelint.py scenes/$p/$s.scene|du -sh assets/defs/$p
[lab.checks] ruff check plankton/$p|ncdump -h /data/mirror/$c/$p.nc|du -sh config/$s|jq .$s out/$p.json|wc -l out/$p.csv
[rail.checks] ./gradlew :router:compileKotlin|ktlint router/src/main/kotlin/$p/$S.kt|curl -s localhost:8080/$p/$n
./gradlew :api:detekt|xmllint --noout feeds/$p-$s.xml|wc -l feeds/$p-$s.txt
[ops.code] resource kelp_$a $b { size = $n }|  for_each = toset(var.${a}_$b)|replicas: $n|  - name: $a-$b
${a}_$b: ${c}-$n|depends_on = [kelp_$a.$b]|expr: rate(${a}_${b}_total[${n}m]) > $n|set -euo pipefail
[game.code] local $a = require('sim.$b')|function M.$a(self, $b) return self.$c * $n end
if $a.$b > $n then $c:emit('$a') end|let $a = $b.iter().copied().max();|pub fn ${a}_$b(&mut self, $c: f32) -> bool {
$a = { $b = $n, $c = true }|self.$a:tween($b, $n / 60)|-- $a waits for $b|end|for _, $a in ipairs(self.$b) do
[lab.code] ${a}_$b = frame.groupby('$a').$b.mean()|def $a($b: Frame, $c: float = 0.$n) -> Frame:
    return $b.where($b.$c > $n)|$a <- lm($b ~ $c, data = $a)|mask = label($a > otsu($b))|for tow in $a.tows[:$n]:
  $a: {min: $n, unit: $b}|assert ($a.$b >= 0).all()|ggplot($a, aes($b, $c)) + geom_point()
[rail.code] val ${a}s = $b.filter { it.$c > $n }|data class $a(val $b: Int, val $c: String?)|fun $a($b: $c): List<$a> =
alter table $a add column ${b}_$c int;|create index on $a ($b, $c);|require($a.$b in 0..$n)|$a.associateBy { it.$b }
@Get(/$a/{$b})|assertThat($a.$b).isEqualTo($n)|return $a.sortedBy { it.$c }.take($n)
[verbs] add a test for|refactor|simplify|I want to get rid of|please document|port|rename things in|explain|profile
look into|fix|review|start on|continue with|split up|make a draft of|hook up|clean|speed up|rethink
remove the dead code in|add logging to|write|give me a short summary of|tighten|unify|translate the messages in|check
revert yesterdays change to|generalise|undo half of|prototype|handle errors in|bring back|print less in|cover|type|mock
[symptoms] is empty on sundays|takes ages since the merge|returns twice the rows|crashes with an empty list
has the wrong order|ignores the last element|eats all my memory|is off by one|loses its state on reload|logs nonsense
works only the first time|shows the old name|does nothing when I press escape|hangs if the disk is full|blinks
has a typo in the output|is half done|complains about a null|doubles every second entry|is not called at all
differs between my laptop and the server|leaks|swallows the error|mixes metres and feet|is unreadable|has no tests
[tails] . small diff pls|, nothing fancy|, I have 20 min| before lunch| (see the note in the readme)|, ask if unclear
. no hurry|!|, same style as next door| - was a quick hack by me|. I already tried restarting
, someone in support asked| and explain why|, then we can close this topic|, don't worry about old clients
, leave the public api alone| ...|. Thank you!|, thx|, ok?|, for the demo| as we talked about
. If it gets long stop and tell me|, probably trivial|, only the easy half|, best guess
[questions] what does $o do exactly|is there a reason why $o is so big|do we still need $o|can I delete $o|who uses $o
how would you test $o|whats the worst case for $o|is $o thread safe|why are there two versions of $o|did $o ever work
[done] Changed $o; $n lines.|$o is done, the change is in $x.|I found it in $x and fixed it.
$x now does this in one pass.|That was the $s in $x. It is gone.|I split $o in two; $x has the first half.
$o works on the $n samples that I tried.|Summary: $x holds $o, and $n places call it.
I left $o as it was and adapted $x.|There was an early return in $x.|I would keep $o: $n callers need it.
[leads] Looking at $x.|Checking the callers first.|I'll search for it.|Now $x.|Let me verify.|Adapting $o.
[service.said] LocalTime again in the $p code :/ a trip at 25:10 is perfectly legal, ServiceTime pls
no. $p runs past midnight so LocalTime wraps. we have ServiceTime for that
dep_$s can't be a LocalTime, think of the last $p at 24:35 || nope, ServiceTime. the $p timetable goes up to 27:00
who parses 24:12 with java.time? not us. ServiceTime.parse, also in $p
pls look how the neighbours of $p do it, nobody has a LocalTime there. service day != calendar day
bitte kein LocalTime in $p, dafür gibts ServiceTime (die Nachtbusse fahren nach 24:00!)
staging says¶DateTimeParseException: 25:40:00 ($p), at LocalTime.parse¶as ever, isn't it
my usual remark for $p: a departure after midnight belongs to the previous service day, LocalTime can't say that
sql TIME for dep_$s?? int. Seconds of the service day, ServiceTime does the conversion
[service.edit] val dep = LocalTime.parse(row.$s) => val dep = ServiceTime.parse(row.$s)
dep_$s TIME NOT NULL, => dep_$s INTEGER NOT NULL, || fun $s(at: LocalTime): Trip? => fun $s(at: ServiceTime): Trip?
import java.time.LocalTime => import core.time.ServiceTime
[pinned.said] :latest is not a version. digest for $p || pin $p by digest pls, tags move
you left a floating tag on the $p image, needs sha256 like in the other overlays
who knows what $p:latest is tomorrow morning. @sha256:...
the admission hook will throw this out, the $s image of $p has no sha256
admission webhook denied: image $p/$s has no digest¶^ pipeline. you know what to do
tag -> digest for $p ($s too while you're there)
no floating tags!! the $p outage in june was exactly that
Could you use the immutable reference for $p? (sha256, not :latest) || image line of $p.. tag.. sigh.. sha256
[pinned.edit] image: registry.example.invalid/$p/$s:latest => image: registry.example.invalid/$p/$s@sha256:$hex
tag: latest => digest: sha256:$hex || image = join(:, [$p, latest]) => image = registry.example.invalid/$p@sha256:$hex
[derived.said] data/raw is read only!! || not into data/raw/$c, that's what came off the ship. derived!
pls dont touch raw. $p results -> data/derived/$c
hm you overwrote a file in raw/$c, restore it and write to derived from now on
anything computed belongs in data/derived, raw stays as the instrument left it ($p)
The checksum of raw/$c changed. Nothing of ours writes there. || why is there a ${p}_$s.parquet under data/raw
move that to derived plz, raw gets synced back to the institute and they see our $p stuff
no no. raw = what we got, derived = what we made. $p is the second kind
otra vez en data/raw? los resultados de $p van en derived
[derived.edit] out = Path('data/raw/$c/${p}_$s.parquet') => out = Path('data/derived/$c/${p}_$s.parquet')
write_csv($s, 'data/raw/$c/$p.csv') => write_csv($s, 'data/derived/$c/$p.csv')
output: data/raw/$c/$p-$s.nc => output: data/derived/$c/$p-$s.nc
frame.to_parquet(source.with_name('$s.parquet')) => frame.to_parquet(DERIVED / '$c' / '$s.parquet')
[corrected] Changed in $x.|Fixed.|You are right; it is corrected.|Corrected, and I checked the rest of $p.|Done.
[gantry.plain] gantry plan stacks/$p || gantry validate stacks/$p -var zone=$s || gantry apply stacks/$p --target $s.$n
gantry output stacks/$p ${s}_id || gantry show stacks/$p --depth $d || gantry import stacks/$p $s i-0$n
[gantry.error] 1 => Error: no gantry.lock here || 3 => backend is not initialised, 0 stacks found
2 => panic: source outside of root: modules/$s¶goroutine 1 [running]: || 1 => Error: provider kelp is declared 14 times
[gantry.right] cd stacks/$p && $short || gantry -C stacks/$p $rest || (cd stacks/$p; $short 2>&1 | tail -$n)
[gantry.passed] No changes. $n resources.
[atlas.plain] atlasforge pack art/$p/$s.aseprite -o build/$p.atlas || atlasforge trim art/$p/$s.aseprite --margin $d
atlasforge preview art/$p/ --scale $d || atlasforge palette art/$p/$s.aseprite --max $n
[atlas.error] 134 => terminate called after throwing an instance of ContextError¶Aborted (core dumped)
1 => error: could not create a window surface || 1 => Could not open display || 139 => Segmentation fault (core dumped)
[atlas.right] xvfb-run -a $cmd || xvfb-run $cmd || xvfb-run -a -s '-screen 0 1280x720x24' $cmd
cd ~/mossfall && xvfb-run -a bin/$cmd
[atlas.passed] $n sprites, $d pages
[brine.plain] python -m plankton.$p --cruise $c --limit $n || Rscript R/${p}_$s.R $c || python notebooks/${p}_$s.py
python -m pytest tests/test_$p.py -k $s || python -m plankton.$p.$s $c
[brine.error] 1 => ModuleNotFoundError: No module named 'netcdf5'
1 => ImportError: libhdf5_hl.so.310: cannot open shared object file
127 => bash: line 1: python: command not found || 1 => RuntimeError: numba needs llvmlite below 0.27, found 0.41
[extra] $cmd --verbose || DEBUG=1 $cmd || sudo -E $cmd
[brine.right] brine run -e silt -- $cmd || brine run --env silt $cmd || brine shell silt -c '$cmd'
brine run -e silt --quiet -- $cmd
[brine.passed] $n tows, cruise $c
[codes.look] shell => grep -n $k reference/platform_codes.csv || read => reference/platform_codes.csv
shell => awk -F';' '$$1 ~ /$k/' reference/platform_codes.csv || shell => head -$n reference/platform_codes.csv
shell => cut -d';' -f1,3 reference/platform_codes.csv | sort | grep $k
read => ../timetable-svc/reference/platform_codes.csv || shell => cat reference/platform_codes.csv | grep -i -B1 -A3 $k
[export.look] shell => mosspack export --help || fetch => https://docs.example.invalid/mosspack/export-presets
read => tools/mosspack/EXPORT.md || shell => mosspack help export | head -$n
shell => grep -n -i preset tools/mosspack/EXPORT.md || shell => man mosspack | col -b | grep -A$n preset
shell => sed -n 1,${n}p tools/mosspack/EXPORT.md
[ttl.said] why is the ttl of $p $n s, I set 300 in the stack
dns for $p is cached way too long. find out who sets that || who overrides the ttl for $p?? grep gives me nothing
$p records expire after $n seconds in prod. where's that from
name lookups for $p stay stale for minutes after a switch, I'd like to know which file does it
resolver setting for $p, where is it hidden || someone set a ttl for $p somewhere, I want to see the line
[ttl.hunts] ttl|dns_ttl|cacheSeconds|max_age|resolver|record_ttl|expire|negative_ttl|lifetime|soa|minimum|ndots|stale
[ttl.roots] stacks || modules || overlays || .
[ttl.found] overlays/_base/zz_resolver.yaml
[cap.said] $p can't be pushed further than 6 tiles, where is that limit || knockback of $p feels capped. where?
damage of $p never goes above 99 although the defs say 140 || why does $p stop accelerating at 11.5 or so
there's a ceiling on $p speed and it is not in the defs. find it || $p hits for 99 max. who does that
raised the heal of $p to 200, ingame still 99??
[cap.hunts] knockback|maxDamage|clamp|limit|impulse|math.min|MAX_|f32::min|terminal|cap|saturate|ceiling|99|11.5|push
[cap.roots] src || assets || native || .
[cap.found] native/src/oldsim/clampbook.rs
[wire.said] $r. regenerate the wire snapshots when done and list which ones moved
and after that the wire snapshots again, I want to see what moved for $p
$r, then refresh snapshots/wire + tell me the diff || dont forget the wire snapshots ($p) || $r (with wire snapshots)
which wire files differ now? rerun the snapshots for $p
the app people want to know what changed on the wire because of $p, so: snapshots
$r. Finally update snapshots/wire, one line per changed file.
ach ja, snapshots/wire für $p bitte auch noch neu machen
[methods.said] $r. and the parameters into METHODS.md || put what you did into METHODS.md, reviewer 2 will ask ($p)
$r, thresholds go in METHODS.md like always || Add a sentence to METHODS.md about $p afterwards please
and the methods? ($p) || METHODS.md is missing $p, numbers + units
$r. then write it up in the methods file, past tense || for the paper: METHODS.md entry for $p with the cutoff you used
$r; and log it (METHODS.md)
[drift.run] ./gradlew :router:test --tests '*DriftTest' => skew FAILED: expected $d, was $n => BUILD SUCCESSFUL
./gradlew :router:test --tests LeaseTest => LeaseTest > renews in time FAILED: timeout ${n}s => BUILD SUCCESSFUL
./gradlew :router:test --tests '*RolloverTest*' => RolloverTest > midnight FAILED: latch $n => BUILD SUCCESSFUL
[replay.run] cargo test -p native replay_$p => replay_$p ... FAILED: desync at frame $n$d => test result: ok
cargo test -p native replay_${s} -- --nocapture => panicked: desync at frame $d$n, peers 2 => test result: ok
cargo test replay_ => replay_${p}_$s ... FAILED: hash differs at $n$n => test result: ok. $n passed
[shoal.run] shoal submit jobs/$p.job --cores $n => queue full (128/128) => job ${n}$n accepted
shoal submit jobs/${p}-$s.job => controller is busy => job $n$d accepted
[ticket.said] ticket is $t not $u || pls put $t in the title, wrong ticket
$u is somebody else's ticket, ours for $p is $t || link ticket $t in the description
they made a new ticket for $p: $t || close $u, ticket $t stays open
[dates.said] valid from $day, not earlier || the freeze for $p moved to $day
cutover of $p is $day, I had the wrong one in mind || can you set valid from in $p to $day
no, cutover $day. See mail || code freeze $day so $p only the minimum
[tuning.said] jump height 4.$d for $p feels better than 3.$n || cooldown of $p: $n frames pls
gravity 0.$n there, not 0.$d$n || spawn one every $n seconds, $d is too many ($p) || try a cooldown of 1.$d
make $p jump $d px higher
[plots.one] figures as svg please, the $p one is blurry in print || svg for $p!
no bitmaps, I need to move the labels in $p, svg || could the $p plot be an svg?
[plots.two] the $p figure as png, the journal doesn't take svg || png pls ($p), 600 dpi
why svg? png like the others, $p too || my colleague can't open svg, so $p in png
[comments.one] $p needs more comments, I did not understand half of it || comment the tricky bits of $p please
could you put a comment above each block in $p || no comments at all in $p? add some
[comments.two] way too many comments in $p, remove || the code of $p should speak for itself, no comments
strip the comments you added ($p) || I don't want comments that repeat the line, see $p
[pools.one] $p goes to blue first, green tomorrow || start with blue for $p || blue, then wait, then green ($p)
roll $p on the blue side pls
[pools.two] green first for $p || $p: green before blue, the other way round breaks
not blue! green is the idle one, $p goes there || start $p on green
[hosts.run] psql -h db-$n.example.invalid -c 'select count(*) from $p' => could not translate host name
ssh bastion-$n.example.invalid uptime => ssh: connect to port 22: Operation timed out
psql -h db-$n.example.invalid -U $s -c 'select 1' => FATAL: password authentication failed for user $s
[hosts.said] thats db-$m since friday || bastion-$m now, they rebuilt it || password rotated, take $s-$m-$p (db-$m)
[nudge.said] still there? || how far are you || are you stuck? || hello? || eta?
hm are you still there or did it crash || how far is it, I need to leave
[redgreen.game] busted spec/$p/${s}_spec.lua => expected $n, got $d at line $n => $n successes
busted spec/$p --filter $s => attempt to index a nil value (field $s) => $d successes
[redgreen.rail] kscript checks/$p-$s.kts => unresolved reference: $s$n => ok
kscript checks/$p.kts --only $s => expected <$n> but was <$d> => ok, $n checks
[habits]
service => 13 => rail => 0-82 => correction => ServiceTime,LocalTime,service day
Times go past 24:00, so they are ServiceTime; the person corrects LocalTime and TIME columns.
pinned => 11 => ops => 0-70 => correction => digest,sha256,floating tag*,latest
Images are pinned by digest; the person corrects tags such as :latest.
derived => 9 => lab => 12-82 => correction => data/raw,raw,derived
Nothing is written into data/raw; the person sends results to data/derived.
gantry => 15 => ops => 0-82 => failed command => gantry
`gantry` fails, with different messages, with a stack as its argument; in the folder of the stack it works.
atlas => 10 => game => 20-82 => failed command => atlasforge,xvfb-run
`atlasforge` fails without a display, with different messages; under `xvfb-run` it works.
brine => 14 => lab => 0-82 => failed command => brine,silt,netcdf5,libhdf5_hl.so.310
Programs of the pipeline fail outside the environment; with `brine run -e silt` they work.
codes => 16 => rail => 0-82 => look-up => platform_codes*
The meaning of platform codes is read from reference/platform_codes.csv, in several ways.
export => 8 => game => 0-60 => look-up => mosspack
The preset for `mosspack export` is looked up in its help, manual or documentation each time.
ttl => 7 => ops => 5-75 => long search => zz_resolver*,ttl,dns_ttl,resolver
Where the lifetime of names is set is searched for at length; it is overlays/_base/zz_resolver.yaml.
cap => 8 => game => 0-82 => long search => clampbook*,knockback,oldsim
Where numbers of the simulation are capped is searched for at length; it is native/src/oldsim/clampbook.rs.
wire => 12 => rail => 0-82 => instruction => snapshots/wire,wire,snapshots
The person asks for new snapshots of the wire format and a list of those that changed.
methods => 10 => lab => 25-82 => instruction => METHODS.md,methods
The person asks that parameters be written down in METHODS.md.
[decoys]
drift => 12 => rail => 0-82 => flaky test => DriftTest,LeaseTest,RolloverTest
Tests of clocks fail and then pass with the same command.
replay => 11 => game => 0-82 => flaky test => replay_*,desync
Replays in the game's tests fail and then pass with the same command.
shoal => 9 => lab => 0-82 => busy queue => shoal || The cluster is busy, and accepts the same command later.
ticket => 15 => ops game lab rail => 0-82 => one-off values => ticket
The person names a ticket, each time a different one.
dates => 13 => ops rail => 0-82 => one-off values => valid from,freeze,cutover
The person names a date, each time a different one.
tuning => 12 => game => 0-82 => one-off values => jump,cooldown,gravity,spawn
The person tunes a number of the game, each time a different one.
plots => 11 => lab => 0-82 => contradiction => svg,png
The person wants figures as svg, later as png, then as svg again.
comments => 14 => ops game lab rail => 0-82 => contradiction => comment,comments
The person wants more comments, later fewer, then more again.
pools => 10 => ops => 0-82 => contradiction => blue,green
The person wants blue first, later green first, then blue again.
hosts => 13 => ops lab rail => 0-82 => changing hosts => db-*,bastion-*,password
A host or a password has changed, each time to another one.
nudge => 16 => ops game lab rail => 0-82 => impatience => still there,how far,stuck,hello,eta
The person asks whether the agent is still working.
redgreen => 14 => game rail => 0-82 => red and green => busted,kscript
A check fails on the change just made, for another reason each time; after an edit it passes.
""")


def _pool(name: str) -> tuple[str, ...]:
    return tuple(word for row in T[name] for word in row.split("|") if word)


EXPORT_HELP = """mosspack export [--preset NAME] [--lang CODE] [--stamp TEXT|none] TARGET

presets
  deck-slim     handhelds: textures halved, no debug symbols; needs --stamp none
  booth         kiosk build for fairs, restarts itself after 180 s without input
  press         everything unlocked, watermark from --stamp
  store         the only one that is signed; asks for the key on a terminal
"""
KINDS = {"K": "quay, ramp", "R": "rail, low floor", "T": "tram loop", "X": "none"}
CODES = "\n".join(
    f"{letter}{n}{side};{n};{kind}" for letter, kind in KINDS.items() for n in range(1, 9) for side in "EW"
)


class Story(Tale):
    """A session while it is told, with the words of these teams."""

    focus: tuple[str, ...] = ()
    """Parts of the project that most of the session is about."""

    def pick(self, name: str) -> str:
        """Choose a word of a pool at random."""
        near = name == self.project and self.rng.random() < 0.7
        return self.rng.choice(self.focus if near else _pool(name))

    def path(self) -> str:
        """Name a file of the project."""
        stem = self.pick("stems")
        slots = {"p": self.pick(self.project), "s": stem, "S": stem.capitalize(), "n": str(self.rng.randint(3, 140))}
        return Template(self.pick(f"{self.team}.files")).substitute(slots)

    def thing(self) -> str:
        """Name something that is worked on."""
        part, noun, stem = self.pick(self.project), self.pick(f"{self.team}.nouns"), self.pick("stems")
        forms = (f"the {part} {noun}", f"{part} {noun}", f"the {stem} part of {part}", self.path(), f"{part}.{stem}")
        return self.rng.choices(forms, (8, 3, 3, 3, 2))[0]

    def request(self) -> str:
        """Word an ordinary request: an order, a complaint or a question."""
        rng, thing = self.rng, self.thing()
        match rng.choices(("order", "complaint", "question"), (6, 3, 2))[0]:
            case "order":
                text = f"{self.pick('verbs')} {thing}" + (self.pick("tails") if rng.random() < 0.5 else "")
            case "complaint":
                text = f"{thing} {self.pick('symptoms')}" + (self.pick("tails") if rng.random() < 0.3 else "")
            case _:
                text = Template(self.pick("questions")).substitute(o=thing) + rng.choice(("?", "", "??"))
        if rng.random() < 0.06 and len(text) > 20:
            cut = rng.randrange(8, len(text) - 4)
            text = text[:cut] + text[cut + 1] + text[cut] + text[cut + 2 :]
        return text[0].upper() + text[1:] if rng.random() < 0.25 else text

    def names(self) -> dict[str, Any]:
        """Fill every slot that a row of the tables can have."""
        rng, stem, start = self.rng, self.pick("stems"), self.now
        found = {"p": self.pick(self.project), "s": stem, "S": stem.capitalize(), "x": self.path(), "o": self.thing()}
        found |= {"n": str(rng.randint(12, 90)), "m": str(rng.randint(91, 170)), "d": str(rng.randint(2, 9))}
        found |= {"c": f"{rng.choice(('HX', 'MR', 'AL'))}{rng.randint(201, 690)}", "r": self.request().rstrip(".?!, ")}
        found |= {"k": f"{rng.choice('KRTX')}{rng.randint(1, 8)}W", "hex": f"{rng.getrandbits(256):064x}"}
        letters = {"ops": "HARB", "game": "MOSS", "lab": "PLK", "rail": "TT"}[self.team]
        found |= {"t": f"{letters}-{rng.randint(100, 999)}", "u": f"{letters}-{rng.randint(1000, 1900)}"}
        day = start + timedelta(days=rng.randint(4, 90))
        found["day"] = rng.choice((f"{day:%Y-%m-%d}", f"{day.day}.{day.month}.", f"{day:%B} {day.day}"))
        return found

    def code(self, lines: int) -> str:
        """Make up lines of a file."""
        rng, words, rows = self.rng, (*_pool("stems"), *_pool(self.project)), _pool(f"{self.team}.code")
        made = []
        for _ in range(lines):
            slots = {name: rng.choice(words) for name in "abc"} | {"n": str(rng.randint(2, 240))}
            made.append("  " * rng.randint(0, 3) + Template(rng.choice(rows)).substitute(slots))
        return "\n".join(made)

    def log(self, lines: int) -> str:
        """Make up the output of a program."""
        rng, words = self.rng, (*_pool(self.project), *_pool("stems"))
        states = ("ok", "unchanged", "created", "warm", "seen", "dropped", "late", "pending")
        made = (
            f"{rng.choice(words)}-{rng.randint(1, 999)}  {rng.choice(states)} {rng.random():.3f}" for _ in range(lines)
        )
        return "\n".join(made)

    def lead(self) -> str:
        """Let the agent announce a call, now and then."""
        text = Template(self.pick("leads")).substitute(x=self.path(), o=self.thing())
        return text if self.rng.random() < 0.25 else ""

    def work(self, calls: int) -> None:
        """Do ordinary work."""
        for _ in range(calls):
            self._work_once()

    def _work_once(self) -> None:
        rng, path, lead, names = self.rng, self.path(), self.lead(), self.names()
        size = rng.choice((2, 5, 9, 16, 35, 80)) if rng.random() < 0.99 else rng.randint(400, 1500)
        kinds = ("read", "edit", "check", "search", "write", "history", "odd")
        match rng.choices(kinds, (25, 25, 21, 12, 6, 6, 5))[0]:
            case "read":
                self.call("read", self.code(size), text=lead, path=path)
            case "edit":
                self.edit(path, self.code(rng.randint(1, 5)), self.code(rng.randint(1, 7)), text=lead)
            case "check":
                command = Template(self.pick(f"{self.team}.checks").strip()).substitute(names)
                self.call("shell", self.log(min(size, 40)), text=lead, command=command)
            case "search":
                hits = (f"{self.path()}:{rng.randint(1, 500)}:{self.code(1)}" for _ in range(rng.randint(1, 11)))
                where = path.partition("/")[0]
                self.call("search", "\n".join(hits), text=lead, pattern=f"{names['p']}.{names['s']}", where=where)
            case "write":
                self.call("write", f"Wrote {path}", text=lead, path=path, body=self.code(min(size, 25)))
            case "history":
                text = "\n".join(f"{rng.getrandbits(28):07x} {self.pick('verbs')} {self.thing()}" for _ in range(5))
                self.call("shell", text, command=f"git log --oneline -{rng.randint(3, 9)} -- {path}")
            case _:
                missing = rng.choice(("No such file or directory", "Permission denied", "Is a directory"))
                self.call("shell", f"{path}.{names['s']}: {missing}", 1, command=f"wc -c {path}.{names['s']}")

    def task(self, calls: int) -> None:
        """Do one ordinary task: asked for, worked on and reported."""
        self.add("user", text=self.request())
        self.work(calls)
        if self.rng.random() < 0.9:
            self.add("say", text=Template(self.pick("done")).substitute(self.names()))

    def gap(self, mode: str, *, only: tuple[str, ...] = ("between", "late", "stop")) -> None:
        """Put between a beginning and its end what the mode asks for."""
        if mode not in only:
            return
        if mode == "between":
            self.work(self.rng.randint(1, 5))
        elif mode == "late":
            self.task(self.rng.randint(1, 4))
            self.now += timedelta(minutes=self.rng.randint(8, 160))
            self.task(self.rng.randint(2, 5))
        else:
            self.add("stop")
            self.add("user", text=self.rng.choice(("wait, first ", "stop. ", "one sec, ", "")) + self.request())
            self.work(self.rng.randint(2, 6))
            self.add("say", text=Template(self.pick("done")).substitute(self.names()))


def _row(name: str, k: int, names: dict[str, Any]) -> list[str]:
    """Row number `k` of a table, its slots filled, in its parts."""
    text = Template(T[name][k % len(T[name])]).substitute(names)
    return [part.strip() for part in text.split(" => ")]


def _correction(tale: Story, topic: str, k: int, mode: str) -> None:
    """Let the agent do it wrong, the person complain at once or much later, and the agent correct it."""
    names = tale.names()
    words = _row(f"{topic}.said", k, names)[0]
    bad, good = _row(f"{topic}.edit", k // 2, names)
    old = tale.code(1)
    if mode in ("plain", "cut") and k % 4 == 1:
        tale.add(
            "call", text=words, tool="edit", args={"path": names["x"], "old": old, "new": bad}, code=1, refused=True
        )
        if tale.recorder not in ("claude-code", "opencode", "cursor-stream"):
            tale.add("user", text=words)
        bad = old
    else:
        if k % 3:
            tale.edit(names["x"], old, f"{bad}\n{tale.code(1)}")
        else:
            tale.call("write", f"Wrote {names['x']}", path=names["x"], body=f"{tale.code(3)}\n{bad}\n{tale.code(2)}")
        tale.gap(mode, only=("late", "between"))
        tale.add("user", text=words, amid=mode == "between")
    tale.place(topic, words, whole=mode != "cut")
    if mode == "cut":
        raise EndOfSession
    tale.gap(mode, only=("stop",))
    tale.edit(names["x"], bad, good)
    tale.add("say", text=Template(tale.pick("corrected")).substitute(names))


def _other_form(tale: Story, topic: str, k: int, mode: str) -> None:
    """Let a command fail, perhaps in two forms, and another form of it work, at once or later."""
    names = tale.names()
    plain = _row(f"{topic}.plain", k, names)[0]
    rest = plain.partition(" ")[2].replace(f" stacks/{names['p']}", "")
    names |= {"cmd": plain, "rest": rest, "short": f"{plain.split()[0]} {rest}"}
    code, error = _row(f"{topic}.error", k // 2 + k, names)
    if plain.startswith("Rscript"):
        code, error = "1", "Error in library(planktools) : there is no package called 'planktools'"
    tale.call("shell", error, int(code), text=tale.lead(), command=plain)
    for extra in range((0, 1, 0, 2)[k % 4]):
        tale.gap(mode, only=("between",))
        tale.call("shell", error, int(code), command=_row("extra", k // 4 + extra, names)[0])
    if mode == "cut":
        tale.place(topic, plain, whole=False)
        raise EndOfSession
    tale.gap(mode)
    right = _row(f"{topic}.right", k + k // 4, names)[0]
    passed = _row(f"{topic}.passed", 0, names)[0]
    tale.call("shell", f"{tale.log(tale.rng.randint(1, 9))}\n{passed}", command=right)
    tale.place(topic, right)


def _look_up(tale: Story, topic: str, k: int, mode: str) -> None:
    """Let the agent read what it read in other sessions, and use it."""
    names, rng = tale.names(), tale.rng
    if rng.random() < 0.6:
        tale.add("user", text=names["r"])
        tale.work(rng.randint(0, 3))
    tool, target = _row(f"{topic}.look", k, names)
    key = {"shell": "command", "fetch": "url", "read": "path"}[tool]
    tale.add("call", tool=tool, output=EXPORT_HELP if topic == "export" else CODES, args={key: target})
    tale.place(topic, target.removeprefix("../timetable-svc/"), whole=mode != "cut")
    if mode == "cut":
        raise EndOfSession
    tale.gap(mode)
    if topic == "codes":
        tale.edit(tale.path(), tale.code(1), f"{names['s']} = platform({names['k']})")
    else:
        target = rng.choice(("build/handheld", f"out/{names['p']}", f"dist/{names['s']}-{names['d']}"))
        command = f"mosspack export --preset deck-slim --lang {rng.choice(('en', 'pt', 'ko'))} --stamp none {target}"
        tale.call("shell", tale.log(4), command=command)


def _long_search(tale: Story, topic: str, k: int, mode: str) -> None:
    """Let the agent search in many ways for what it found in other sessions."""
    names, rng, last = tale.names(), tale.rng, ""
    found, roots = T[f"{topic}.found"][0], T[f"{topic}.roots"]
    tale.add("user", text=_row(f"{topic}.said", k, names)[0])
    for number, word in enumerate(rng.sample(_pool(f"{topic}.hunts"), rng.randint(4, 7))):
        where, kind = rng.choice(roots), rng.choice(("search", "grep", "rg", "read", "git"))
        hits = "\n".join(f"{tale.path()}:{rng.randint(5, 300)}: {tale.code(1)}" for _ in range(rng.randint(0, 6)))
        if kind == "search" or number == 0:
            last = word
            tale.call("search", hits or "No matches found", pattern=word, where=where)
        elif kind == "read":
            tale.call("read", tale.code(20), path=tale.path())
        else:
            git = f"git log -S{word} --oneline -- {where}"
            last = git if kind == "git" else f"grep -rn {word} {where}" if kind == "grep" else f"rg -i {word} {where}"
            tale.call("shell", hits, 0 if hits else 1, command=last)
        if number == 2:
            tale.gap(mode)
    if mode == "cut":
        tale.place(topic, last, whole=False)
        raise EndOfSession
    folder = found.rpartition("/")[0]
    tale.call(
        "shell", "\n".join((f"{folder}/NOTES", found)), command=rng.choice((f"ls {folder}/*", f"find {folder} -type f"))
    )
    tale.call("read", "\n".join(f"{part}: {rng.randint(5, 99)}" for part in _pool(tale.project)), path=found)
    tale.place(topic, found)
    tale.add("say", text=rng.choice((f"It is {found}.", f"{found} sets it for all.", f"Found: {found}, {names['p']}.")))


def _instruction(tale: Story, topic: str, k: int, mode: str) -> None:
    """Let the person ask for something that they ask for in other sessions, and the agent do it in the end."""
    names, rng = tale.names(), tale.rng
    words = _row(f"{topic}.said", k, names)[0]
    tale.add("user", text=words, amid=mode == "between")
    tale.place(topic, words, whole=mode != "cut")
    tale.work(rng.randint(1, 5))
    if mode == "cut":
        raise EndOfSession
    tale.gap(mode)
    if topic == "methods":
        new = f"{names['p'].capitalize()} were kept above {names['n']} um ({names['s']}, cruise {names['c']})."
        tale.edit("METHODS.md", f"## {names['p']}", f"## {names['p']}\n\n{new}")
        tale.add("say", text=rng.choice(("It is written down.", f"Noted below {names['p']}.", new)))
        return
    tale.call("shell", tale.log(5), command=f"./gradlew :api:writeWire -Ponly={names['p']}")
    changed = [f"snapshots/wire/{names['p']}-{stem}.json" for stem in rng.sample(_pool("stems"), rng.randint(1, 4))]
    tale.call("shell", "\n".join(f" M {path}" for path in changed), command="git status --short snapshots/wire")
    tale.add("say", text="Changed:\n" + "\n".join(f"- {path}" for path in changed))


def _flaky(tale: Story, topic: str, k: int, mode: str) -> None:
    """Let a command fail, and the same command pass later; only for red and green because of an edit."""
    names, edited = tale.names(), topic == "redgreen"
    command, failed, passed = _row(f"{topic}.{tale.team if edited else 'run'}", k, names)
    for again in range(1 + (k % 3 == 0)):
        if edited:
            tale.edit(names["x"], tale.code(1), tale.code(2 + again))
        tale.call("shell", failed, 1, command=command)
    tale.gap(mode, only=("between", "late"))
    if edited:
        tale.edit(names["x"], tale.code(1), tale.code(2))
    tale.call("shell", passed, command=command)
    tale.place(topic, command)


def _hosts(tale: Story, topic: str, k: int, mode: str) -> None:
    """Let a command fail on a host or password that the person replaces by one that is used once."""
    names = tale.names()
    command, failed = _row(f"{topic}.run", k, names)
    words = _row(f"{topic}.said", k, names)[0]
    tale.call("shell", failed, 2, command=command)
    tale.gap(mode, only=("late",))
    tale.add("user", text=words)
    tale.call("shell", tale.log(2), command=command.replace(f"-{names['n']}.", f"-{names['m']}."))
    tale.place(topic, command)
    tale.place(topic, words)


def _typed(tale: Story, topic: str, k: int, mode: str) -> None:
    """Let the person type something of which only the values, or the opposite, come again."""
    table = f"{topic}.said" if f"{topic}.said" in T else f"{topic}.{('one', 'two')[k // 3 % 2]}"
    words = _row(table, k, tale.names())[0]
    tale.work(tale.rng.randint(1, 3))
    tale.add("user", text=words, amid=mode == "between")
    tale.place(topic, words)
    tale.work(tale.rng.randint(1, 3))


TELLERS: dict[str, Callable[[Story, str, int, str], None]] = {"correction": _correction, "failed command": _other_form}
TELLERS |= {"look-up": _look_up, "long search": _long_search, "instruction": _instruction, "flaky test": _flaky}
TELLERS |= {"busy queue": _flaky, "changing hosts": _hosts, "red and green": _flaky}


@dataclass(frozen=True, slots=True)
class Spec:
    """One habit or decoy before it is told."""

    id: str
    count: int
    teams: tuple[str, ...]
    first: int
    last: int
    """Days between which it occurs, counted from the first day."""
    kind: str
    words: tuple[str, ...]
    description: str
    need: int = 1


def _specs(name: str) -> Iterator[Spec]:
    for about, description in zip(T[name][::2], T[name][1::2], strict=True):
        topic, count, teams, days, kind, words = about.split(" => ")
        first, last = map(int, days.split("-"))
        about_words = (kind, tuple(words.split(",")), description)
        yield Spec(topic, int(count), tuple(teams.split()), first, last, *about_words)


HABITS, DECOYS = tuple(_specs("habits")), tuple(_specs("decoys"))


@dataclass(slots=True)
class _Slot:
    """A session before it is told."""

    number: int
    project: str
    recorder: str
    start: datetime
    habitual: bool = False
    items: list[tuple[Spec, int, str]] = field(default_factory=list)


def _slots(rng: Random) -> list[_Slot]:
    recorders = [name for name, count in FORMATS.items() for _ in range(count)]
    projects = [name for name, count in PROJECTS.items() for _ in range(count)]
    rng.shuffle(recorders)
    rng.shuffle(projects)
    starts: list[datetime] = []
    while len(starts) < len(projects):
        day = FIRST_DAY + timedelta(days=rng.randrange(DAYS))
        if day.weekday() < 5 or rng.random() < 0.08:
            starts.append(day + timedelta(minutes=rng.randint(6 * 60, 17 * 60), seconds=rng.randrange(60)))
    rows = enumerate(zip(sorted(starts), projects, recorders, strict=True))
    slots = [_Slot(number, project, recorder, start) for number, (start, project, recorder) in rows]
    for team in dict.fromkeys(TEAMS.values()):
        own = [slot for slot in slots if TEAMS[slot.project] == team]
        for slot in rng.sample(own, round(len(own) * WITH_HABITS)):
            slot.habitual = True
    return slots


def _assign(slots: list[_Slot], rng: Random) -> None:
    """Give each habit and each decoy its sessions, in half of which it is interrupted or comes late."""
    for spec in (*HABITS, *DECOYS):
        fits = [slot for slot in slots if TEAMS[slot.project] in spec.teams and (slot.habitual or spec in DECOYS)]
        fits = [slot for slot in fits if spec.first <= (slot.start - FIRST_DAY).days < spec.last]
        chosen = sorted(fits, key=lambda slot: (len(slot.items) > 2, len(slot.items) > 1, rng.random()))[: spec.count]
        chosen.sort(key=lambda slot: slot.number)
        order = list(range(len(chosen)))
        modes = [MODES[k % len(MODES)] for k in order]
        rng.shuffle(modes)
        if spec.kind != "contradiction":
            rng.shuffle(order)
        for slot, k, mode in zip(chosen, order, modes, strict=True):
            if mode == "cut" and (spec in DECOYS or any(other == "cut" for _, _, other in slot.items)):
                mode = "late"
            slot.items.append((spec, k, mode))


def _told(slot: _Slot) -> Story:
    """Tell one session: what it was given, with ordinary tasks before, between and after."""
    rng = Random(f"{SEED}-{slot.number}")
    tale = Story(rng, slot.project, TEAMS[slot.project], f"/home/dev/{slot.project}", slot.recorder, slot.start)
    tale.focus = tuple(rng.sample(_pool(slot.project), 3))
    tale.task(rng.randint(1, 7))
    try:
        for spec, k, mode in sorted(slot.items, key=lambda item: (item[2] == "cut", rng.random())):
            for _ in range(rng.choice((0, 1, 1, 2))):
                tale.task(rng.randint(1, 5))
            tale.add("user", text=tale.request())
            tale.work(rng.randint(1, 4))
            TELLERS.get(spec.kind, _typed)(tale, spec.id, k, mode)
            tale.work(rng.choice((0, 0, 1, 2)))
        for _ in range(rng.choice((0, 1, 1, 2, 4))):
            tale.task(rng.randint(1, 6))
        if rng.random() < 0.1:
            tale.add("user", text=tale.request())
    except EndOfSession:
        pass
    return tale


def write(folder: Path) -> Plan:
    """Write all sessions below a folder, and return what is in them."""
    rng = Random(SEED)
    slots = _slots(rng)
    _assign(slots, rng)
    return write_tales(folder, SEED, slots, _told, habits=HABITS, decoys=DECOYS, formats=FORMATS)

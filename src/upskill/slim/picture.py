"""What was found of a skill's lines: as a picture in the terminal and on a page, and as one JSON object."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from markupsafe import Markup
from rich.console import Console
from rich.text import Text

from upskill.core.nouns.text import MINUS, count, points, points_range, shortened
from upskill.report.console import print_lines
from upskill.report.html.shell import plain, shell
from upskill.report.wording import drawn_bar
from upskill.slim.proof import MARGIN, Proof, short_name
from upskill.slim.slim import SlimResult, SlimText, State, UnitFinding, Verdict

_STYLES: dict[State, str] = {"needed": "bright_blue", "needless": "dim", "untested": "dark_orange", "pinned": "bold"}
_TONES: dict[State, str] = {"needed": "added", "needless": "place", "untested": "removed", "pinned": "file"}
"""Classes of the style sheet: blue, grey, orange, bold."""
_MEANINGS: dict[State, str] = {
    "needed": "a practice case needs it",
    "needless": "practice cases on its subject do without it",
    "untested": "no practice case is on its subject",
    "pinned": "the author keeps it",
}
_COLUMNS = "   line   how likely a case needs it state    text (- is cut)"
_SENTENCES: dict[Verdict, str] = {
    "replaced": "SKILL.md was replaced",
    "proven": "a slim text for each model is proven",
    "not shown": f"not replaced: not shown to be non-inferior within {MARGIN * 100:.0f} points",
    "changed meanwhile": "not replaced: SKILL.md was changed while slim ran",
    "nothing to cut": "nothing to cut: every line is needed, untested or pinned",
    "explained": "lines were weighed, and nothing was cut",
    "stopped": "stopped early, by a cap or because no answers came; the same command goes on",
}


def slim_json(result: SlimResult) -> dict[str, Any]:
    """The one object of `upskill slim --json`. Keys are a promise: added, never changed."""
    return {"schema": "upskill.slim/1", "sentence": sentence(result), "margin": MARGIN, **asdict(result)}


def sentence(result: SlimResult) -> str:
    """What came out, in one line."""
    cut = "".join(f"; ~{text.tokens_before:,} to ~{text.tokens_after:,} tokens" for text in result.texts if text.file)
    return f"{result.skill}: {_SENTENCES[result.verdict]}{cut}"


def show_slimming(result: SlimResult, console: Console) -> None:
    """The picture, what sections are worth, and the proof."""
    for text in result.texts:
        console.print(Text(_COLUMNS))
        for unit in text.units:
            if unit.kind != "rule":
                console.print(_line(unit, console), soft_wrap=True)
        console.print()
    print_lines(map(Text, (*_sections(result), *_figures(result), sentence(result))), console)


def _where(unit: UnitFinding, dash: str) -> str:
    first, last = unit.lines
    return f"{first}" if first == last else f"{first}{dash}{last}"


def _line(unit: UnitFinding, console: Console) -> Text:
    """One unit on one row: its lines, whether it goes, its weight, its state, its words."""
    bar = drawn_bar(unit.weight, console)
    weight = " " * len(bar) if unit.weight is None else bar
    state = "" if unit.state == "structure" else unit.state
    head = f"{_where(unit, '-'):>7} {' ' if unit.kept else '-'} {weight} {state:<8} "
    return Text(head + shortened(unit.text, max(12, console.width - len(head))), style=_STYLES.get(unit.state, ""))


def _sections(result: SlimResult) -> Iterator[str]:
    for search in result.searches:
        if search.sections:
            yield f"what sections are worth with {short_name(search.model)}, in points (95% CI):"
        width = max((len(heading) for heading, _, _ in search.sections), default=0)
        for heading, worth, interval in search.sections:
            yield f"  {shortened(heading, 40):<{min(width, 40)}}  {points(worth):>4} ({points_range(*interval)})"


def _figures(result: SlimResult) -> Iterator[str]:
    for search in result.searches:
        yield (
            f"{short_name(search.model)}: {count(search.answers, 'answer')}; {search.telling} of {result.cases[0]} "
            f"practice cases tell lines apart; passes {search.with_all:.0%} with the lines a case needs, "
            f"{search.without:.0%} without"
        )
    for text in result.texts:
        for state, meaning in _MEANINGS.items():
            if number := sum(unit.state == state for unit in text.units):
                yield f"{count(number, 'line')} {state}: {meaning}"
        for proof in text.proofs:
            yield f"held-out cases, {short_name(proof.model)}: {_proof_words(proof)}"


def _proof_words(proof: Proof) -> str:
    """With a decimal: an end that is rounded could seem to lie on the margin."""
    ends = [f"{100 * end:+.1f}".replace("-", MINUS) for end in (proof.difference, *proof.interval)]
    counted = f"{count(proof.cases, 'case')}, {count(proof.answers, 'answer')}"
    return f"slim is {proof.verdict}: {ends[0]} points ({ends[1]} to {ends[2]}), {counted}"


def slim_page(result: SlimResult) -> str:
    """The whole page. Its style and its frame are those of every page."""
    models = ", ".join(short_name(search.model) for search in result.searches)
    body = Markup('<header><p class="line"><span>{}</span><span>slim</span></p><h1>{}</h1></header><main>').format(
        plain(models), plain(sentence(result))
    )
    body += _listed(_figures(result)) + _joined(_lines_card(text) for text in result.texts)
    body += Markup('<section class="card"><h2>Sections</h2>{}</section>').format(_listed(_sections(result)))
    foot = Markup("</main><footer><p>Made by upskill. Works offline, sends nothing.</p></footer>")
    return shell(f"{result.skill}, slim", body + foot, script=False)


def _listed(lines: Iterator[str]) -> Markup:
    return Markup("<ul>{}</ul>").format(_joined(Markup("<li>{}</li>").format(plain(line.strip())) for line in lines))


def _joined(parts: Iterator[Markup]) -> Markup:
    return Markup("").join(parts)


def _lines_card(text: SlimText) -> Markup:
    rows = _joined(_row(unit) for unit in text.units if unit.kind != "rule")
    title = Markup('<h2>Lines <span class="muted">{}</span></h2>').format(
        plain(", ".join(map(short_name, text.models)))
    )
    return Markup('<section class="card">{}<div class="diff">{}</div></section>').format(title, rows)


def _row(unit: UnitFinding) -> Markup:
    """The facts in one line, the text below it; struck out where it is cut."""
    facts = [_where(unit, "–"), *([] if unit.state == "structure" else [unit.state]), *([] if unit.kept else ["cut"])]
    if unit.weight is not None:
        filled = round(10 * unit.weight)
        facts.append(f"{'█' * filled}{'░' * (10 - filled)} {unit.weight:.0%}")
    if unit.needed_by:
        facts.append(f"needed by {', '.join(unit.needed_by[:3])}{' …' * (len(unit.needed_by) > 3)}")
    tag = Markup("<span><code>{}</code></span>" if unit.kept else "<span><s><code>{}</code></s></span>")
    lines = _joined(tag.format(plain(line).replace("  ", "\u00a0\u00a0")) for line in unit.text.split("\n"))
    return Markup('<span class="{}"><small class="muted">{}</small>{}</span>').format(
        _TONES.get(unit.state, ""), plain(" · ".join(facts)), lines
    )

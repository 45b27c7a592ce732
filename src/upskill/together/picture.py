"""What skills do to each other: as a matrix in the terminal and on a page, in sentences, and as one JSON object."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from markupsafe import Markup
from rich.console import Console
from rich.text import Text

from upskill.core.nouns.text import count, points, points_range, shortened
from upskill.core.statistics.interference import Effect, EffectVerdict
from upskill.lint.lint_skill import shared_words
from upskill.report.console import print_lines, show_table
from upskill.report.html.shell import plain, shell
from upskill.report.wording import dollars, names_by_model
from upskill.together.together import PairEffect, SkillRates, TogetherResult

SCHEMA = "upskill.together/1"
_STYLES: Mapping[EffectVerdict, str] = {"costs": "dark_orange", "helps": "bright_blue"}
_TONES: Mapping[EffectVerdict, str] = {"costs": "removed", "helps": "added"}
"""Classes of the style sheet: orange and blue."""
_MOST_WORDS = 12


def together_json(result: TogetherResult) -> dict[str, Any]:
    """The one object of `upskill eval --together --json`. Keys are a promise: added, never changed."""
    return {
        "schema": SCHEMA,
        "sentence": sentence(result),
        "skills": [
            {"name": name, "digest": result.digests[name], "description": text}
            for name, text in result.descriptions.items()
        ],
        "models": list(result.models),
        "confidence": round(result.confidence, 6),
        "rates": [asdict(one) for one in result.rates],
        "effects": [
            {
                "model": one.model,
                "skill": one.skill,
                "other": one.other or None,
                "lift": _effect_json(one.lift),
                "loads": _effect_json(one.loads),
            }
            for one in result.effects
        ],
        "bought": asdict(result.bought),
        "interrupted": result.interrupted,
        "stopped": result.stopped,
        "run": result.run,
        "notes": list(result.notes),
    }


def _effect_json(effect: Effect | None) -> dict[str, Any] | None:
    if effect is None:
        return None
    ends = effect.interval
    return {
        "mean": effect.mean,
        "interval": None if ends is None else [ends.low, ends.high],
        "verdict": effect.verdict,
        "cases": effect.cases,
    }


def sentence(result: TogetherResult) -> str:
    """What came out, in one line."""
    pairs = [one for one in result.effects if one.other]
    said = [f"{one.other} {one.deciding.verdict} {one.skill}" for one in pairs if one.deciding.verdict in _STYLES]
    unclear = sum(one.deciding.verdict == "undecided" for one in pairs)
    if not pairs:
        return f"{count(len(result.descriptions), 'skill')} together: nothing was measured"
    told = "; ".join(dict.fromkeys(said)) if said else "no skill was shown to change another"
    return f"{told} ({unclear} of {count(len(pairs), 'pair')} undecided)"


def lines_of(result: TogetherResult) -> Iterator[str]:
    """What each decided pair means, and what to change; then what it rests on."""
    names = names_by_model(result.models)
    for one in result.effects:
        if one.deciding.verdict not in _STYLES:
            continue
        on = f" on {names[one.model]}" if len(result.models) > 1 else ""
        what = one.other or "all others together"
        told = ((one.lift, "of its pass rate"), (one.loads, "of its loads"))
        figures = "; ".join(_words(effect, of) for effect, of in told if effect is not None)
        yield f"{one.skill}{on} with {what} beside it: {figures}"
        if one.other and one.deciding.verdict == "costs":
            yield from (f"  {line}" for line in _what_to_change(one, result))
    for row in result.rates:
        if row.withheld:
            yield (
                f"{row.skill}: no effect is told, {row.dropped} of its cases and repeats have no answer in every set; "
                "the same command asks for them again"
            )
    yield (
        f"each interval holds at {result.confidence:.2%}, so that all {len(result.effects)} together hold at 95%; a "
        "pair is averaged over the sets of the other skills"
    )


def _words(effect: Effect, what: str) -> str:
    ends = "too few cases" if effect.interval is None else points_range(effect.interval.low, effect.interval.high)
    return f"{points(effect.mean)} points {what} ({ends})"


def _what_to_change(one: PairEffect, result: TogetherResult) -> Iterator[str]:
    """What a person can do about a pair. Where skills are given, descriptions decide nothing."""
    mine, other = result.descriptions[one.skill], result.descriptions[one.other]
    if one.loads is None:
        yield "both texts are read at once: see what each says of the same thing, and say in each when it does not hold"
        return
    if one.loads.verdict != "costs":
        yield "it is loaded as often as before: the two texts contradict each other, or the second is read in its place"
        return
    shared = shared_words(mine, other)[:_MOST_WORDS]
    said = f"both descriptions say: {', '.join(shared)}" if shared else "the descriptions share no rare word"
    yield f"{said}; say in each what the other is for"
    width = max(len(one.skill), len(one.other))
    yield f"{one.skill:<{width}}  {shortened(mine, 300)}"
    yield f"{one.other:<{width}}  {shortened(other, 300)}"


def show_together(result: TogetherResult, console: Console) -> None:
    """The matrix of each model, then what it means."""
    names = names_by_model(result.models)
    skills = list(result.descriptions)
    wide = console.width >= 60 + 24 * len(skills)
    for model in result.models:
        if len(result.models) > 1:
            console.print(Text(f"{names[model]}:"))
        heads = (_asked(result), "alone", "together", *(f"+ {number}" for number in range(1, len(skills) + 1)))
        rows = [
            [
                Text(f"{number} {row.skill}"),
                *map(Text, _shares(row)),
                *(_cell(one, wide=wide) for one in _row(result, model, row.skill, skills)),
            ]
            for number, row in enumerate((one for one in result.rates if one.model == model), 1)
        ]
        show_table(heads, rows, console, right=range(1, len(heads)))
    bought = result.bought
    cached = f", {count(bought.reused, 'answer')} from the cache" if bought.reused else ""
    spent = f"spent: {dollars(bought.cost)}, {count(bought.calls, 'call')}{cached}"
    print_lines([Text(), *map(Text, lines_of(result)), Text(spent), Text(sentence(result), style="bold")], console)


def _asked(result: TogetherResult) -> str:
    return "cases of" if any(one.lift for one in result.effects) else "prompts of"


def _row(result: TogetherResult, model: str, skill: str, skills: Sequence[str]) -> list[PairEffect | None]:
    found = {one.other: one for one in result.effects if one.model == model and one.skill == skill}
    return [found.get(other) for other in skills]


def _shares(row: SkillRates) -> list[str]:
    shares = (row.loaded_alone, row.loaded_together) if row.alone is None else (row.alone, row.together)
    return ["-" if one is None else f"{one:.0%}" for one in shares]


def _cell(one: PairEffect | None, *, wide: bool) -> Text:
    """The effect in points; a question mark where it is undecided."""
    if one is None:
        return Text("·", style="dim")
    shown, verdict = one.lift or one.deciding, one.deciding.verdict
    said = points(shown.mean)
    if wide and shown.interval is not None:
        said += f" ({points_range(shown.interval.low, shown.interval.high)})"
    return Text(f"{said}?" if verdict == "undecided" else said, style=_STYLES.get(verdict, "dim"))


def together_page(result: TogetherResult) -> str:
    """The whole page. Its style and its frame are those of every page."""
    names = names_by_model(result.models)
    body = Markup('<header><p class="line"><span>{}</span><span>together</span></p><h1>{}</h1></header><main>').format(
        plain(", ".join(names.values())), plain(sentence(result))
    )
    for model in result.models:
        body += Markup('<section class="card"><h2>{}</h2><div class="scrolls diff">{}</div></section>').format(
            plain(names[model]), _matrix(result, model)
        )
    told = Markup("").join(Markup("<li>{}</li>").format(plain(line.strip())) for line in lines_of(result))
    notes = Markup("").join(Markup("<li>{}</li>").format(plain(note)) for note in result.notes)
    body += Markup('<section class="card"><h2>What to change</h2><ul>{}</ul></section>').format(told)
    if notes:
        body += Markup('<section class="card"><h2>Notes</h2><ul>{}</ul></section>').format(notes)
    foot = Markup("</main><footer><p>Made by upskill. Works offline, sends nothing.</p></footer>")
    return shell(" + ".join(result.descriptions), body + foot, script=False)


def _matrix(result: TogetherResult, model: str) -> Markup:
    """A row for each skill whose cases were asked, a column for each skill that was beside it."""
    skills = list(result.descriptions)
    titles = (_asked(result), "alone", "together", *(f"with {name}" for name in skills))
    head = Markup("").join(Markup("<th>{}</th>").format(plain(title)) for title in titles)
    rows = Markup("")
    for row in (one for one in result.rates if one.model == model):
        cells = Markup("").join(map(_page_cell, _row(result, model, row.skill, skills)))
        shares = Markup("").join(Markup("<td>{}</td>").format(plain(one)) for one in _shares(row))
        rows += Markup("<tr><th>{}</th>{}{}</tr>").format(plain(row.skill), shares, cells)
    caption = "points of the pass rate, with intervals; below them, of the loads"
    return Markup("<table><caption>{}</caption><thead><tr>{}</tr></thead><tbody>{}</tbody></table>").format(
        plain(caption), head, rows
    )


def _page_cell(one: PairEffect | None) -> Markup:
    if one is None:
        return Markup("<td></td>")
    lines = Markup("<br>").join(
        Markup('<span class="{}"><b>{}</b> <small>{}<br>{}</small></span>').format(
            _TONES.get(effect.verdict, ""),
            plain(points(effect.mean)),
            plain("" if effect.interval is None else f"({points_range(effect.interval.low, effect.interval.high)})"),
            plain(effect.verdict),
        )
        for effect in (one.lift, one.loads)
        if effect is not None
    )
    return Markup("<td>{}</td>").format(lines)

"""The dumbbell as SVG: well-formed whatever it shows, and what is not clear looks so."""

import re
from xml.etree import ElementTree

import pytest

from report.unit.evaluations import EVALUATIONS
from report.unit.glance.results import (
    ALONE,
    EVERYTHING,
    FOUR,
    HELPED,
    LOST,
    OPEN,
    SAME,
    STRANGERS,
    WORSE,
    found,
    student,
)
from upskill.core.nouns import Evaluation
from upskill.report.dumbbell import dumbbell_css, svg
from upskill.report.glance import glance, glance_of_nothing

ALL = {**EVALUATIONS, "four": FOUR, "strangers": STRANGERS, "everything": EVERYTHING}


def drawings(evaluation: Evaluation, *, standalone: bool = False) -> list[ElementTree.Element]:
    text = svg(glance(evaluation), standalone=standalone)
    return list(ElementTree.fromstring(f"<all>{text}</all>"))


def classes(element: ElementTree.Element) -> list[str]:
    return [str(one.get("class")) for one in element.iter() if one.get("class")]


@pytest.mark.parametrize("name", ALL)
def test_every_drawing_is_well_formed_and_only_draws(name: str) -> None:
    for standalone in (False, True):
        for drawing in drawings(ALL[name], standalone=standalone):
            tags = {one.tag.rpartition("}")[2] for one in drawing.iter()}
            assert tags <= {"svg", "style", "defs", "pattern", "path", "rect", "circle", "g", "text", "title"}
            assert not [key for one in drawing.iter() for key in one.attrib if key.startswith("on") or "href" in key]
            assert drawing.get("role") == "img"
            assert drawing.get("aria-label") == " ".join(glance(ALL[name]).sentences)


def test_a_page_has_a_wide_and_a_narrow_drawing_and_no_style_of_its_own() -> None:
    wide, narrow = drawings(FOUR)
    assert (wide.get("class"), narrow.get("class")) == ("dumbbell wide", "dumbbell narrow")
    assert "<style" not in svg(glance(FOUR), standalone=False)
    assert "@media (max-width:44rem)" in dumbbell_css()


def test_alone_it_has_its_own_colours_light_and_dark() -> None:
    text = svg(glance(FOUR), standalone=True)
    used = set(re.findall(r"var\(--([a-z]+)\)", text)) - {"tone"}
    light, dark = re.findall(r":root\{([^}]*)\}", text)
    assert used <= set(re.findall(r"--([a-z]+):#", light))
    assert set(re.findall(r"--([a-z]+):#", light)) == set(re.findall(r"--([a-z]+):#", dark))
    assert "prefers-color-scheme:dark" in text
    assert 'xmlns="http://www.w3.org/2000/svg"' in text


def test_a_row_is_a_hollow_dot_a_line_and_a_filled_dot_beside_the_interval_of_its_lift() -> None:
    wide = drawings(found(HELPED))[0]
    row = next(one for one in wide if one.get("class") == "good")
    ring, dot, line, shade = (
        next(one for one in row if one.get("class") == kind) for kind in ("ring", "dot", "line", "range")
    )
    assert line.get("d") == f"M{ring.get('cx')} {ring.get('cy')}H{dot.get('cx')}"
    assert float(str(ring.get("cx"))) < float(str(dot.get("cx")))
    start, end = float(str(shade.get("x"))), float(str(shade.get("x"))) + float(str(shade.get("width")))
    mean = next(one for one in row if one.get("class") == "mean")
    assert start < float(str(mean.get("d")).removeprefix("M").split()[0]) < end
    assert start > float(str(dot.get("cx"))), "the lift has an axis of its own"


def test_what_hurts_goes_the_other_way() -> None:
    row = next(one for one in drawings(found(WORSE))[0] if one.get("class") == "bad")
    ring, dot = (next(one for one in row if one.get("class") == kind) for kind in ("ring", "dot"))
    assert float(str(ring.get("cx"))) > float(str(dot.get("cx")))


def test_undecided_is_dashed_and_grey_and_no_verdict_is_hatched_without_dots() -> None:
    assert ".unsure .line{stroke-dasharray" in dumbbell_css()
    assert next(one.get("class") for one in drawings(found(OPEN))[0] if one.tag == "g") == "unsure"
    row = next(one for one in drawings(found(LOST))[0] if one.tag == "g")
    assert row.get("class") == "unsure"
    assert "none" in classes(row)
    assert not {"dot", "ring", "line", "range"} & set(classes(row))
    alone = next(one for one in drawings(found(ALONE))[0] if one.tag == "g")
    assert "dot" in classes(alone)
    assert "ring" not in classes(alone)


def test_dots_that_meet_stay_two_dots() -> None:
    row = next(one for one in drawings(found(SAME))[0] if one.tag == "g")
    radii = {str(one.get("class")): float(str(one.get("r"))) for one in row if one.get("r")}
    assert radii["ring"] > radii["dot"] + 2


def test_words_and_figures_stand_beside_the_dots() -> None:
    for drawing in drawings(FOUR):
        texts = [one.text for one in drawing.iter("text")]
        for said in ("SmolLM2", "0% → 89%", "+89 (+35 to +100)", "▲ helps", "▼ hurts", "on these 12 cases"):
            assert said in texts
        titles = [one.text for one in drawing.iter("title")]
        said = "SmolLM2: helps; 0% → 89%; +89 (+35 to +100); the pale band is"
        assert any((title or "").startswith(said) for title in titles)


def test_without_a_verdict_there_is_neither_a_key_nor_a_column_of_figures() -> None:
    drawn = svg(glance(found(LOST)), standalone=False)
    for words in ("pass rate", "lift (", "without the skill", "95% CI"):
        assert f">{words}" not in drawn
    assert drawn.count("no verdict</text>") == 2


def test_the_key_is_whole_on_a_narrow_screen_too() -> None:
    drawn = svg(glance(FOUR), standalone=False)
    for words in (
        "without the skill",
        "with the skill",
        "95% CI of the lift",
        "not clear",
    ):
        assert drawn.count(f">{words}</text>") == 2


def test_another_confidence_is_said_once_where_all_rows_have_it_and_by_each_row_otherwise() -> None:
    strict = student("strict", 0.1, 0.9, "helps", (0.2, 0.9), confidence=0.995)
    alone = svg(glance(found(strict)), standalone=True)
    assert "lift (99.5% CI)" in alone
    assert ">99.5% CI</text>" not in alone
    both = svg(glance(found(strict, HELPED)), standalone=True)
    assert "lift (CI)" in both
    assert ">99.5% CI</text>" in both
    assert ">95% CI</text>" in both


def test_nothing_measured_is_nothing_drawn() -> None:
    assert svg(glance_of_nothing("x", "Saved.", None), standalone=False) == ""

"""Which pictures a result has. One without anything to show is left out."""

from collections.abc import Sequence

from upskill.domain import Evaluation
from upskill.reporting.pictures.cases import cases_picture
from upskill.reporting.pictures.cost import cost_picture
from upskill.reporting.pictures.lift import lift_picture
from upskill.reporting.pictures.path import path_picture
from upskill.reporting.pictures.picture import Picture, StudentPath, TokenRatio
from upskill.reporting.pictures.sufficient import ENOUGH
from upskill.reporting.pictures.tokens import tokens_picture


def asked_pictures(
    evaluation: Evaluation,
    *,
    paths: Sequence[StudentPath] = (),
    ratios: Sequence[TokenRatio] = (),
    enough: float = ENOUGH,
) -> tuple[Picture, ...]:
    """In the order in which they are looked at."""
    pictures = (
        lift_picture(evaluation),
        cost_picture(evaluation.students, enough=enough),
        tokens_picture(evaluation.students, ratios),
        path_picture(evaluation, paths),
        cases_picture(evaluation),
    )
    return tuple(picture for picture in pictures if picture is not None)

"""Pictures as files, and the history of a skill over its versions, which is one of them."""

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from upskill import storage
from upskill.errors import EngineError, UpskillError, UsageError
from upskill.reporting.pictures import Drawer, DrawnPicture, Picture, PictureFailed, Version
from upskill.reporting.pictures.palette import DARK, LIGHT, darkened, on_paper
from upskill.reporting.read_evaluation import UnreadableResult
from upskill.storage import RunRecord
from upskill.workflows.evaluating.report import recorded_evaluation

NEEDED = {"altair": "altair", "vl_convert": "vl-convert-python"}
"""The modules that draw, and the packages of the extra `plots` that bring them."""


def draw_all(pictures: Sequence[Picture]) -> dict[str, DrawnPicture]:
    """Draw every picture as SVG and PNG. Raises `EngineError`."""
    if missing := [package for module, package in NEEDED.items() if find_spec(module) is None]:
        raise EngineError(f"--plots needs {' and '.join(missing)}", hint=f"python -m pip install {' '.join(missing)}")
    try:
        with Drawer() as drawer:
            return dict(drawer.draw(pictures, png=True))
    except PictureFailed as error:
        raise EngineError(f"the pictures could not be drawn: {error}") from None


def write_plots(drawn: dict[str, DrawnPicture], folder: Path) -> list[Path]:
    """Write `NAME.svg`, `NAME-dark.svg` and `NAME.png` of each; returns their paths."""
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, picture in drawn.items():
            light, dark = folder / f"{name}.svg", folder / f"{name}-dark.svg"
            light.write_text(on_paper(picture.wide, LIGHT["paper"]), encoding="utf-8")
            dark.write_text(on_paper(darkened(picture.wide), DARK["paper"]), encoding="utf-8")
            written += [light, dark]
            if picture.png is not None:
                image = folder / f"{name}.png"
                image.write_bytes(picture.png)
                written.append(image)
    except OSError as error:
        raise EngineError(f"{folder}: pictures cannot be written here ({error.strerror})") from None
    return written


def read_history(skill: str, runs_dir: Path) -> tuple[Version, ...]:
    """What finished runs measured of a skill, oldest first. Runs that cannot be read are skipped."""
    found: list[Version] = []
    names: set[str] = set()
    for past in storage.past_runs(runs_dir):
        folder = Path(past.folder)
        try:
            run = storage.evaluation_in(folder)
            record = storage.read_run(run)
        except UpskillError:
            continue  # somebody's damaged run is no reason to stop; `upskill runs` names it
        names.add(record.skill_name)
        if record.skill_name == skill:
            found = [*_versions(run, record, name=folder.name), *found]
    if not found:
        known = f"runs are there of {', '.join(sorted(names)[:5])}" if names else "there are no runs"
        raise UsageError(f"{skill}: no run in {runs_dir} measured its lift", hint=f"{known}; see `upskill runs`")
    return tuple(found)


def _versions(run: Path, record: RunRecord, *, name: str) -> Iterator[Version]:
    try:
        evaluation = recorded_evaluation(run, record, name=name)
    except UnreadableResult:
        return
    if evaluation is None:
        return
    for report in evaluation.students:
        if not report.lifts or report.lifts[0].against != "baseline":
            continue
        lift = report.lifts[0]
        interval = report.interval or lift.these_cases
        yield Version(
            day=record.started_at[:10],
            digest=record.skill_digest,
            run=name,
            student=report.student.name,
            before=report.rate(lift.against),
            after=report.rate(lift.arm),
            lift=lift.mean,
            interval=interval,
            pairs=lift.pairs,
            verdict=report.verdict,
        )

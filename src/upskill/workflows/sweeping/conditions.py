"""The conditions of a sweep, apart from its skills: models as they are served, and what is the same for all."""

import hashlib
from collections.abc import Collection, Iterable, Mapping
from importlib.metadata import version
from pathlib import Path

from upskill import trials
from upskill.domain.digest import digest_of
from upskill.domain.harness import choose_harness
from upskill.domain.sweep import PlannedStudent
from upskill.errors import UsageError
from upskill.models import Endpoint, ServedModel
from upskill.models.endpoint import untyped_lines
from upskill.settings import Settings
from upskill.workflows.evaluating.judge import judge_endpoint
from upskill.workflows.models import student_endpoint
from upskill.workflows.sweeping.manifest import Manifest


def sweep_endpoints(students: Collection[str], settings: Settings) -> tuple[dict[str, Endpoint], tuple[str, ...]]:
    """Where the models of a sweep are asked, and a line for every server and alias that nobody typed.

    Raises `UsageError` for a script outside the working folder: a manifest, or a plan, may be a stranger's, and what
    cannot be read as a script would be quoted.
    """
    endpoints = {name: student_endpoint(name, settings) for name in students}
    judge = judge_endpoint(settings, endpoints)
    judges = [] if judge is None or judge.name in endpoints else [judge]
    for one in (*endpoints.values(), *judges):
        if one.is_scripted and not _script_of(one).resolve().is_relative_to(Path.cwd().resolve()):
            raise UsageError(
                f"{one.name}: the script {_script_of(one)} is outside the working folder",
                hint="copy the script here, if you know what it is; scripts of a sweep are in the working folder",
            )
    return endpoints, (*untyped_lines("models are", endpoints.values()), *untyped_lines("the judge is", judges))


def planned_student(endpoint: Endpoint, served: ServedModel) -> PlannedStudent:
    """A model as it was found."""
    return PlannedStudent(
        name=endpoint.name,
        model=endpoint.model,
        endpoint=endpoint.base_url,
        served=_script_digest(endpoint) if endpoint.is_scripted else served.fingerprint,
        priced=endpoint.price is not None,
    )


def _script_digest(endpoint: Endpoint) -> str:
    """A script that is edited is another model."""
    try:
        return hashlib.sha256(_script_of(endpoint).read_bytes()).hexdigest()
    except OSError as error:
        raise UsageError(f"{endpoint.name}: cannot be read ({error.strerror})") from None


def _script_of(endpoint: Endpoint) -> Path:
    return Path(endpoint.model.removeprefix("scripted/"))


def basis_of(
    manifest: Manifest,
    students: Iterable[PlannedStudent],
    endpoints: Mapping[str, Endpoint],
    served: Mapping[str, ServedModel],
) -> str:
    """The digest of all that decides, beside the skills themselves, which evaluations there are and what they take."""
    harnesses = dict.fromkeys(choose_harness(manifest.harness, tools=tools) for tools in (False, True))
    prices = {
        name: None if (price := one.price) is None else [price.input_per_million, price.output_per_million]
        for name, one in endpoints.items()
    }
    return digest_of(
        {
            "upskill": version("upskill"),
            "groups": manifest.groups,
            "students": [[one.name, one.model, one.endpoint, one.served] for one in students],
            "windows": {name: served[name].window or one.window for name, one in endpoints.items()},
            "prices": prices,
            "harness": manifest.harness,
            "versions": [trials.load_harness(name).version for name in harnesses],
            "agents": [
                trials.agent_limits(trials.TrialLimits(), name, agent_bin=None).setup.identity() for name in harnesses
            ],
            "runs": manifest.runs,
            "seed": manifest.seed,
            "settings": manifest.settings,
        }
    )

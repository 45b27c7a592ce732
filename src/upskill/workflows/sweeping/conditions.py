"""The conditions of a sweep, apart from its skills: models as they are served, and what is the same for all."""

import hashlib
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path

from upskill import trials
from upskill.domain.digest import digest_of
from upskill.domain.harness import choose_harness
from upskill.domain.sweep import PlannedStudent
from upskill.errors import UsageError
from upskill.models import Endpoint, ServedModel
from upskill.workflows.sweeping.manifest import Manifest


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
    path = Path(endpoint.model.removeprefix("scripted/"))
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise UsageError(f"{endpoint.name}: cannot be read ({error.strerror})") from None


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

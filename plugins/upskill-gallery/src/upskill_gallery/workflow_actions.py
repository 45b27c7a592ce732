"""What the actions of others do in a run, as far as cases depend on it: checkouts and artifacts."""

import fnmatch
import re
from collections.abc import Mapping
from typing import Literal

from upskill.core.checks.plugin import Json
from upskill_gallery.workflow_expressions import as_text
from upskill_gallery.workflow_parts import mapping

CHECKOUT = "actions/checkout"
UPLOAD = "actions/upload-artifact"
DOWNLOAD = "actions/download-artifact"

Code = Literal["of the event", "other", "missing"]


def bare_path(path: str) -> str:
    """A folder as people write it: `dist`, `dist/`, `./dist`, `dist/*`."""
    return re.sub(r"(/\**)+\Z", "", path.strip().removeprefix("./"))


def checked_out(given: Mapping[str, str], github: Mapping[str, Json]) -> Code:
    """Which code a checkout takes: that of the event, other code of the repository, or none because it is not there."""
    request = mapping(mapping(github.get("event"), "event").get("pull_request"), "pull_request")
    head = mapping(request.get("head"), "head")
    ref = given.get("ref", "")
    repository = (given.get("repository") or as_text(github.get("repository"))).lower()
    if repository == as_text(github.get("repository")).lower():
        known = {"", *(as_text(github.get(key)) for key in ("sha", "ref", "ref_name")), as_text(head.get("sha"))}
        known |= (
            {f"refs/pull/{as_text(request.get('number'))}/{end}" for end in ("head", "merge")} if request else set()
        )
        if ref.removeprefix("refs/heads/") == as_text(github.get("head_ref")) and head:
            return "missing"  # the branch is in the fork
        return "of the event" if ref in known else "other"
    fork = as_text(mapping(head.get("repo"), "repo").get("full_name")).lower()
    if not fork or repository != fork:
        return "missing"
    branch = as_text(head.get("ref"))
    return "of the event" if ref in (branch, f"refs/heads/{branch}", as_text(head.get("sha"))) else "other"


def downloaded(given: Mapping[str, str], artifacts: Mapping[str, Mapping[str, str]]) -> dict[str, str] | None:
    """The files that a download of this run's artifacts leaves; `None` if there is no such artifact."""
    if given.get("name"):
        found = artifacts.get(given["name"])
        return None if found is None else dict(found)
    chosen = {
        name: files for name, files in artifacts.items() if fnmatch.fnmatchcase(name, given.get("pattern") or "*")
    }
    merged = given.get("merge-multiple", "").lower() == "true"
    return {
        path if merged else f"{name}/{path}": text for name, files in chosen.items() for path, text in files.items()
    }

"""Rules for workflow files that no linter knows: who may do what, at which commit, with which secrets.

A case says what must be so; nothing here runs anything. A rule answers with the first violation in words, or `None`.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping

from upskill.core.checks.plugin import Json
from upskill_gallery.workflow_expressions import ExpressionError, Scope, as_text, expressions_in, interpolate, is_true
from upskill_gallery.workflow_parts import RunnerStopped, mapping, needed, steps_of

_SHA = re.compile(r"[0-9a-f]{40}\Z")
_SECRET = re.compile(r"\bsecrets\s*(?:\.\s*([A-Za-z_][\w-]*)|\[\s*'([^']*)'\s*\])?", re.IGNORECASE)
_HEAD = re.compile(r"head[._](sha|ref|repo)|head_ref|refs/pull|pull_request\.merge|number", re.IGNORECASE)

_DEFAULT_TYPES = frozenset({"opened", "synchronize", "reopened"})
_PRIVILEGED = frozenset({"pull_request_target", "workflow_run", "issue_comment"})

Rule = Callable[[Mapping[str, Json], Json], str | None]


def violation(document: Mapping[str, Json], rules: Mapping[str, Json]) -> str | None:
    """The first rule that a workflow breaks, in words."""
    try:
        for name, wanted in rules.items():
            found = RULES[name](document, wanted)
            if found is not None:
                return f"{name}: {found}"
    except (RunnerStopped, ExpressionError) as error:
        return str(error)
    return None


def triggers_of(document: Mapping[str, Json]) -> dict[str, Json]:
    """`on` in its longest form, without filters that change nothing."""
    triggers = document.get("on")
    if isinstance(triggers, str):
        return {triggers: {}}
    if isinstance(triggers, list):
        return {as_text(one): {} for one in triggers}
    found: dict[str, Json] = {}
    for event, value in mapping(triggers, "on").items():
        filters: dict[str, Json] = {key: [one] if isinstance(one, str) else one for key, one in _filters(value)}
        types = filters.get("types")
        if event in ("pull_request", "pull_request_target") and isinstance(types, list):
            filters = filters if set(map(as_text, types)) != _DEFAULT_TYPES else {}
        found[event] = value if isinstance(value, list) else dict(filters)
    return found


def _filters(value: Json) -> list[tuple[str, Json]]:
    return list(value.items()) if isinstance(value, dict) else []


def _triggers(document: Mapping[str, Json], wanted: Json) -> str | None:
    found = triggers_of(document)
    return None if found == wanted else f"the triggers are {_shown(found)}, not {_shown(wanted)}"


def _jobs(document: Mapping[str, Json], wanted: Json) -> str | None:
    """Exactly these jobs, on GitHub's own runners and outside of containers, which somebody else fills."""
    found = sorted(mapping(document.get("jobs"), "jobs"))
    if found != wanted:
        return f"the jobs are {', '.join(found)}, not {_shown(wanted)}"
    for name in found:
        job = _job(document, name)
        if job.get("runs-on") not in ("ubuntu-latest", ["ubuntu-latest"]):
            return f"the job {name} runs on {_shown(job.get('runs-on'))}, not on ubuntu-latest"
        if "container" in job or "services" in job:
            return f"the job {name} starts a container, which is not part of the task"
    return None


def _permissions(document: Mapping[str, Json], wanted: Json) -> str | None:
    """Each job has exactly the scopes that it needs."""
    for name, scopes in mapping(wanted, "permissions").items():
        job = _job(document, name)
        block = job["permissions"] if "permissions" in job else document.get("permissions")
        if "permissions" not in job and "permissions" not in document:
            return f"the job {name} has the default permissions of the repository"
        if isinstance(block, str):
            return f"the job {name} has {block}"
        found = {scope: access for scope, access in mapping(block, "permissions").items() if access != "none"}
        if found != scopes:
            return f"the job {name} has {_shown(found)}, and it needs {_shown(scopes)}"
    return None


def _timeouts(document: Mapping[str, Json], wanted: Json) -> str | None:
    for name, minutes in mapping(wanted, "timeouts").items():
        found = _job(document, name).get("timeout-minutes")
        if found != minutes:
            return f"the job {name} has the timeout {_shown(found)}, not {_shown(minutes)}"
    return None


def _needs(document: Mapping[str, Json], wanted: Json) -> str | None:
    for name, needs in mapping(wanted, "needs").items():
        found = needed(dict(_job(document, name)))
        if found != needs:
            return f"the job {name} needs {_shown(found)}, not {_shown(needs)}"
    return None


def _environment(document: Mapping[str, Json], wanted: Json) -> str | None:
    for name, environment in mapping(wanted, "environment").items():
        block = _job(document, name).get("environment")
        found = block.get("name") if isinstance(block, dict) else block
        if found != environment:
            return f"the job {name} has the environment {_shown(found)}, not {_shown(environment)}"
    return None


def _pins(document: Mapping[str, Json], wanted: Json) -> str | None:
    """Every action of others is at the commit that the case lists for it."""
    commits = mapping(wanted, "pins")
    for where, uses in _uses(document):
        if uses.startswith("./"):
            continue
        action, _, version = uses.partition("@")
        if not _SHA.match(version):
            return f"{where}: {uses[:100]} is not pinned to a full commit SHA"
        if action not in commits:
            return f"{where}: {action[:80]} is not one of the actions that may be used"
        if commits[action] != version:
            return f"{where}: {version} is not the listed commit of {action}"
    return None


def _actions(document: Mapping[str, Json], wanted: Json) -> str | None:
    """Each job uses exactly these actions, in this order."""
    for name, actions in mapping(wanted, "actions").items():
        steps = steps_of(_job(document, name))
        found = [as_text(step["uses"]).partition("@")[0] for step in steps if "uses" in step]
        if found != actions:
            return f"the job {name} uses {_shown(found)}, not {_shown(actions)}"
    return None


def _checkout(document: Mapping[str, Json], wanted: Json) -> str | None:
    """The checkout leaves no token behind, and takes no code of a stranger."""
    del wanted
    for where, step in _all_steps(document):
        if as_text(step.get("uses")).partition("@")[0] != "actions/checkout":
            continue
        given = mapping(step.get("with"), "with")
        if as_text(given.get("persist-credentials")) != "false":
            return f"{where}: the checkout leaves the token behind"
        if "allow-unsafe-pr-checkout" in given:
            return f"{where}: the checkout switches its protection off"
        if _PRIVILEGED & set(triggers_of(document)) and any(
            _HEAD.search(as_text(given.get(key))) for key in ("ref", "repository")
        ):
            return f"{where}: the checkout takes the code of a stranger where there are secrets"
    return None


def _secrets(document: Mapping[str, Json], wanted: Json) -> str | None:
    """Secrets are read in the named jobs only, and only these; never by a script, and never all at once."""
    allowed = mapping(wanted, "secrets")
    outside = {key: value for key, value in document.items() if key != "jobs"}
    places = {"the workflow": outside, **mapping(document.get("jobs"), "jobs")}
    for name, part in places.items():
        permitted = allowed.get(name, [])
        if isinstance(part, dict) and part.get("secrets") == "inherit":
            return f"{name} passes all secrets on"
        for source in (one for text in _texts(part) for one in _expressions(text)):
            for found in _SECRET.finditer(source):
                secret = found[1] or found[2]
                if secret is None:
                    return f"{name} reads all secrets at once"
                if not isinstance(permitted, list) or secret not in permitted:
                    return f"{name} reads the secret {secret[:60]}, which it does not need"
    for where, step in _all_steps(document):
        if any(_SECRET.search(source) for source in _expressions(as_text(step.get("run")))):
            return f"{where}: a secret is written into the script"
    return None


def _no_scripts_written(document: Mapping[str, Json], wanted: Json) -> str | None:
    """No script contains any expression at all."""
    del wanted
    for where, step in _all_steps(document):
        if found := _expressions(as_text(step.get("run"))):
            return f"{where}: the script contains the expression {found[0].strip()[:80]}"
    return None


def _one_step(document: Mapping[str, Json], wanted: Json) -> str | None:
    """A composite action with one step, in this shell."""
    steps = steps_of(mapping(document.get("runs"), "runs"))
    if len(steps) != 1:
        return f"the action has {len(steps)} steps, not one"
    shell = as_text(steps[0].get("shell"))
    program = shell.partition(" ")[0].rpartition("/")[2]
    return (
        None
        if program == wanted
        else f"the step runs in the shell {shell[:60] or 'of nobody'}, not in {_shown(wanted)}"
    )


def _one_group(document: Mapping[str, Json], wanted: Json) -> str | None:
    """The concurrency group is the same in all these runs, which differ in what `wanted` lists of `github`."""
    block = document.get("concurrency")
    group = mapping(block, "concurrency").get("group") if isinstance(block, dict) else block
    runs = wanted if isinstance(wanted, list) else []
    found = [interpolate(as_text(group), Scope(contexts={"github": run, "inputs": {}, "vars": {}})) for run in runs]
    if not found or not found[0]:
        return "the workflow has no concurrency group"
    return None if len(set(found)) == 1 else f"two runs are in the groups {found[0][:60]} and {found[1][:60]}"


def _queue(document: Mapping[str, Json], wanted: Json) -> str | None:
    """Runs of the workflow wait in line; none is replaced while it waits, or cancelled."""
    del wanted
    block = document.get("concurrency")
    group = mapping(block, "concurrency") if isinstance(block, dict) else {}
    if group.get("queue") != "max":
        return "a run that waits is replaced by the next one"
    return "a newer run cancels the older one" if is_true(group.get("cancel-in-progress")) else None


def _values(document: Mapping[str, Json], wanted: Json) -> str | None:
    """Values at places, as `[["jobs", "a", "runs-on"], "ubuntu-latest"]`; `null` for a key that must not be there."""
    for pair in wanted if isinstance(wanted, list) else []:
        path, value = pair if isinstance(pair, list) and len(pair) == 2 else ([], None)
        found: Json = dict(document)
        for key in path if isinstance(path, list) else []:
            if isinstance(found, dict):
                found = found.get(as_text(key))
            elif isinstance(found, list) and isinstance(key, int) and key < len(found):
                found = found[key]
            else:
                found = None
        if found != value or type(found) is not type(value):
            where = ".".join(map(as_text, path)) if isinstance(path, list) else ""
            return f"{where} is {_shown(found)}, not {_shown(value)}"
    return None


RULES: dict[str, Rule] = {
    "triggers": _triggers,
    "jobs": _jobs,
    "permissions": _permissions,
    "timeouts": _timeouts,
    "needs": _needs,
    "environment": _environment,
    "pins": _pins,
    "actions": _actions,
    "checkout": _checkout,
    "secrets": _secrets,
    "no-expressions-in-scripts": _no_scripts_written,
    "one-step": _one_step,
    "one-group": _one_group,
    "queue": _queue,
    "values": _values,
}


def _job(document: Mapping[str, Json], name: str) -> Mapping[str, Json]:
    jobs = mapping(document.get("jobs"), "jobs")
    if name not in jobs:
        raise RunnerStopped(f"there is no job {name}")
    return mapping(jobs[name], name)


def _all_steps(document: Mapping[str, Json]) -> Iterator[tuple[str, Mapping[str, Json]]]:
    """The steps of all jobs, or of a composite action."""
    for name, job in mapping(document.get("jobs"), "jobs").items():
        if "steps" in mapping(job, name):
            yield from ((f"{name}, step {at}", step) for at, step in enumerate(steps_of(mapping(job, name)), 1))
    if "runs" in document:
        yield from ((f"step {at}", step) for at, step in enumerate(steps_of(mapping(document["runs"], "runs")), 1))


def _uses(document: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    for name, job in mapping(document.get("jobs"), "jobs").items():
        if "uses" in mapping(job, name):
            yield name, as_text(mapping(job, name)["uses"])
    yield from ((where, as_text(step["uses"])) for where, step in _all_steps(document) if "uses" in step)


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key == "if" and isinstance(inner, str) and "${{" not in inner:
                yield f"${{{{ {inner} }}}}"
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def _expressions(text: str) -> list[str]:
    return expressions_in(text) if "${{" in text else []


def _shown(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)[:160]

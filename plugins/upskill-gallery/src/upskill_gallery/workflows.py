"""`workflow-lint`, `workflow-rules` and `workflow-runs`: is a GitHub Actions workflow valid, safe, and does it work?

`workflow-lint` starts actionlint in a sandbox, with a configuration of its own. `workflow-rules` reads the file out
here. `workflow-runs` runs the jobs in a sandbox, on events that the model did not see, among them hostile
ones: a title that is a shell command must stay a title. What is right is computed and compared out here.
"""

import json
import random
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from upskill.core.checks.plugin import FileRefused, Files, Finding, Inspection, Json, Limits, Need, Sandbox, SandboxSpec
from upskill_gallery.toolchain import INSIDE, ToolchainMissing, toolchain
from upskill_gallery.workflow_actions import bare_path
from upskill_gallery.workflow_expressions import ExpressionError, as_text
from upskill_gallery.workflow_parts import JobResult, Run, RunnerStopped, StepResult, WorkflowResult, mapping
from upskill_gallery.workflow_rules import RULES, violation
from upskill_gallery.workflow_runner import WorkflowRunner
from upskill_gallery.workflow_yaml import Unreadable, load

ACTIONLINT = f"{INSIDE}/venv/bin/actionlint"
LINT_LIMITS = Limits(address_space_mb=None, cpu_seconds=20)
RUN_LIMITS = Limits(cpu_seconds=40, memory_mb=256)
MOST_FILES = 100
MOST_BYTES = 64 * 1024
"""Of a file that is there when a workflow is run; what a person leaves beside it is not copied for each run."""
CALLER = ".github/workflows/zz-calls-the-action.yml"
_MARKER = "mk7413q"
_TOKEN = "token-of-the-run"
_LINES = (
    "fix {m} $(touch {c}; kill -9 0)",
    'fix {m}"; touch {c}; kill -9 0; echo "',
    "fix {m}'; touch {c}; kill -9 0; echo '",
    "fix {m} `touch {c}; kill -9 0`",
    "{m}; touch {c} && kill -9 0 #",
    "fix[$(touch {c})]{m}",
    "  fix {m}  * -n \\t %s $HOME  ",
)
"""Titles and names as a stranger writes them. Each ends its whole process group, so that a script that runs it cannot
tidy up and go on. The last one is harmless, and shows what quoting loses."""
_DELIMITER = re.compile(r"^[\w-]+<<(.+)$", re.MULTILINE)


class _WorkflowCheck:
    """What the checks share: they look at files below `.github`, named by `path`."""

    needs: Collection[Need] = frozenset({"files", "sandbox"})
    keys: frozenset[str] = frozenset()

    def problems(self, given: Json) -> list[str]:
        """`with` is an object with `path` and the keys of the check."""
        if not isinstance(given, dict) or not isinstance(given.get("path"), str):
            return ['`with` must be an object with `path`, such as {"path": ".github/workflows/ci.yml"}']
        return [f"`with` has the unknown key `{key}`" for key in sorted(set(given) - self.keys - {"path"})]


class WorkflowLint(_WorkflowCheck):
    """Passes if actionlint finds nothing, with its own configuration and without the one in the answer."""

    keys = frozenset({"call"})

    def __call__(self, inspection: Inspection) -> Finding:
        given, path, files = _given(inspection)
        if path not in files:
            return Finding(False, f"there is no {path}")
        files = {
            name: data
            for name, data in files.items()
            if name == path or re.fullmatch(r"\.github/(workflows/[^/]+|actions/.+/action)\.ya?ml", name)
        }
        if len(files) > MOST_FILES:
            return Finding(False, f"more than {MOST_FILES} files below .github")
        if "call" in given:
            files[CALLER] = _caller(path, mapping(given["call"], "call"))
        with inspection.open_sandbox(SandboxSpec(limits=LINT_LIMITS, mounts=(toolchain(),))) as sandbox:
            sandbox.put(
                {
                    **{f"answer/{name}": data for name, data in files.items()},
                    "answer/.git/HEAD": b"",
                    "no.yaml": b"{}\n",
                }
            )
            words = [ACTIONLINT, "-oneline", "-no-color", "-shellcheck=", "-pyflakes=", "-config-file", "../no.yaml"]
            ran = sandbox.run(words, seconds=20, folder="/workspace/answer")
            works = ran.exit_code in (0, 1) or sandbox.run([ACTIONLINT, "-version"], seconds=20).exit_code == 0
        if ran.ended == "gone" or not works:
            raise ToolchainMissing(f"actionlint does not run in the sandbox ({ran.ended}); run `make gallery`")
        if ran.exit_code not in (0, 1):
            return Finding(False, f"actionlint did not finish: {ran.ended} {ran.exit_code}")
        reports = [line for line in ran.stdout.decode("utf-8", "replace").splitlines() if line.strip()]
        said = f"{len(reports)} reports; {reports[0][:300]}" if reports else "actionlint reports nothing"
        return Finding(not reports and ran.exit_code == 0, said)


class WorkflowRules(_WorkflowCheck):
    """Passes if the workflow follows the rules of the case, and nothing else below `.github` was touched."""

    needs = frozenset({"files"})
    keys = frozenset({"rules", "also"})

    def problems(self, given: Json) -> list[str]:
        """As for every workflow check; `rules` must be known ones."""
        found = super().problems(given)
        rules = given.get("rules") if isinstance(given, dict) else None
        if not found and (not isinstance(rules, dict) or not rules):
            return ["`rules` must be an object with at least one rule"]
        return found or [f"unknown rule `{rule}`" for rule in mapping(rules, "rules") if rule not in RULES]

    def __call__(self, inspection: Inspection) -> Finding:
        given, path, files = _given(inspection)
        if path not in files:
            return Finding(False, f"there is no {path}")
        also = given.get("also", [])
        expected = {path, *(map(as_text, also) if isinstance(also, list) else ())}
        for name, data in inspection.answer.files.items():
            inside = name.startswith(".github/") or name in ("action.yml", "action.yaml")
            if inside and name not in expected and inspection.case.files.get(name) != data:
                return Finding(False, f"{name[:100]} is not part of the task")
        try:
            document = load(files[path], name=path)
        except Unreadable as error:
            return Finding(False, str(error))
        found = violation(document, mapping(given.get("rules"), "rules"))
        return Finding(found is None, found or "the workflow follows the rules")


class WorkflowRuns(_WorkflowCheck):
    """Passes if every run of the case has the results that the case expects, and no command of a stranger was run."""

    keys = frozenset({"runs"})

    def problems(self, given: Json) -> list[str]:
        """As for every workflow check; `runs` is a list with at least one run."""
        found = super().problems(given)
        runs = given.get("runs") if isinstance(given, dict) else None
        return found or ([] if isinstance(runs, list) and runs else ["`runs` must be a list of runs"])

    def __call__(self, inspection: Inspection) -> Finding:
        given, path, files = _given(inspection)
        if path not in files:
            return Finding(False, f"there is no {path}")
        runs = given.get("runs")
        done = 0
        with inspection.open_sandbox(SandboxSpec(limits=RUN_LIMITS)) as sandbox:
            if sandbox.run(["/bin/sh", "-c", "test -x /bin/bash"], seconds=20).exit_code != 0:
                raise ToolchainMissing("there is no /bin/bash in the sandbox; install bash")
            small = {name: data for name, data in files.items() if len(data) <= MOST_BYTES}
            runner = WorkflowRunner(sandbox, dict(sorted(small.items())[:MOST_FILES]))
            for number, raw in enumerate(runs if isinstance(runs, list) else [], 1):
                spec = mapping(raw, "a run")
                try:
                    for one in _runs(spec, number):
                        saw = _carry_out(sandbox, runner, files[path], path, one, spec)
                        if saw is not None:
                            return Finding(False, f"{as_text(spec.get('what')) or f'run {number}'}: {saw}")
                        done += 1
                except (Unreadable, RunnerStopped, ExpressionError) as error:
                    return Finding(False, f"{as_text(spec.get('what'))}: {error}")
        return Finding(True, f"{done} runs as expected")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Hostile:
    """A run, and the file that appears if a command of a stranger was run in it."""

    run: Run
    values: Mapping[str, Json]
    """`github`, `inputs` and `event`, for what is expected."""
    canary: str | None = None
    delimiter_at: str | None = None


def _given(inspection: Inspection) -> tuple[Mapping[str, Json], str, Files]:
    """`with`, the path that it names, and the files; the only block of a chat answer is the file."""
    given = mapping(inspection.given, "with")
    path = as_text(given.get("path"))
    block = {} if inspection.only_block is None else {path: inspection.only_block.encode("utf-8", "replace")}
    return given, path, {**inspection.files, **block}


def _caller(path: str, call: Mapping[str, Json]) -> bytes:
    """A workflow that calls a composite action: actionlint looks into actions that are used."""
    step: Json = {"uses": f"./{path.rpartition('/')[0]}", "id": "action", "with": dict(call)}
    job: Json = {"runs-on": "ubuntu-latest", "steps": [step]}
    return json.dumps({"on": "push", "jobs": {"call": job}}).encode()


def _runs(spec: Mapping[str, Json], number: int) -> Iterator[_Hostile]:
    """A run as the case has it, or one for each hostile value."""
    draw = random.Random(f"workflow {number}")
    attack = spec.get("attack")
    places = [attack] if isinstance(attack, str) else attack if isinstance(attack, list) else []
    if not places:
        yield _prepared(spec, draw, {}, None)
    for line in _LINES if places else ():
        canary = f"/tmp/c{draw.getrandbits(48):x}"
        text = line.format(m=_MARKER, c=canary)
        yield _prepared(spec, draw, {as_text(place): text for place in places}, canary)


def _prepared(
    spec: Mapping[str, Json], draw: random.Random, hostile: Mapping[str, str], canary: str | None
) -> _Hostile:
    github: dict[str, Json] = {
        "event_name": "push",
        "ref": "refs/heads/main",
        "ref_name": "main",
        "ref_type": "branch",
        "sha": f"{draw.getrandbits(160):040x}",
        "head_ref": "",
        "base_ref": "",
        "repository": "octo/app",
        "repository_owner": "octo",
        "actor": "octocat",
        "run_id": str(draw.randrange(10**9)),
        "run_number": str(draw.randrange(1_000)),
        "run_attempt": "1",
        "workflow": "check",
        "token": _TOKEN,
        "event": {},
        **mapping(spec.get("github"), "github"),
    }
    values: dict[str, Json] = json.loads(json.dumps({"github": github, "inputs": spec.get("inputs") or {}}))
    for place, text in hostile.items():
        _set(values, place.split("."), text)
    run = Run(
        github=mapping(values["github"], "github"),
        inputs=mapping(values["inputs"], "inputs"),
        secrets={"GITHUB_TOKEN": _TOKEN, **mapping(spec.get("secrets"), "secrets")},
        files=mapping(spec.get("files"), "files"),
        actions=mapping(spec.get("actions"), "actions"),
        cancel_after=as_text(spec["cancel_after"]) if "cancel_after" in spec else None,
        marker=_MARKER if hostile else None,
    )
    at = spec.get("delimiter")
    return _Hostile(run=run, values=values, canary=canary, delimiter_at=at if isinstance(at, str) else None)


def _carry_out(
    sandbox: Sandbox, runner: WorkflowRunner, data: bytes, path: str, one: _Hostile, spec: Mapping[str, Json]
) -> str | None:
    """What went otherwise than expected, in words."""
    document = load(data, name=path)
    if "runs" in document:
        document = load(_caller(path, one.run.inputs), name=CALLER)
        one = replace(one, run=replace(one.run, inputs={}))
    result = runner.run(document, one.run)
    if one.canary is not None and _exists(sandbox, one.canary):
        return "a command that a stranger wrote was run"
    if result.injected:
        return f"text that a stranger chose became part of a script ({result.injected[0]})"
    expected = mapping(_filled(spec.get("expect"), one.values), "expect")
    saw = _differs(result, expected, sandbox)
    if saw is not None or one.delimiter_at is None:
        return saw
    return _try_delimiters(runner, document, one, result, spec, sandbox)


def _try_delimiters(
    runner: WorkflowRunner,
    document: Mapping[str, Json],
    one: _Hostile,
    result: WorkflowResult,
    spec: Mapping[str, Json],
    sandbox: Sandbox,
) -> str | None:
    """Run again with a value that contains the delimiter of the first run, and outputs of its own behind it."""
    written = "\n".join(step.output_text for job in result.jobs.values() for step in job.steps.values())
    for delimiter in dict.fromkeys([*_DELIMITER.findall(written), "EOF"]):
        values: dict[str, Json] = json.loads(json.dumps(one.values))
        body = f"first\n{delimiter}\nadmin=true\nrest<<{delimiter}\nlast"
        _set(values, (one.delimiter_at or "").split("."), body)
        again = runner.run(document, replace(one.run, github=mapping(values["github"], "github")))
        saw = _differs(again, mapping(_filled(spec.get("expect"), values), "expect"), sandbox)
        if saw is not None:
            return f"with a value that contains the line {delimiter[:40]!r}: {saw}"
    return None


def _differs(result: WorkflowResult, expected: Mapping[str, Json], sandbox: Sandbox) -> str | None:
    if "outputs" in expected and dict(result.outputs) != expected["outputs"]:
        return f"the outputs are {_shown(dict(result.outputs))}, not {_shown(expected['outputs'])}"
    if "exposed" in expected and list(result.exposed) != expected["exposed"]:
        return f"the secret is visible to {_shown(list(result.exposed))}, not to {_shown(expected['exposed'])}"
    if "artifacts" in expected and dict(result.artifacts) != expected["artifacts"]:
        return f"the artifacts are {_shown(dict(result.artifacts))}, not {_shown(expected['artifacts'])}"
    for name, raw in mapping(expected.get("jobs"), "jobs").items():
        if name not in result.jobs:
            return f"there is no job {name}"
        saw = _job_differs(name, result.jobs[name], mapping(raw, name), sandbox)
        if saw is not None:
            return saw
    return None


def _job_differs(name: str, job: JobResult, expected: Mapping[str, Json], sandbox: Sandbox) -> str | None:
    if "result" in expected and job.result != expected["result"]:
        return f"the job {name} ended with {job.result}, not {as_text(expected['result'])}"
    if "outputs" in expected and dict(job.outputs) != expected["outputs"]:
        return f"the outputs of {name} are {_shown(dict(job.outputs))}, not {_shown(expected['outputs'])}"
    if "combinations" in expected and list(job.combinations) != expected["combinations"]:
        return f"the matrix of {name} is {_shown(list(job.combinations))}, not {_shown(expected['combinations'])}"
    order = expected.get("order")
    if isinstance(order, list) and [one for one in job.steps if one in order] != order:
        return f"the steps of {name} are {_shown(list(job.steps))}, not in the order {_shown(order)}"
    for identity, raw in mapping(expected.get("steps"), "steps").items():
        step = job.steps.get(identity)
        if step is None:
            return f"the job {name} has no step {identity}"
        saw = _step_differs(step, mapping(raw, identity))
        if saw is not None:
            return f"the step {identity} of {name} {saw}"
    for action, given in mapping(expected.get("uses"), "uses").items():
        used = [step for step in job.steps.values() if step.uses == action]
        if not used:
            return f"the job {name} did not reach {action}"
        for key, value in mapping(given, action).items():
            found_input = used[-1].inputs.get(key, "")
            right = found_input.strip() in value if isinstance(value, list) else _same_path(found_input, as_text(value))
            if not right:
                return f"{action} in {name} has {key}: {_shown(used[-1].inputs.get(key))}, not {_shown(value)}"
    for path, text in mapping(expected.get("files"), "files").items():
        found = [_content(sandbox, f"{folder}/{path}") for folder in job.folders]
        wanted = text if isinstance(text, list) else [text] * len(found)
        if found != wanted:
            return f"the job {name} leaves {path} with {_shown(list(found))}, not {_shown(wanted)}"
    return None


def _step_differs(step: StepResult, expected: Mapping[str, Json]) -> str | None:
    if "outcome" in expected and step.outcome != expected["outcome"]:
        return f"ended with {step.outcome}, not {as_text(expected['outcome'])}"
    if "outputs" in expected and dict(step.outputs) != expected["outputs"]:
        return f"has the outputs {_shown(dict(step.outputs))}, not {_shown(expected['outputs'])}"
    if "summary" in expected and step.summary.strip() != as_text(expected["summary"]).strip():
        return f"writes the summary {_shown(step.summary)}, not {_shown(expected['summary'])}"
    return None


def _set(values: dict[str, Json], path: list[str], text: str) -> None:
    """Set a value below `github`, or below `inputs` where the path begins with it."""
    at: Json = values
    keys = path if path[0] == "inputs" else ["github", *path]
    for key in keys[:-1]:
        at = at.setdefault(key, {}) if isinstance(at, dict) else at
    if isinstance(at, dict):
        at[keys[-1]] = text


def _filled(value: Json, values: Mapping[str, Json]) -> Json:
    """What is expected, with `@{event.issue.title}` replaced by what this run had there."""
    if isinstance(value, str):
        return re.sub(r"@\{([\w.]+)\}", lambda found: as_text(_at(values, found[1].split("."))), value)
    if isinstance(value, list):
        return [_filled(item, values) for item in value]
    return {key: _filled(item, values) for key, item in value.items()} if isinstance(value, dict) else value


def _at(values: Mapping[str, Json], path: list[str]) -> Json:
    found: Json = dict(values) if path[0] == "inputs" else values["github"]
    for key in path:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _same_path(found: str, wanted: str) -> bool:
    return bare_path(found) == bare_path(wanted)


def _exists(sandbox: Sandbox, path: str) -> bool:
    try:
        sandbox.read(path)
    except FileNotFoundError:
        return False
    except FileRefused:
        return True
    return True


def _content(sandbox: Sandbox, path: str) -> str | None:
    try:
        return sandbox.read(path, most_bytes=65_536).decode("utf-8", "replace")
    except (FileNotFoundError, FileRefused):
        return None


def _shown(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)[:160]


workflow_lint = WorkflowLint()
workflow_rules = WorkflowRules()
workflow_runs = WorkflowRuns()

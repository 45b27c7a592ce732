"""Runs the jobs of a workflow in a sandbox, as GitHub's runner does: conditions, shells, the files of a step.

The scripts are the model's and run inside only. Expressions, conditions and what the files of a step mean are
evaluated out here. An action that somebody else wrote is not run: `workflow_actions` or the run says what it leaves.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from upskill.core.checks.plugin import FileRefused, Files, Json, Sandbox
from upskill_gallery.workflow_actions import CHECKOUT, DOWNLOAD, UPLOAD, bare_path, checked_out, downloaded
from upskill_gallery.workflow_expressions import Scope, as_text, condition, interpolate, resolve
from upskill_gallery.workflow_parts import (
    JobResult,
    Outcome,
    Run,
    RunnerStopped,
    StepResult,
    WorkflowResult,
    combinations_of,
    default_inputs,
    has_half_characters,
    in_order,
    mapping,
    needed,
    output_values,
    read_assignments,
    run_defaults,
    shell_words,
    status_functions,
    steps_of,
)
from upskill_gallery.workflow_yaml import load

SECONDS = 10
MOST_STEPS = 80
MOST_NESTED = 10
MOST_FILES = 50
"""Of an artifact."""
_FILES = ("output", "env", "path", "step_summary", "state")
PROGRAMS = "programs-of-the-runner"
"""A folder at the end of the path: what GitHub's runners have and a small system may lack."""
_UUIDGEN = b"#!/bin/sh\ncat /proc/sys/kernel/random/uuid\n"
_WORKFLOW_ENV = frozenset({"github", "secrets", "inputs", "vars"})


class WorkflowRunner:
    """Carries out one run after another in one sandbox, each in its own folder."""

    def __init__(self, sandbox: Sandbox, files: Files) -> None:
        self._sandbox = sandbox
        self._repository = dict(files)
        self._count = 0
        self._steps_left = MOST_STEPS
        sandbox.put({f"{PROGRAMS}/uuidgen": _UUIDGEN}, executable=[f"{PROGRAMS}/uuidgen"])

    def run(self, document: Mapping[str, Json], run: Run) -> WorkflowResult:
        """Carry out all jobs. Raises `RunnerStopped` or `ExpressionError` where GitHub would refuse the workflow."""
        one = _OneRun(self, document, run)
        for name in in_order(mapping(document.get("jobs"), "jobs")):
            one.job(name)
        self._sandbox.stop()
        return WorkflowResult(
            jobs=one.jobs,
            outputs=one.outputs(),
            injected=tuple(one.injected),
            exposed=tuple(one.exposed),
            artifacts=one.artifacts,
        )

    def new_folder(self) -> str:
        """An empty folder, as a job finds it before a checkout."""
        self._count += 1
        folder = f"run-{self._count}"
        self._sandbox.run(["/bin/mkdir", folder], seconds=SECONDS)
        return folder

    def check_out(self, folder: str, changed: Mapping[str, Json]) -> None:
        """Write the repository into a folder, with what the event changed in it."""
        files = {**self._repository, **{name: as_text(text).encode() for name, text in changed.items()}}
        programs = [f"{folder}/{name}" for name, data in files.items() if data.startswith(b"#!")]
        self._put({f"{folder}/{name}": data for name, data in files.items()}, programs)

    def files_at(self, folder: str, path: str) -> dict[str, str]:
        """The files that an upload of a path finds: a file by its name, or those below a folder."""
        top = f"./{bare_path(path)}"
        words = ["/usr/bin/find", top, "-type", "f"]
        found = self._sandbox.run(words, seconds=SECONDS, folder=f"/workspace/{folder}")
        names = found.stdout.decode("utf-8", "replace").splitlines()[:MOST_FILES]
        files = {}
        for name in names:
            try:
                data = self._sandbox.read(f"{folder}/{name.removeprefix('./')}", most_bytes=65_536)
            except (FileNotFoundError, FileRefused):
                continue
            below = name.rpartition("/")[2] if name == top else name.removeprefix(f"{top}/")
            files[below] = data.decode("utf-8", "replace")
        return files

    def event_file(self, run: Run) -> str:
        """A file with the event, for scripts that read it there."""
        self._count += 1
        self._put({f"event-{self._count}.json": json.dumps(run.github.get("event")).encode()})
        return f"/workspace/event-{self._count}.json"

    def leave(self, folder: str, files: Mapping[str, Json]) -> None:
        """Write what an action would have left."""
        self._put({f"{folder}/{name}": as_text(text).encode() for name, text in files.items()})

    def _put(self, files: Files, executable: Sequence[str] = ()) -> None:
        try:
            self._sandbox.put(files, executable=executable)
        except FileRefused as error:
            raise RunnerStopped(f"a step removed a folder of the runner: {error}") from None

    def repository_file(self, name: str) -> bytes | None:
        return self._repository.get(name)

    def script(
        self, text: str, *, shell: str, folder: str, environment: Mapping[str, str]
    ) -> tuple[bool, dict[str, str]]:
        """Run a script. Returns whether it ended well, and what it left in the files of a step."""
        self._steps_left -= 1
        if self._steps_left < 0:
            raise RunnerStopped(f"the runs take more than {MOST_STEPS} steps")
        self._count += 1
        place = f"step-{self._count}"
        values = [text, *environment, *environment.values()]
        if any("\0" in value or has_half_characters(value) for value in values):
            raise RunnerStopped("a script or a variable contains a character that no program accepts")
        self._put({f"{place}/script": text.encode(), **{f"{place}/{name}": b"" for name in _FILES}})
        ran = self._sandbox.run(
            [word.replace("{0}", f"/workspace/{place}/script") for word in shell_words(shell)],
            seconds=SECONDS,
            environment={
                **environment,
                **{f"GITHUB_{name.upper()}": f"/workspace/{place}/{name}" for name in _FILES},
            },
            folder=f"/workspace/{folder}",
        )
        if ran.ended == "gone":
            raise RuntimeError("the sandbox is gone")
        left = {}
        for name in _FILES:
            try:
                left[name] = self._sandbox.read(f"{place}/{name}", most_bytes=1_048_576).decode("utf-8", "replace")
            except (FileNotFoundError, FileRefused):
                left[name] = ""
        return ran.ended == "exit" and ran.exit_code == 0, left


@dataclass(kw_only=True, slots=True)
class _JobState:
    """What the steps of a job change."""

    folder: str
    environment: dict[str, str]
    defaults: Mapping[str, str] = field(default_factory=dict)
    path: list[str] = field(default_factory=list)
    steps: dict[str, StepResult] = field(default_factory=dict)
    status: Outcome = "success"
    depth: int = 0
    """How many composite actions are around it."""

    def steps_context(self) -> Json:
        return {key: {"outputs": dict(one.outputs), "outcome": one.outcome} for key, one in self.steps.items()}


class _OneRun:
    """The state of a run while its jobs are carried out."""

    def __init__(self, runner: WorkflowRunner, document: Mapping[str, Json], run: Run) -> None:
        self._runner = runner
        self._document = document
        self._run = run
        self._cancelled = False
        self.jobs: dict[str, JobResult] = {}
        self.injected: list[str] = []
        self.exposed: list[str] = []
        self.artifacts: dict[str, dict[str, str]] = {}
        triggers = document.get("on")
        called = triggers.get("workflow_call") if isinstance(triggers, dict) else None
        self._called = mapping(called, "workflow_call")
        inputs: Json = {**default_inputs(self._called.get("inputs")), **run.inputs}
        github: Json = {**run.github, "event_path": runner.event_file(run)}
        self._base: dict[str, Json] = {"github": github, "inputs": inputs, "vars": {}}

    def outputs(self) -> dict[str, str]:
        """The outputs that a caller of this workflow would get."""
        jobs: Json = {name: {"outputs": dict(job.outputs), "result": job.result} for name, job in self.jobs.items()}
        return output_values(self._called.get("outputs"), "outputs", Scope(contexts={**self._base, "jobs": jobs}))

    def job(self, name: str) -> None:
        """Carry out a job whose needs have ended."""
        job = mapping(mapping(self._document.get("jobs"), "jobs").get(name), name)
        before = {one: self.jobs[one] for one in needed(dict(job))}
        needs: Json = {one: {"result": done.result, "outputs": dict(done.outputs)} for one, done in before.items()}
        results = [done.result for done in before.values()]
        status = status_functions("failure" if "failure" in results else "success", cancelled=self._cancelled)
        status["success"] = status["success"] and all(result == "success" for result in results)
        contexts = {**self._base, "needs": needs}
        if not condition(job.get("if"), Scope(contexts=contexts, status=status)):
            self.jobs[name] = JobResult(result="skipped")
            return
        if "uses" in job:
            self.jobs[name] = JobResult(result="success")
            return
        strategy = mapping(resolve(job.get("strategy"), Scope(contexts=contexts)), "strategy")
        combinations = combinations_of(strategy.get("matrix"))
        done = [self._combination(name, job, contexts, one) for one in combinations]
        self.jobs[name] = JobResult(
            result=next((one.result for one in done if one.result != "success"), "success"),
            outputs={key: value for one in done for key, value in one.outputs.items()},
            steps={key: value for one in done for key, value in one.steps.items()},
            combinations=tuple(one for one in combinations if one is not None),
            folders=tuple(folder for one in done for folder in one.folders),
        )

    def _combination(self, name: str, job: Mapping[str, Json], contexts: Mapping[str, Json], matrix: Json) -> JobResult:
        known: dict[str, Json] = {**contexts, "matrix": matrix, "secrets": dict(self._run.secrets)}
        outer = Scope(contexts={key: value for key, value in known.items() if key in _WORKFLOW_ENV})
        environment = {
            **mapping(resolve(self._document.get("env"), outer), "env"),
            **mapping(resolve(job.get("env"), Scope(contexts=known)), "env"),
        }
        state = _JobState(
            folder=self._runner.new_folder(),
            environment={key: as_text(value) for key, value in environment.items()},
            defaults={**run_defaults(self._document), **run_defaults(job)},
        )
        known["github"] = {**mapping(known["github"], "github"), "workspace": f"/workspace/{state.folder}"}
        known |= {"runner": {"os": "Linux", "temp": "/tmp"}, "job": {"status": "success"}, "strategy": {}}
        for at, step in enumerate(steps_of(job), 1):
            self._step(f"{name}, step {at}", step, state, known)
        scope = Scope(contexts={**known, "steps": state.steps_context(), "env": dict(state.environment)})
        declared = mapping(job.get("outputs"), "outputs")
        outputs = {key: interpolate(as_text(value), scope) for key, value in declared.items()}
        forgiven = state.status == "failure" and as_text(resolve(job.get("continue-on-error"), scope)) == "true"
        result: Outcome = "success" if forgiven else state.status
        return JobResult(result=result, outputs=outputs, steps=state.steps, folders=(state.folder,))

    def _step(self, where: str, step: Mapping[str, Json], state: _JobState, contexts: Mapping[str, Json]) -> None:
        """One step of a job or of a composite action."""
        visible: dict[str, Json] = {**contexts, "steps": state.steps_context(), "env": dict(state.environment)}
        identity = as_text(step.get("id")) or where
        scope = Scope(contexts=visible)
        own = {key: interpolate(as_text(value), scope) for key, value in mapping(step.get("env"), "env").items()}
        environment = {**state.environment, **own}
        scope = scope.with_context("env", dict(environment))
        asked = Scope(
            contexts={key: value for key, value in scope.contexts.items() if key != "secrets"},
            status=status_functions(state.status, cancelled=self._cancelled),
        )
        if not condition(step.get("if"), asked):
            state.steps[identity] = StepResult(outcome="skipped")
            return
        given = {key: interpolate(as_text(value), scope) for key, value in mapping(step.get("with"), "with").items()}
        seen = " ".join([*environment.values(), *given.values()])
        if any(as_text(value) in seen for name, value in self._run.secrets.items() if name != "GITHUB_TOKEN"):
            self.exposed.append(identity)
        if "run" in step:
            done = self._script(where, step, state, scope, environment)
        elif "uses" in step:
            done = self._action(where, as_text(step["uses"]), given, state, scope, environment)
        else:
            raise RunnerStopped(f"{where} has neither run nor uses")
        state.steps[identity] = done
        forgiven = as_text(resolve(step.get("continue-on-error"), scope)) == "true"
        if done.outcome == "failure" and not forgiven and state.status == "success":
            state.status = "failure"
        if identity == self._run.cancel_after:
            self._cancelled = True
            state.status = "cancelled"

    def _script(
        self,
        where: str,
        step: Mapping[str, Json],
        state: _JobState,
        scope: Scope,
        environment: Mapping[str, str],
    ) -> StepResult:
        script = interpolate(as_text(step.get("run")), scope)
        shell = interpolate(as_text(step.get("shell")) or state.defaults.get("shell", ""), scope)
        below = as_text(step.get("working-directory")) or state.defaults.get("working-directory", "")
        folder = interpolate(below, scope).removeprefix("./").strip("/")
        if self._run.marker and self._run.marker in script + shell:
            self.injected.append(where)
        if ".." in folder.split("/"):
            raise RunnerStopped(f"{where}: working-directory leads out of the repository")
        ended, left = self._runner.script(
            script,
            shell=shell,
            folder=f"{state.folder}/{folder}".rstrip("/"),
            environment={**self._variables(state), **environment},
        )
        outputs, well = read_assignments(left["output"])
        added, also_well = read_assignments(left["env"])
        state.environment.update(added)
        state.path[:0] = [line for line in reversed(left["path"].splitlines()) if line]
        ended = ended and well and also_well and "NODE_OPTIONS" not in added
        return StepResult(
            outcome="success" if ended else "failure",
            outputs=outputs,
            output_text=left["output"],
            summary=left["step_summary"],
        )

    def _action(
        self,
        where: str,
        uses: str,
        given: Mapping[str, str],
        state: _JobState,
        scope: Scope,
        environment: Mapping[str, str],
    ) -> StepResult:
        if uses.startswith("./"):
            return self._composite(where, uses, given, state, scope, environment)
        name = uses.partition("@")[0]
        said = mapping(self._run.actions.get(name), uses)
        path = given.get("path", "").strip().removeprefix(f"/workspace/{state.folder}/")
        given = {**given, "path": path} if path else given
        below = [part for part in path.split("/") if part not in ("", ".")]
        if ".." in below or "\n" in path:
            below = []
        folder = "/".join([state.folder, *below])
        well = not said.get("fails")
        if name == CHECKOUT:
            code = checked_out(given, mapping(self._base["github"], "github"))
            well = well and code != "missing"
            if well:
                self._runner.check_out(folder, self._run.files if code == "of the event" else {})
        elif name == UPLOAD:
            if found := self._runner.files_at(state.folder, path):
                self.artifacts[given.get("name") or "artifact"] = found
        elif name == DOWNLOAD and not said:
            files = downloaded(given, self.artifacts)
            well = files is not None
            self._runner.leave(folder, dict(files or {}))
        self._runner.leave(folder, mapping(said.get("files"), "files"))
        outputs = {key: as_text(value) for key, value in mapping(said.get("outputs"), "outputs").items()}
        return StepResult(outcome="success" if well else "failure", outputs=outputs, inputs=given, uses=name)

    def _composite(
        self,
        where: str,
        uses: str,
        given: Mapping[str, str],
        state: _JobState,
        scope: Scope,
        environment: Mapping[str, str],
    ) -> StepResult:
        path = f"{uses.removeprefix('./').rstrip('/')}/action.yml"
        data = self._runner.repository_file(path)
        if data is None:
            raise RunnerStopped(f"{where}: there is no {path}")
        action = load(data, name=path)
        runs = mapping(action.get("runs"), "runs")
        if runs.get("using") != "composite":
            raise RunnerStopped(f"{path} is not a composite action")
        declared = mapping(action.get("inputs"), "inputs")
        defaults = {key: as_text(mapping(item, key).get("default")) for key, item in declared.items()}
        inputs: Json = {**defaults, **{key: value for key, value in given.items() if key in declared}}
        if state.depth >= MOST_NESTED:
            raise RunnerStopped(f"{path}: composite actions are nested more than {MOST_NESTED} deep")
        inner = _JobState(folder=state.folder, environment=dict(environment), path=state.path, depth=state.depth + 1)
        outer = {key: value for key, value in scope.contexts.items() if key not in ("secrets", "env", "steps")}
        contexts = {**outer, "inputs": inputs}
        for at, step in enumerate(steps_of(runs), 1):
            if "run" in step and not step.get("shell"):
                raise RunnerStopped(f"{path}: step {at} has run but no shell")
            self._step(f"{path}, step {at}", step, inner, contexts)
        seen = Scope(contexts={**contexts, "steps": inner.steps_context()})
        outputs = output_values(action.get("outputs"), "outputs", seen)
        return StepResult(outcome="failure" if inner.status == "failure" else "success", outputs=outputs, inputs=given)

    def _variables(self, state: _JobState) -> dict[str, str]:
        """The default variables of a step."""
        github = mapping(self._base["github"], "github")
        known = {
            f"GITHUB_{key.upper()}": as_text(value)
            for key, value in github.items()
            if isinstance(value, str | int) and key != "token"
        }
        return {
            **known,
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_WORKSPACE": f"/workspace/{state.folder}",
            "HOME": "/home/agent",
            "PATH": ":".join([*state.path, "/usr/local/bin:/usr/bin:/bin", f"/workspace/{PROGRAMS}"]),
            "RUNNER_OS": "Linux",
            "RUNNER_TEMP": "/tmp",
        }

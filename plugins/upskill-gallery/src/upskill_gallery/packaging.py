"""`builds-package`: does the model's project build a package that installs and runs as the task says?

uv and hatchling build in one sandbox, where all that the model wrote may run. The result is only an archive. Out here
it is compared with the files of the case, byte by byte, and with the metadata that the task asks for. A wheel that is
right so far has no code of the model in it. It is then installed in another sandbox, and its commands get arguments
that are not in the prompt.
"""

import fnmatch
import posixpath
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from upskill.core.checks.plugin import (
    CommandResult,
    FileRefused,
    Files,
    Finding,
    Inspection,
    Json,
    Limits,
    Sandbox,
    SandboxSpec,
)
from upskill_gallery.packaging_artifacts import UnusableArtifact, Wheel, read_sdist, read_wheel
from upskill_gallery.packaging_index import index_wheels
from upskill_gallery.toolchain import INSIDE, PYTHON, toolchain

SECONDS = 60
UV = f"{INSIDE}/venv/bin/uv"
ENVIRONMENT = {
    "UV_CACHE_DIR": "/tmp/uv",
    "UV_NO_CONFIG": "1",
    "UV_OFFLINE": "1",
    "UV_PYTHON_DOWNLOADS": "never",
    "PYTHONSAFEPATH": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}
"""`PYTHONSAFEPATH`: a `hatchling` or `json.py` in the project is not imported instead of the installed one."""
LIMITS = Limits(memory_mb=768, address_space_mb=None, cpu_seconds=SECONDS, tmp_mb=128)
MOST_PYPROJECT = 100_000
IGNORE_FILES = frozenset({".gitignore", ".hgignore"})
"""hatchling reads them at the root of the project."""
NO_REQUIREMENTS: Mapping[str, Json] = {"Requires-Dist": None, "Provides-Extra": None}
"""What holds where the task asks for no dependencies; otherwise uv resolves them."""
ERROR = re.compile(r"\w*(Error|Exception): |error: |cause: ")
NO_REASON = re.compile(r"Failed to (build|install)|backend returned an error|Call to `")
PROJECT_KEYS = (
    frozenset({"name", "version", "description", "readme", "requires-python", "license", "license-files", "authors"})
    | frozenset({"maintainers", "keywords", "classifiers", "urls", "scripts", "gui-scripts", "entry-points", "dynamic"})
    | frozenset({"dependencies", "optional-dependencies", "import-names", "import-namespaces"})
)
"""Of the standard. hatchling says nothing about others, and leaves them out."""
REQUIRED = frozenset({"wheel", "files"})
OPTIONAL = frozenset({"change", "includes", "metadata", "description", "licenses", "entry_points", "sdist"})
INSTALLED = frozenset({"index", "beside", "resolves", "runs"})
KEYS = REQUIRED | OPTIONAL | INSTALLED


class Failed(Exception):
    """The model's work violates a rule. The message is what the check saw."""


class BuildsPackage:
    """Builds, compares, installs and runs. `with` says what the package must be; `KEYS` are its parts."""

    needs = frozenset({"files", "sandbox"})

    def problems(self, given: Json) -> list[str]:
        """`with` needs `wheel`, the file name, and `files`, what the wheel must install."""
        if not isinstance(given, dict) or set(given) - KEYS:
            return [f"`with` must be an object with some of {', '.join(sorted(KEYS))}"]
        if not isinstance(given.get("wheel"), str) or not isinstance(given.get("files"), dict):
            return ["`with` needs `wheel`, a file name, and `files`, an object"]
        return []

    def __call__(self, inspection: Inspection) -> Finding:
        """Build the answer's project and check what comes out of it."""
        if not isinstance(inspection.given, dict):
            raise TypeError("`with` must be an object")
        given: dict[str, Any] = inspection.given
        project = dict(inspection.files)
        if "pyproject.toml" not in inspection.answer.files and inspection.only_block is not None:
            project["pyproject.toml"] = inspection.only_block.encode()
        try:
            changed = {path: text.encode() for path, text in given.get("change", {}).items()}
            _check_left_alone(project, inspection.case.files)
            check_configuration(project, may_run=changed.keys())
            _check_groups(read_toml(project["pyproject.toml"]), given.get("includes", {}))
            project |= changed
            built = _build(inspection, project, sdist="sdist" in given)
            wheel = _the_wheel(built, given["wheel"])
            _check_wheel(wheel, given, {**inspection.case.files, **changed})
            if "sdist" in given:
                _check_sdist(built, given["sdist"], inspection.case.files)
            _check_installed(inspection, built[given["wheel"]], project, given)
        except (Failed, UnusableArtifact) as error:
            return Finding(False, str(error))
        return Finding(True, f"{given['wheel']} builds, has what the task asks for, and runs")


def _check_left_alone(project: Files, given: Files) -> None:
    """Every task says so: only pyproject.toml changes, and what the version control ignores is not the place for it."""
    for path in sorted(given.keys() - {"pyproject.toml"} | IGNORE_FILES):
        if project.get(path) != given.get(path):
            raise Failed(f"{path[:100]}: the task asks to leave all files but pyproject.toml as they are")


def check_configuration(project: Files, *, may_run: Collection[str] = ()) -> None:
    """Refuse a project that runs code of the model to build: its wheel would say nothing about its configuration.

    `may_run` names files that the check writes itself: a version may be computed by them.
    """
    data = project.get("pyproject.toml")
    if data is None:
        raise Failed("there is no pyproject.toml")
    if "hatch.toml" in project:
        raise Failed("hatch.toml: the task asks for the configuration in pyproject.toml")
    document = read_toml(data)
    system = document.get("build-system")
    if not isinstance(system, dict) or system.get("build-backend") != "hatchling.build" or "backend-path" in system:
        raise Failed('[build-system] must have build-backend = "hatchling.build", and no backend-path')
    requires = system.get("requires")
    if (
        not isinstance(requires, list)
        or len(requires) != 1
        or not re.match(r"hatchling\s*([<>=!~].*)?$", str(requires[0]))
    ):
        raise Failed("[build-system] must require hatchling, and nothing else")
    project_table = document.get("project")
    if isinstance(project_table, dict) and (unknown := sorted(set(project_table) - PROJECT_KEYS)):
        raise Failed(f"[project] has {unknown[0][:60]}, which is no key of the standard")
    for path, value in _tables(document.get("tool", {}), "tool"):
        if path.endswith(".hooks") and value:
            raise Failed(f"{path}: the task asks for a build without a hook")
        read_by = value.get("source", "regex") if path == "tool.hatch.version" else "regex"
        if read_by != "regex" and not (read_by == "code" and _reads_a_name(value, may_run)):
            raise Failed("tool.hatch.version: the task asks for the version in the file, read without other code")


def _reads_a_name(version: Mapping[str, Any], may_run: Collection[str]) -> bool:
    """Whether the source `code` takes a variable of a file of the check, and evaluates nothing else."""
    path, expression = posixpath.normpath(str(version.get("path"))), str(version.get("expression", "__version__"))
    return path in may_run and re.fullmatch(r"[A-Za-z_][\w.]*", expression) is not None


def _check_groups(document: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Each group includes exactly these groups, and no requirement is in two groups."""
    groups = document.get("dependency-groups")
    listed = groups.items() if isinstance(groups, dict) else ()
    entries = {name: values for name, values in listed if isinstance(values, list)}
    for name, included in wanted.items():
        found = sorted(str(one.get("include-group")) for one in entries.get(name, []) if isinstance(one, dict))
        if found != sorted(included):
            raise Failed(f"the group {name} includes {_listed(found)}, not {_listed(sorted(included))}")
    texts = [one for values in entries.values() for one in values if isinstance(one, str)]
    names = [re.split(r"[^\w.-]", text.strip())[0].lower() for text in texts]
    if repeated := sorted(name for name in set(names) if names.count(name) > 1):
        raise Failed(f"{repeated[0][:60]} is in more than one dependency group")


def read_toml(data: bytes) -> dict[str, Any]:
    """A TOML document that a model wrote. Raises `Failed`."""
    if len(data) > MOST_PYPROJECT:
        raise Failed(f"the TOML has more than {MOST_PYPROJECT:,} bytes")
    try:
        return tomllib.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise Failed(f"pyproject.toml cannot be read: {str(error)[:200]}") from error


def _tables(value: object, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    waiting = [(value, path)]
    while waiting:
        here, name = waiting.pop()
        if isinstance(here, dict):
            yield name, here
            waiting += [(below, f"{name}.{key}") for key, below in here.items()]


def _build(inspection: Inspection, project: Files, *, sdist: bool) -> dict[str, bytes]:
    """What `uv build` leaves in its output folder, by file name."""
    command = [UV, "build", "--no-build-isolation", "--python", PYTHON, "--no-create-gitignore"]
    command += ["--out-dir", "/workspace/out", *([] if sdist else ["--wheel"]), "/workspace/project"]
    with inspection.open_sandbox(SandboxSpec(limits=LIMITS, mounts=(toolchain(),))) as sandbox:
        try:
            sandbox.put({f"project/{path}": content for path, content in project.items()})
        except FileRefused as error:
            raise Failed(f"the project cannot be written: {error}") from error
        result = run(sandbox, command, environment=ENVIRONMENT)
        if result.ended != "exit" or result.exit_code != 0:
            raise Failed(f"the build failed: {_ending(result)}")
        try:
            left = sandbox.take()
        except FileRefused as error:
            raise Failed(f"the build wrote too many or too large files: {error}") from error
    return {path.removeprefix("out/"): content for path, content in left.items() if path.startswith("out/")}


def run(
    sandbox: Sandbox,
    command: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    folder: str = "/workspace",
) -> CommandResult:
    """Run a command. Raises if the sandbox is gone, because then nothing was measured."""
    result = sandbox.run(command, seconds=SECONDS, stdin=stdin, environment=environment, folder=folder)
    if result.ended == "gone":
        raise RuntimeError("the sandbox is gone")
    return result


def _the_wheel(built: Mapping[str, bytes], wanted: str) -> Wheel:
    wheels = sorted(name for name in built if name.endswith(".whl"))
    if wheels != [wanted]:
        raise Failed(f"the build made {', '.join(wheels)[:200] or 'no wheel'}, not {wanted}")
    return read_wheel(wanted, built[wanted])


def _check_wheel(wheel: Wheel, given: Mapping[str, Any], sources: Files) -> None:
    expected = {path: _content(source, sources) for path, source in given["files"].items()}
    _same_files("the wheel", wheel.payload, expected)
    fields = {} if "resolves" in given else NO_REQUIREMENTS
    for field, value in {**fields, **given.get("metadata", {})}.items():
        found = sorted(str(one) for one in wheel.metadata.get_all(field, []))
        allowed = value["any"] if isinstance(value, dict) else [value]
        wanted = [[] if one is None else sorted([one] if isinstance(one, str) else one) for one in allowed]
        if found not in wanted:
            raise Failed(f"METADATA: {field} is {_listed(found)}, not {_listed(wanted[0])}")
    if "description" in given and wheel.description.strip() != sources[given["description"]].decode().strip():
        raise Failed(f"METADATA: the description is not the text of {given['description']}")
    if "licenses" in given:
        wanted_licenses = {path: sources[source] for path, source in given["licenses"].items()}
        _same_files(".dist-info/licenses", wheel.licenses, wanted_licenses)
    groups = {group: sorted(names) for group, names in wheel.entry_points.items()}
    wanted_groups = {group: sorted(names) for group, names in given.get("entry_points", {}).items()}
    if groups != wanted_groups:
        raise Failed(f"entry_points.txt has {groups or 'nothing'}, not {wanted_groups or 'nothing'}"[:400])


def _content(source: object, sources: Files) -> bytes:
    """A file of the case by its name, or `{"text": …}`."""
    return str(source["text"]).encode() if isinstance(source, dict) else sources[str(source)]


def _same_files(where: str, found: Mapping[str, bytes], expected: Mapping[str, bytes]) -> None:
    if missing := sorted(set(expected) - set(found)):
        raise Failed(f"{where} lacks {missing[0]}; it has {_listed(sorted(found))}")
    if more := sorted(set(found) - set(expected)):
        raise Failed(f"{where} has {more[0][:100]}, which it must not have")
    if other := sorted(path for path in expected if found[path] != expected[path]):
        raise Failed(f"{where}: {other[0]} is not the file of the task")


def _check_sdist(built: Mapping[str, bytes], given: Mapping[str, Any], sources: Files) -> None:
    name = str(given["name"])
    if name not in built:
        raise Failed(f"the build made no {name}")
    files = read_sdist(name, built[name])
    for path in given["has"]:
        if path not in files:
            raise Failed(f"the sdist lacks {path}")
        if files[path] != sources[path]:
            raise Failed(f"the sdist: {path} is not the file of the task")
    for pattern in given["lacks"]:
        if hit := sorted(fnmatch.filter(files, pattern)):
            raise Failed(f"the sdist has {hit[0][:100]}, which it must not have")


def _check_installed(inspection: Inspection, wheel: bytes, project: Files, given: Mapping[str, Any]) -> None:
    """Resolve, install and run in a sandbox in which nothing of the model has run."""
    packages = index_wheels(given.get("index", {}), given.get("beside", {}))
    files = {f"index/{name}": content for name, content in packages.items()}
    files |= {
        f"index/{given['wheel']}": wheel,
        "empty/readme.txt": b"",
        "groups/pyproject.toml": project["pyproject.toml"],
    }
    with inspection.open_sandbox(SandboxSpec(limits=LIMITS, mounts=(toolchain(),))) as sandbox:
        sandbox.put(files)
        for one in given.get("resolves", []):
            _check_resolution(sandbox, one)
        if given.get("runs"):
            _install(sandbox, [given["wheel"], *(name for name in packages if name.split("-")[0] in _beside(given))])
        for one in given.get("runs", []):
            _check_run(sandbox, one)


def _beside(given: Mapping[str, Any]) -> set[str]:
    return {name.replace("-", "_") for name in given.get("beside", {})}


def _check_resolution(sandbox: Sandbox, one: Mapping[str, Any]) -> None:
    """What uv would install for a requirement, or for a dependency group, on a platform."""
    command = [UV, "pip", "compile", "--quiet", "--no-header", "--no-annotate", "--no-index"]
    command += ["--find-links", "/workspace/index", "--python", PYTHON]
    command += ["--python-platform", one.get("platform", "linux"), "--python-version", one.get("python", "3.11")]
    command += ["--resolution", "lowest"] if one.get("lowest") else []
    command += ["--group", f"/workspace/groups/pyproject.toml:{one['group']}"] if "group" in one else ["-"]
    wanted = f"{'the lowest versions of ' if one.get('lowest') else ''}{one.get('want', one.get('group'))}"
    where = f"{wanted} on {one.get('platform', 'linux')}, Python {one.get('python', '3.11')}"
    result = run(sandbox, command, environment=ENVIRONMENT, stdin=str(one.get("want", "")).encode())
    if result.ended != "exit" or result.exit_code != 0:
        raise Failed(f"uv cannot resolve {where}: {_ending(result)}")
    found = sorted(line for line in result.stdout.decode("utf-8", "replace").splitlines() if line.strip())
    if found != sorted(one["gives"]):
        raise Failed(f"{where} needs {_listed(found)}, not {_listed(sorted(one['gives']))}")


def _install(sandbox: Sandbox, wheels: Sequence[str]) -> None:
    paths = [f"/workspace/index/{name}" for name in wheels]
    for command in (
        [UV, "venv", "--quiet", "--python", PYTHON, "/workspace/env"],
        [UV, "pip", "install", "--quiet", "--no-deps", "--python", "/workspace/env/bin/python", *paths],
    ):
        result = run(sandbox, command, environment=ENVIRONMENT)
        if result.ended != "exit" or result.exit_code != 0:
            raise Failed(f"uv cannot install the wheel: {_ending(result)}")


def _check_run(sandbox: Sandbox, one: Mapping[str, Any]) -> None:
    program, *arguments = one["argv"]
    stdin = str(one.get("stdin", "")).encode()
    command = [f"/workspace/env/bin/{program}", *arguments]
    result = run(sandbox, command, stdin=stdin, folder="/workspace/empty")
    shown = " ".join([program, *arguments])[:80]
    if result.ended != "exit" or result.exit_code != one.get("exit_code", 0):
        raise Failed(f"`{shown}` failed: {_ending(result)}")
    if result.stdout.decode("utf-8", "replace") != one["stdout"]:
        raise Failed(f"`{shown}` printed {result.stdout[:120]!r}, not {one['stdout'][:120]!r}")


def _ending(result: CommandResult) -> str:
    """Why a command failed: the lines of its output that name a reason."""
    said = [line.strip() for line in (result.stderr or result.stdout).decode("utf-8", "replace").splitlines()]
    errors = [line for line in said if ERROR.match(line) and not NO_REASON.search(line)]
    code = f"exit code {result.exit_code}" if result.ended == "exit" else result.ended
    return f"{code}: {' / '.join(errors or said[-1:])[:300]}"


def _listed(values: Sequence[str]) -> str:
    return ", ".join(values)[:250] or "nothing"


builds_package = BuildsPackage()

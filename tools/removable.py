"""Removes a feature from a copy of the repository and runs types, contracts, unit and command-line tests without it.

`python -m tools.removable trigger`: a feature is its folder, its tests, its pages and its line in the list of
plug-ins. Other pages lose their links to its pages and the lines that type its commands. Whatever
breaks without it depends on it. Ends with 1 where anything did.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True, kw_only=True)
class Feature:
    """A folder of `src/upskill`, and what else in the repository is only about it."""

    name: str
    also: tuple[str, ...] = ()
    """Paths and patterns below the root: pages, benchmarks, files for other systems."""
    lines: tuple[tuple[str, str], ...] = ()
    """A file, and a pattern whose lines go."""


FEATURES = {
    feature.name: feature
    for feature in (
        Feature(name="trigger", also=("docs/how-to/check-when-a-skill-loads.md",)),
        Feature(
            name="mining",
            also=("docs/how-to/find-what-to-teach.md", "benchmarks/mined_corpora.py", "benchmarks/mined_scale.py"),
        ),
        Feature(name="slim", also=("docs/how-to/slim-a-skill.md", "benchmarks/slim_lines.py")),
        Feature(
            name="drift",
            also=("docs/how-to/keep-a-skill-true.md", "benchmarks/drift_nights.py", "action/drift-example.yml"),
        ),
        Feature(
            name="sweep",
            also=("deploy", "docs/how-to/sweep-many-skills.md", "benchmarks/*sweep*.py"),
        ),
        Feature(
            name="share",
            also=("action", "docs/how-to/share-a-skill.md"),
            lines=(("src/upskill/report/formats.py", r"render=_comment\b"),),
        ),
        Feature(
            name="agents",
            also=("benchmarks/coding_agents.py", "benchmarks/agents.py", "plugins/upskill-pi"),
        ),
    )
}


def remove(feature: Feature, root: Path) -> None:
    """Delete the feature from the repository at `root`."""
    for pattern in (f"src/upskill/{feature.name}", f"tests/{feature.name}", *feature.also):
        for path in root.glob(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for file, pattern in (
        ("src/upskill/plugin.py", rf'"upskill\.{feature.name}",'),
        ("docs/explanation/threat-model.md", rf"`tests/{feature.name}/"),  # promises of the feature
        *feature.lines,
    ):
        _drop_lines(root / file, pattern)
    value = ROOT / "src/upskill" / feature.name / "plugin.py"
    commands = re.findall(r'"([a-z]+)": Command\(', value.read_text(encoding="utf-8"))
    typed = rf"^(\$ )?(UPSKILL_\S+ )*upskill ({'|'.join(commands)})\b" if commands else r"(?!)"
    for page in (*root.glob("*.md"), *root.glob("docs/**/*.md"), *root.glob("benchmarks/**/*.md")):
        _drop_lines(page, typed)
        text = page.read_text(encoding="utf-8")
        for link, label, target in re.findall(r"(\[([^\]]*)\]\(([^)#]+)[^)]*\))", text):
            if "://" not in target and not (page.parent / target).exists():
                text = text.replace(link, label)
        page.write_text(text, encoding="utf-8")
    contract = root / "pyproject.toml"
    text = contract.read_text(encoding="utf-8")
    text = re.sub(rf"\b{feature.name} \| | \| {feature.name}\b", "", text)
    text = re.sub(rf'"upskill\.{feature.name}(\.\*\*)?",? ?', "", text)
    contract.write_text(text, encoding="utf-8")


def _drop_lines(file: Path, pattern: str) -> None:
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    file.write_text("".join(line for line in lines if not re.search(pattern, line)), encoding="utf-8")


def check(root: Path) -> list[str]:
    """The steps that fail in the repository at `root`, after its environment was made."""
    python = ".venv/bin/python"
    subprocess.run(["make", "setup"], cwd=root, check=True, stdout=subprocess.DEVNULL)
    subprocess.run([python, "-m", "tools.architecture_picture"], cwd=root, check=True)
    (root / "build").mkdir(exist_ok=True)
    for tools in ("agents", "pi", "pages", "gallery"):
        (root / "build" / tools).symlink_to(ROOT / "build" / tools)
    folders = [str(path.relative_to(root)) for kind in ("unit", "cli") for path in sorted(root.glob(f"tests/*/{kind}"))]
    steps = {
        "types": [".venv/bin/mypy", "src"],
        "contracts": [".venv/bin/lint-imports", "--no-cache"],
        "tests": [python, "-m", "pytest", "-q", "-n", "2", "--dist", "loadfile", *folders],
    }
    return [name for name, command in steps.items() if subprocess.run(command, cwd=root, check=False).returncode]


def main(names: list[str]) -> int:
    """Try each feature that is named, or all."""
    failed: dict[str, list[str]] = {}
    for name in names or FEATURES:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder) / "upskill"
            subprocess.run(["git", "clone", "--quiet", str(ROOT), str(root)], check=True)
            remove(FEATURES[name], root)
            failed[name] = check(root)
    for name, steps in failed.items():
        print(f"{name}: {'removable' if not steps else 'breaks ' + ', '.join(steps)}")
    return int(any(failed.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Features are plug-ins, ours and a stranger's alike, and no feature reaches another by a name in a string."""

import ast
import inspect
from importlib import import_module
from pathlib import Path

import pytest
from click.testing import CliRunner

from strangers import install
from upskill import plugin
from upskill.cli import app
from upskill.errors import UsageError
from upskill.plugin import Offer

SRC = Path(plugin.__file__).parent
PLACES = [
    (package, kind, name, place)
    for package, value in zip(plugin.BUILT_IN, plugin.built_in(), strict=True)
    for kind in ("commands", "harnesses", "checks", "session_readers", "offers")
    for name, place in getattr(value, kind).items()
]
BROKEN = """
from upskill.plugin import Command, Plugin

TIDE = Command(place="tide_for_tests:tide", help="Tell the tide.")
PLUGIN = Plugin(commands={"tide": TIDE, "eval": Command(place="x:y")})

import click

@click.command()
def tide():
    click.echo("high water")
"""


@pytest.mark.parametrize(("package", "kind", "name", "place"), PLACES)
def test_a_feature_brings_what_is_in_its_own_folder(package: str, kind: str, name: str, place: object) -> None:
    where = place.place if isinstance(place, plugin.Command) else str(place)
    assert where.startswith(f"{package}."), f"{kind} {name}"
    assert plugin.load(where) is not None


def test_each_name_belongs_to_one_feature() -> None:
    names = [(kind, name) for _, kind, name, _ in PLACES]
    assert len(names) == len(set(names))


def _offers() -> list[Offer[object]]:
    """Every offer that some module asks for."""
    found = []
    for path in SRC.rglob("*.py"):
        if "Offer[" in path.read_text(encoding="utf-8") and path.name != "plugin.py":
            module = import_module(".".join(path.relative_to(SRC.parent).with_suffix("").parts))
            found += [value for value in vars(module).values() if isinstance(value, Offer)]
    return list(dict.fromkeys(found))


def test_every_offer_is_asked_for_and_had_with_the_same_parameters() -> None:
    offers = {offer.name: offer for offer in _offers()}
    assert plugin.names("offers").keys() <= offers.keys()
    for path in SRC.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.AnnAssign)
                and "Offer[" in ast.unparse(node.annotation)
                and path.name != "plugin.py"
            ):
                module = import_module(".".join(path.relative_to(SRC.parent).with_suffix("").parts))
                assert isinstance(node.annotation, ast.Subscript)
                protocol = vars(module)[ast.unparse(node.annotation.slice)]
                if vars(module)[ast.unparse(node.target)].name not in plugin.names("offers"):
                    continue  # its feature was removed
                wanted = set(inspect.signature(protocol.__call__).parameters) - {"self"}
                offer = vars(module)[ast.unparse(node.target)]
                had = inspect.signature(offer.load()).parameters
                assert wanted <= had.keys(), offer.name
                left = [name for name in had.keys() - wanted if had[name].default is inspect.Parameter.empty]
                assert left == [], offer.name


def test_no_module_but_a_plug_in_names_another_by_a_string() -> None:
    packages = {name.rpartition(".")[2] for name in plugin.BUILT_IN}
    named = []
    for path in SRC.rglob("*.py"):
        if path.name == "plugin.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("upskill."):
                feature = node.value.split(".")[1].partition(":")[0]
                own = path.relative_to(SRC).parts[0]
                if feature in packages and feature != own and " " not in node.value and "/" not in node.value:
                    named.append(f"{path.relative_to(SRC)}:{node.lineno} {node.value}")
    assert named == []


def test_a_command_of_a_stranger_is_listed_and_run_and_takes_no_name_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, monkeypatch, module="tide_for_tests", text=BROKEN)
    listed = CliRunner().invoke(app, ["--help"]).stdout
    assert "Others:" in listed
    assert "Tell the tide." in listed
    assert CliRunner().invoke(app, ["tide"]).stdout == "high water\n"
    assert "Measure one or more models" in listed


def test_a_plug_in_with_a_wrong_value_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = 'from upskill.plugin import Plugin\nPLUGIN = Plugin(commands={"tide": None})\n'
    install(tmp_path, monkeypatch, module="odd_for_tests", text=text, name="odd")
    done = CliRunner().invoke(app, ["--help"])
    assert done.exit_code == 0
    assert "the plug-in odd is left out: odd_for_tests:PLUGIN: commands 'tide' is no Command" in done.stderr


def test_a_broken_plug_in_is_named_and_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, module="bad_for_tests", text="import no_such_module\n", name="bad")
    done = CliRunner().invoke(app, ["--help"])
    assert (
        "note: the plug-in bad is left out: bad_for_tests:PLUGIN cannot be loaded: ModuleNotFoundError" in done.stderr
    )
    assert "Measure one or more models" in done.stdout


def test_a_place_that_cannot_be_loaded_is_one_line_where_it_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = 'from upskill.plugin import Plugin\nPLUGIN = Plugin(harnesses={"gone": "no_such_module:GONE"})\n'
    install(tmp_path, monkeypatch, module="gone_for_tests", text=text)
    assert "gone" in plugin.names("harnesses")
    with pytest.raises(
        UsageError, match=r"^no_such_module:GONE cannot be loaded: ModuleNotFoundError: No module"
    ) as it:
        plugin.load(plugin.find("harnesses", "gone"))
    assert it.value.hint == "update the package that brings it, or uninstall it"
    assert CliRunner().invoke(app, ["doctor", "--help"]).exit_code == 0

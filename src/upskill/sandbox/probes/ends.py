"""Probes 26 to 30: output, time, and what is left behind."""

import time

from upskill.sandbox.probes.probe import Probe, ProbeOutcome, Scene, ending, processes_named

_FAR = 86_000
"""Seconds that a left-behind process would sleep. With the digits of a secret behind it, a word nobody else uses."""


def _marker(scene: Scene) -> str:
    digits = int(scene.bait.secret[-10:], 16)
    return f"{_FAR}.{digits}"


def _endless_output(scene: Scene) -> ProbeOutcome:
    ran = scene.shell("yes", seconds=20)
    most = scene.spec.limits.output_bytes
    held = ran.ended == "output" and len(ran.stdout) <= most and ran.seconds < 3
    return ProbeOutcome(
        held=held, saw=f"cut at {len(ran.stdout):,} bytes after {ran.seconds:.2f} s" if held else ending(ran)
    )


def _busy(scene: Scene) -> ProbeOutcome:
    code = "import signal\nfor s in (2, 15): signal.signal(s, signal.SIG_IGN)\nwhile True: pass"
    started = time.monotonic()
    ran = scene.python(code, seconds=2)
    took = time.monotonic() - started
    held = ran.ended == "timeout" and took < 3.5
    return ProbeOutcome(held=held, saw=f"ended after {took:.2f} s" if held else f"{ending(ran)} after {took:.1f} s")


def _left_behind(scene: Scene, script: str) -> ProbeOutcome:
    """They must have lived, or their end would say nothing."""
    marker = _marker(scene)
    started = time.monotonic()
    ran = scene.shell(script, marker)
    took = time.monotonic() - started
    lived = len(processes_named(marker))
    scene.sandbox.close()
    left = len(processes_named(marker))
    held = ran.ended == "exit" and ran.exit_code == 0 and took < 3 and lived > 0 and left == 0
    return ProbeOutcome(held=held, saw=f"back after {took:.2f} s; {lived} lived, {left} left")


def _daemons(scene: Scene) -> ProbeOutcome:
    return _left_behind(
        scene,
        'setsid sleep "$1" >/dev/null 2>&1 & nohup sleep "$1" >/dev/null 2>&1 & sleep 0.2; exit 0',
    )


def _holder(scene: Scene) -> ProbeOutcome:
    return _left_behind(scene, 'sleep "$1" & sleep 0.2; exit 0')


def _tree(scene: Scene) -> ProbeOutcome:
    marker = _marker(scene)
    script = 'for n in 1 2 3; do (setsid sh -c \'(sleep "$0" & sleep "$0")\' "$1" & ) ; done; sleep "$1"'
    ran = scene.shell(script, marker, seconds=1)
    left = len(processes_named(marker))
    again = scene.shell("exit 0")
    held = ran.ended == "timeout" and left == 0 and again.exit_code == 0
    return ProbeOutcome(
        held=held, saw=f"{left} left after {ran.seconds:.2f} s" if held else f"{ending(ran)}, {left} left"
    )


PROBES = (
    Probe(id=26, what="print without end", attempt=_endless_output),
    Probe(id=27, what="loop, deaf to every polite signal, for 2 s", attempt=_busy),
    Probe(id=28, what="leave two daemons behind", attempt=_daemons),
    Probe(id=29, what="leave a process that holds the output", attempt=_holder),
    Probe(id=30, what="be a tree of orphans when time is up", attempt=_tree),
)

"""What this package brings: the harness `pi`."""

from upskill.plugin import Plugin

PLUGIN = Plugin(harnesses={"pi": "upskill_pi.harness:PI"})

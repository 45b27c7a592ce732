"""What this package brings to upskill."""

from upskill.plugin import Plugin

PLUGIN = Plugin(checks={"orders-numbers": "upskill_example_checks:orders_numbers"})

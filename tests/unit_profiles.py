"""How hypothesis runs: fifty examples, the same each time; `explore` tries a thousand new ones.

`make interpreters` runs `brief`: what could differ there is the interpreter, not the examples.
"""

from hypothesis import HealthCheck, settings

# Nothing is timed (a busy machine is no failure) and nothing is written outside the tests' own folders.
_ALWAYS = settings(
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)
settings.register_profile("repeatable", _ALWAYS, derandomize=True, max_examples=50)
settings.register_profile("brief", _ALWAYS, derandomize=True, max_examples=25)
settings.register_profile("explore", _ALWAYS, max_examples=1_000)
settings.load_profile("repeatable")

"""One look at a set of cases, as the ledger keeps it."""

from upskill.core.nouns.look import Look

LOOK = Look(
    id="one",
    at="2026-01-02T00:00:00+00:00",
    ended_at="2026-01-02T01:00:00+00:00",
    run="runs/one",
    student="any",
    model="model",
    kind="kind",
    served=None,
    skill="thing",
    version="v1",
    sketch=(),
    against="baseline",
    design="fixed",
    repeats=1,
    cases=(),
    level=0.025,
    verdict="undecided",
    end="plan finished",
)

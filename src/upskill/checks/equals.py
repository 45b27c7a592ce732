"""`equals`: the whole answer, but for white space at its ends."""

from upskill.checks.kind import Look, string_problems
from upskill.domain.case import Json


class Equals:
    """Passes when the answer is the spec, letter for letter."""

    name = "equals"

    def problems(self, spec: Json) -> list[str]:
        """A non-empty string."""
        return string_problems(spec, kind=self.name, many=False)

    def look(self, spec: Json, answer: str) -> Look:
        """White space before and after the answer does not count; inside it does."""
        seen = answer.strip()
        if seen == str(spec).strip():
            return Look(True, "equal")
        shown = seen if len(seen) <= 60 else seen[:60] + "…"
        return Look(False, f"the answer is {shown!r}")

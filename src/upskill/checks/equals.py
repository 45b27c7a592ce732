"""`equals`: the whole answer, but for white space at its ends."""

import unicodedata

from upskill.checks.kind import Look, shown, string_problems
from upskill.domain.case import Json


class Equals:
    """Passes when the answer is the spec, letter for letter."""

    name = "equals"

    def problems(self, spec: Json) -> list[str]:
        """A non-empty string."""
        return string_problems(spec, kind=self.name, many=False)

    def look(self, spec: Json, answer: str) -> Look:
        """White space before and after the answer does not count; inside it does. Accents may be spelt either way."""
        if _normal(answer) == _normal(str(spec)):
            return Look(True, "equal")
        return Look(False, f"the answer is {shown(answer.strip())}")


def _normal(text: str) -> str:
    return unicodedata.normalize("NFC", text.strip())

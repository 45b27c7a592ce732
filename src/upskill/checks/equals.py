"""`equals`: the whole answer, but for white space at its ends."""

import unicodedata

from upskill.checks.bench import Look
from upskill.checks.kind import Kind, Work, shown, string_problems, strings_of
from upskill.domain.answer_schemas import TEXT
from upskill.domain.case import Json


class Equals(Kind):
    """Passes when the answer is the spec, letter for letter."""

    name = "equals"
    only_words = True
    schema = TEXT
    told = '`{"equals": "7413"}`: the whole answer is this.'

    def problems(self, spec: Json) -> list[str]:
        """A non-empty string."""
        return string_problems(spec, kind=self.name, many=False)

    def expected(self, spec: Json) -> list[str]:
        """All of it."""
        return strings_of(spec)

    def look(self, spec: Json, work: Work) -> Look:
        """White space before and after the answer does not count; inside it does. Accents may be spelt either way."""
        if _normal(work.answer.text) == _normal(str(spec)):
            return Look(True, "equal")
        return Look(False, f"the answer is {shown(work.answer.text.strip())}")


def _normal(text: str) -> str:
    return unicodedata.normalize("NFC", text.strip())

"""`regex`: a pattern searched in the answer. A pattern that runs away is stopped and counts as our fault."""

import regex

from upskill.checks.kind import Look, string_problems
from upskill.domain.case import Json

SECONDS = 2.0


class Regex:
    """Passes when the pattern matches somewhere. Write `(?i)` to ignore case, `(?s)` to let `.` cross lines."""

    name = "regex"

    def problems(self, spec: Json) -> list[str]:
        """A pattern that compiles and does not match an empty answer."""
        problems = string_problems(spec, kind=self.name, many=False)
        if problems:
            return problems
        try:
            pattern = regex.compile(str(spec))
        except (regex.error, RecursionError, OverflowError) as error:
            return [f"`regex` does not compile: {error}"]
        try:
            if pattern.search("", timeout=SECONDS):
                return ["`regex` matches an empty answer, so any answer would pass"]
        except TimeoutError:
            return ["`regex` does not come to an end on an empty answer"]
        return []

    def look(self, spec: Json, answer: str) -> Look:
        """Search, and show what matched."""
        # Other threads go on while it searches.
        match = regex.search(str(spec), answer, timeout=SECONDS, concurrent=True)
        if match is None:
            return Look(False, f"no match for {spec!r}")
        shown = match.group(0)
        return Look(True, f"matched {shown[:60]!r}")

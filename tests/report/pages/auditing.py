"""An accessibility audit of a page: axe-core, in a real browser, in light and dark, wide and narrow."""

from dataclasses import dataclass
from pathlib import Path

from report.pages.browser import DESK, PHONE, Browser, Look

AXE = Path(__file__).parents[3] / "build" / "pages" / "node_modules" / "axe-core" / "axe.min.js"
SERIOUS = ("serious", "critical")
LOOKS = (
    Look(width=DESK, scheme="light"),
    Look(width=DESK, scheme="dark"),
    Look(width=PHONE, scheme="light"),
    Look(width=PHONE, scheme="dark"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """Something that keeps somebody from using the page."""

    impact: str
    rule: str
    says: str
    where: tuple[str, ...]
    look: Look

    def __str__(self) -> str:
        places = "; ".join(self.where[:3]) + (f" and {len(self.where) - 3} more" if len(self.where) > 3 else "")
        return f"{self.impact}: {self.rule} ({self.look.width} wide, {self.look.scheme}): {self.says}: {places}"


def audit(page: Path | str, *, browser: Browser, looks: tuple[Look, ...] = LOOKS, first: str = "") -> list[Finding]:
    """What axe finds wrong with a page, of any weight. `first` is JavaScript to run before, to open something."""
    if not AXE.exists():
        raise FileNotFoundError(f"{AXE} is not there; run `make pages`")
    found: list[Finding] = []
    for look in looks:
        browser.open(page, look)
        if first:
            browser.run(first)
        browser.run(AXE.read_text(encoding="utf-8") + ";0")
        violations = browser.run("axe.run(document, {resultTypes: ['violations']}).then(found => found.violations)")
        found += [
            Finding(
                impact=str(one["impact"]),
                rule=one["id"],
                says=one["help"],
                where=tuple(" ".join(map(str, node["target"])) for node in one["nodes"]),
                look=look,
            )
            for one in violations
        ]
    return found


def serious(findings: list[Finding]) -> list[str]:
    """Those that must not be there, in words."""
    return [str(finding) for finding in findings if finding.impact in SERIOUS]

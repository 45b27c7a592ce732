"""Evidence made by hand: one model that a skill helps."""

from upskill.domain.digest import digest_of
from upskill.domain.evidence import Evidence, EvidenceResult, MeasuredFile, MeasuredSkill

FILE = MeasuredFile(path="SKILL.md", size=3, sha256="a" * 64, sha256_lf="a" * 64)
EVIDENCE = Evidence(
    skill=MeasuredSkill(name="port", digest=digest_of([["SKILL.md", "a" * 64]]), text_digest="c" * 64, files=(FILE,)),
    results=(
        EvidenceResult(
            model="haiku",
            resolved="anthropic/haiku",
            harness="chat/2",
            arm="with_skill",
            against="baseline",
            verdict="helps",
            claim="cases like these",
            sentence="helps: +50 points",
            rate=0.75,
            rate_against=0.25,
            lift=0.5,
            these_cases=(0.2, 0.8),
            cases_like_these=(0.1, 0.9),
            confidence=0.95,
            pairs=12,
            design="fixed",
            repeats=1,
            cases=("1" * 64, "2" * 64),
            versions={"upskill": "0.1.0"},
            finished_at="2026-11-15T12:00:00+00:00",
        ),
    ),
    date="2026-11-15",
)

"""What everybody who writes is told of the student."""

from upskill.domain import harness_info
from upskill.domain.student_profile import RUNG_NAMES, Aptitude, StudentProfile
from upskill.teaching.prompts import prompt


def student_told(profile: StudentProfile | None) -> str:
    """A section of a prompt; empty where no student is known."""
    if profile is None:
        return ""
    window, output = profile.window, profile.output_tokens
    return prompt(
        "student",
        names=", ".join(profile.names) + _size(profile.parameters),
        window=f"Question, skill and answer together have at most {window:,} tokens. " if window else "",
        output=f"Answers are cut at {output:,} tokens. " if output else "",
        harness=_how(profile.harness),
        budget=f"{profile.skill_tokens:,}",
        counted=_counted(profile),
        aptitude="".join(f"\n\n{_measured(one)}" for one in profile.aptitudes),
    )


def _size(parameters: int | None) -> str:
    if parameters is None:
        return ""
    millions = parameters / 1_000_000
    return (
        f" ({millions / 1000:.1f} billion parameters)" if millions >= 1000 else f" ({millions:.0f} million parameters)"
    )


def _counted(profile: StudentProfile) -> str:
    if profile.exact:
        return "as the student's own tokenizer counts them"
    return "estimated at four bytes each" if profile.window is None else "estimated at three for eight bytes"


def reader_told(profile: StudentProfile | None) -> str:
    """What the writer of a skill is told of its reader: the student, and how to write where it is small."""
    if profile is None:
        return "Of the student nothing is known: leave out only what any language model does right unasked."
    return student_told(profile) + (f"\n\n{prompt('small_student')}" if profile.is_small else "")


def asked_told(profile: StudentProfile | None) -> str:
    """What whoever plans or writes cases is told: the student, and what can be asked of one that is tiny."""
    return student_told(profile) + (f"\n\n{prompt('tiny_cases')}" if profile is not None and profile.is_tiny else "")


def _how(harness: str) -> str:
    if harness == "auto":
        return (
            "It answers once, without tools, unless a case has files or its checks run programs: then it works with "
            "tools in a sandbox, if it can."
        )
    info = harness_info(harness)
    if info.with_tools:
        return "It works with tools in a sandbox, where the files of the task and of the skill lie."
    return (
        "It answers once, without tools: the skill's body stands in its system message, the files of a task in the "
        "prompt, and it delivers a file as a fenced block with the path in the line above. It reads no other file of "
        "the skill."
    )


def _measured(one: Aptitude) -> str:
    if one.baseline is None:
        return f"What {one.student} can do was not measured."
    parts = [f"Measured on the cases to learn from, {one.student} passes {one.baseline:.0%} without anything"]
    if one.ceiling is not None:
        parts.append(f", and {one.ceiling:.0%} with the passage that holds the answer in the prompt")
    told = "".join(parts) + "."
    if one.ceiling is not None and one.rungs:
        listed = ", ".join(
            f"{RUNG_NAMES.get(rung.rung, rung.rung)} {rung.ceiling} of {rung.cases}" for rung in one.rungs
        )
        told += f" By kind, with the passage: {listed}."
    if one.cut:
        told += f" {one.cut} of {one.trials} answers were cut at the longest answer."
    return told

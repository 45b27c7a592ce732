"""Asks a teacher for a draft of a skill, or for changes to an existing one. Reading the answer is `draft_answer`."""

from collections.abc import Callable, Iterable, Sequence

from upskill.domain import Draft, Lesson, estimate_tokens
from upskill.domain.answer_schemas import FILES, TEXT, TEXTS, Schema, list_of, object_of, one_of
from upskill.domain.student_profile import CountTokens, StudentProfile
from upskill.models import Ask, Message, Question
from upskill.teaching.answers import TeacherUnusable, ask_for
from upskill.teaching.citations import KnownCitations
from upskill.teaching.comments import comments_text
from upskill.teaching.context_window import answer_tokens, material_budget
from upskill.teaching.draft_answer import DraftReader
from upskill.teaching.draft_rules import Clean, clean_by_patterns
from upskill.teaching.material import Material, material_text, skill_text
from upskill.teaching.programs import RunProgram, proven_commands
from upskill.teaching.prompts import prompt, quoted
from upskill.teaching.skill_budget import SkillBudget, budget_for, within_budget
from upskill.teaching.student_told import reader_told

MOST_COMMANDS = 30
MOST_TAKEN = 100
MOST_TOPICS = 40
IMPROVE = "Make it better: shorter where it says what the student does right without it, exact where it is vague."


_REFERENCES = list_of(object_of(("path", "text"), path=TEXT, when=TEXT, text=TEXT, sources=TEXTS))
_SCRIPTS = list_of(
    object_of(("path", "text"), path=TEXT, when=TEXT, text=TEXT, sources=TEXTS, arguments=TEXTS, inputs=FILES)
)
_ACTION = one_of("add", "replace", "remove")
_CHANGE = object_of(("action", "heading"), action=_ACTION, heading=TEXT, text=TEXT, sources=TEXTS)


def draft_skill(
    material: Material,
    lessons: Sequence[Lesson],
    ask: Ask,
    *,
    avoid: Iterable[str] = (),
    topics: Iterable[str] = (),
    window: int | None = None,
    profile: StudentProfile | None = None,
    count: CountTokens = estimate_tokens,
    clean: Clean = clean_by_patterns,
    run: RunProgram | None = None,
    on_draft: Callable[[Draft], object] = lambda _: None,
) -> Draft:
    """A draft that keeps to the rules and to the students' budget. Raises `TeacherUnusable` where there is none.

    With lessons, the draft is made from them; without, from the material itself. Where the material holds a skill, that
    one is changed item by item, and its name and all that is not changed stay. `avoid`: names that are taken. `topics`:
    what the learn cases are about. `clean` takes secrets out of the answer. `run` tries programs in a sandbox; without
    it they stay text. `count` counts tokens as the student does; a body that is too long is shortened, and `on_draft`
    gets it as it was before.
    """
    reader = DraftReader(
        known=KnownCitations(material),
        lessons=lessons,
        clean=clean,
        avoid=frozenset(avoid),
        proven=proven_commands(material.digest),
        run=run,
    )
    skill = material.skill
    budget = budget_for(profile, count, old=skill)
    question = _question(material, lessons, reader, topics=tuple(topics), window=window, budget=budget, profile=profile)
    try:
        if skill is None:
            draft = ask_for(ask, question, reader.new)
        else:
            draft = ask_for(ask, question, lambda text: reader.improved(text, skill))
    except TeacherUnusable:
        if reader.good_enough is None:
            raise
        draft = reader.good_enough
    on_draft(draft)
    return within_budget(draft, ask, budget=budget, profile=profile, window=window, clean=clean)


def _question(
    material: Material,
    lessons: Sequence[Lesson],
    reader: DraftReader,
    *,
    topics: Sequence[str],
    window: int | None,
    budget: SkillBudget,
    profile: StudentProfile | None,
) -> Question:
    seen = material_text(material, lessons, budget=material_budget(window))
    scripts = bool(reader.proven) and reader.run is not None
    told = "\n" + prompt("draft_scripts", commands=quoted("\n".join(reader.proven[:MOST_COMMANDS]))) if scripts else ""
    skill = material.skill
    if skill is None:
        taken = ", ".join(f"`{name}`" for name in sorted(reader.avoid)[:MOST_TAKEN])
        text = prompt(
            "draft",
            task=quoted(material.task.strip() or "(not said; it shows in the material)"),
            material=seen,
            topics=f" Some of them are about: {', '.join(topics[:MOST_TOPICS])}." if topics else "",
            taken=f" Names that are taken: {taken}." if taken else "",
            budget=f"{budget.tokens:,}",
            scripts=told,
        )
        schema = _draft_schema(scripts=scripts)
    else:
        text = prompt(
            "improve",
            task=quoted(material.task.strip() or IMPROVE),
            name=skill.name,
            skill=skill_text(skill),
            material=comments_text(material.comments, end="\n\n")
            + (seen if material.examples or material.documents or material.digest or lessons else ""),
            budget=f"{budget.tokens:,}",
            tokens=f"{budget.count(skill.body):,}",
            scripts=told,
        )
        schema = _improvement_schema(scripts=scripts)
    return Question(
        purpose="draft",
        system=prompt("draft_system", budget=f"{budget.tokens:,}", student=reader_told(profile)),
        messages=(Message(role="user", text=text),),
        schema=schema,
        max_output_tokens=answer_tokens(window),
    )


def _draft_schema(*, scripts: bool) -> Schema:
    section = object_of(("heading", "text"), heading=TEXT, text=TEXT, sources=TEXTS)
    fields = {"name": TEXT, "description": TEXT, "sections": list_of(section), "references": _REFERENCES}
    fields["drop_first"] = TEXTS
    return object_of(("name", "description", "sections"), **fields, **({"scripts": _SCRIPTS} if scripts else {}))


def _improvement_schema(*, scripts: bool) -> Schema:
    fields = {"changes": list_of(_CHANGE), "description": TEXT, "references": _REFERENCES, "remove_files": TEXTS}
    fields["drop_first"] = TEXTS
    return object_of(("changes",), **fields, **({"scripts": _SCRIPTS} if scripts else {}))

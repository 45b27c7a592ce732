"""Reads a teacher's answer as a draft. Corrects what is plainly meant and reports every other problem at once."""

import json
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from upskill.core.models.teacher_answers import UnusableAnswer
from upskill.core.nouns import estimate_tokens
from upskill.core.skills.markdown import Section, join_body, split_body, tidy_section
from upskill.generation.citations import KnownCitations
from upskill.generation.draft import (
    Clean,
    Draft,
    Lesson,
    SectionSource,
    draft_problems,
    file_problem,
    name_problems,
    repaired_name,
    wishes,
    without_hidden,
)
from upskill.generation.programs import Program, ProgramOutcome, RunProgram, try_programs
from upskill.generation.prompts import quoted

logger = logging.getLogger(__name__)

MORE = "More"
"""The heading under which files are listed that no section mentions: a student would not open them otherwise."""
MOST_SECTIONS = 12
MOST_WRITTEN_FILES = 8
MOST_FILE_TOKENS = 5_000


def portable_description(text: str, *, clean: Clean) -> str:
    """On one line, without secrets and without characters that other readers of a skill refuse."""
    line = " ".join(clean(without_hidden(text)).split())
    line = re.sub(r"\s*[-=]+>\s*", " to ", re.sub(r"<([^<>]{1,60})>", r"\1", line))
    return re.sub(r"-{3,}", "-", line)


@dataclass(kw_only=True, slots=True)
class DraftReader:
    """Reads the answers to one question. Counts its tries: a wish is reported once, a problem every time."""

    known: KnownCitations
    lessons: Sequence[Lesson]
    clean: Clean
    avoid: frozenset[str] = frozenset()
    proven: Sequence[str] = ()
    run: RunProgram | None = None
    tries: int = 0
    good_enough: Draft | None = None
    """A usable draft whose teacher was asked for a better one."""

    def new(self, text: str) -> Draft:
        """A whole skill. Raises `UnusableAnswer`."""
        value = json.loads(text)
        problems: list[str] = []
        name = self._name(value["name"], problems)
        sections, sources = self._sections(value["sections"], problems)
        files, more = self._files(value.get("references", ()), problems, sources)
        draft = Draft(
            name=name,
            description=self._description(value["description"]),
            body=self.clean(join_body(sections)),  # once more: a heading and its text can make a secret together
            files=files,
            sources=tuple(sources),
            expendable=tuple(value.get("drop_first", ())),
        )
        return self._finished(draft, more, value.get("scripts", ()), problems)

    def improved(self, text: str, skill: Draft) -> Draft:
        """The skill with the changes made; what they do not name stays byte for byte. Raises `UnusableAnswer`."""
        value = json.loads(text)
        problems: list[str] = []
        sources = list(skill.sources)
        body = self._changed(skill, value["changes"], problems, sources)
        files, more = self._files(value.get("references", ()), problems, sources)
        removed = set(value.get("remove_files", ()))
        problems += [f"there is no file {path!r} to remove" for path in sorted(removed - set(skill.files))]
        draft = replace(
            skill,
            description=self._description(value.get("description", "")) or skill.description,
            body=body,
            files={**{path: data for path, data in skill.files.items() if path not in removed}, **files},
            executable=skill.executable - removed - set(files),
            sources=tuple(source for source in sources if source.heading not in removed),
            expendable=tuple(value.get("drop_first", ())),
        )
        return self._finished(draft, more, value.get("scripts", ()), problems, before=skill)

    def _finished(
        self,
        draft: Draft,
        more: Mapping[str, str],
        scripts: Sequence[Any],
        problems: list[str],
        before: Draft | None = None,
    ) -> Draft:
        """The draft with its programs and with every file named in the body, if it has no problem."""
        self.tries += 1
        programs = self._programs(scripts, problems)
        problems += draft_problems(draft, before=before, clean=self.clean, sized=False)
        if problems:
            return self._instead(problems)
        outcomes = try_programs(programs, proven=self.proven, files=draft.files, run=self.run)
        wanted = [one.why for one in outcomes if one.status == "broken"]
        if before is None:
            wanted += wishes(draft, also=[program.path for program in programs])
        draft, when = self._with_programs(draft, outcomes, {item["path"]: item for item in scripts})
        draft = _naming_files(draft, {**more, **when})
        if late := draft_problems(draft, before=before, clean=self.clean, sized=False):
            return self._instead(late)
        if wanted and self.tries == 1:
            self.good_enough = draft
            raise UnusableAnswer(wanted)
        return draft

    def _instead(self, problems: list[str]) -> Draft:
        """The earlier draft that could have been better, if there is one: asking again must not lose it."""
        if self.good_enough is None:
            raise UnusableAnswer(problems)
        return self.good_enough

    def _name(self, text: str, problems: list[str]) -> str:
        name = repaired_name(without_hidden(text))
        if found := name_problems(name):
            problems += found
            return "skill"
        taken, number = name, 2
        while taken in self.avoid:
            taken = f"{name[:60].rstrip('-')}-{number}"
            number += 1
        return taken

    def _description(self, text: str) -> str:
        return portable_description(text, clean=self.clean)

    def _text(self, text: str) -> str:
        return self.clean(without_hidden(text))

    def _sections(self, listed: Sequence[Any], problems: list[str]) -> tuple[list[Section], list[SectionSource]]:
        sections: list[Section] = []
        sources: list[SectionSource] = []
        if len(listed) > MOST_SECTIONS:
            problems.append(f"there are {len(listed)} sections; at most {MOST_SECTIONS} are allowed")
        for item in listed[:MOST_SECTIONS]:
            section = self._section(item)
            if section.text.strip():
                sections.append(section)
                sources.append(self._source(section.heading, item.get("sources", ())))
        return sections, sources

    def _section(self, item: Mapping[str, Any]) -> Section:
        return section_of(item, clean=self.clean)

    def _source(self, heading: str, named: Sequence[str]) -> SectionSource:
        """Where a section came from: lessons by number, with their steps, and citations of the material."""
        numbers = [int(found) for word in named for found in re.findall(r"\bL(\d{1,6})\b", word[:300])]
        taken = [number for number in dict.fromkeys(numbers) if 1 <= number <= len(self.lessons)]
        steps = [step for number in taken for step in self.lessons[number - 1].steps]
        steps += self.known.named_in([re.sub(r"\bL\d{1,6}\b[,;\s]*", "", word[:300]) for word in named])
        return SectionSource(
            heading=heading, lessons=tuple(f"L{number}" for number in taken), steps=tuple(dict.fromkeys(steps))
        )

    def _changed(self, skill: Draft, changes: Sequence[Any], problems: list[str], sources: list[SectionSource]) -> str:
        if not changes:
            return skill.body
        sections = list(split_body(skill.body))
        for change in changes[: 2 * MOST_SECTIONS]:
            wanted = " ".join(change["heading"].replace("#", " ").split())
            at = next((n for n, one in enumerate(sections) if one.heading.casefold() == wanted.casefold()), None)
            if change["action"] == "add":
                section = self._section(change)
                if at is not None:
                    problems.append(f"there is a section {wanted!r} already; replace it")
                elif not section.heading or not section.text.strip():
                    problems.append("a section that is added needs a heading and a text")
                else:
                    sections.append(section)
                    sources.append(self._source(section.heading, change.get("sources", ())))
                continue
            if at is None:
                names = ", ".join(repr(one.heading) for one in sections)
                problems.append(f"there is no section {wanted!r} to {change['action']}; there are {names}"[:600])
                continue
            heading = sections[at].heading
            sources[:] = [source for source in sources if source.heading != heading]
            if change["action"] == "remove":
                del sections[at]
            elif (section := self._section({**change, "heading": heading})).text.strip():
                sections[at] = section
                sources.append(self._source(heading, change.get("sources", ())))
            else:
                problems.append(f"the new text of section {wanted!r} is empty; remove it instead")
        return join_body(sections)

    def _files(
        self, listed: Sequence[Any], problems: list[str], sources: list[SectionSource]
    ) -> tuple[dict[str, bytes], dict[str, str]]:
        """The files a teacher wrote, and when each is to be read."""
        files: dict[str, bytes] = {}
        when: dict[str, str] = {}
        for item in listed:
            path = _placed(item["path"], "references")
            text = self._text(item["text"]).strip("\n")
            if not text.strip():
                continue
            if problem := file_problem(path):
                problems.append(f"the path {item['path'][:120]!r} {problem}")
            elif not path.startswith(("references/", "assets/")):
                problems.append(f"the path {path!r} must be under references/")
            elif (tokens := estimate_tokens(text)) > MOST_FILE_TOKENS:
                problems.append(f"{path} has about {tokens:,} tokens; at most {MOST_FILE_TOKENS:,} are allowed")
            else:
                files[path] = f"{text}\n".encode()
                sources[:] = [source for source in sources if source.heading != path]
                when[path] = _short(self._text(item.get("when", "")))
                sources.append(self._source(path, item.get("sources", ())))
        if len(listed) > MOST_WRITTEN_FILES:
            problems.append(f"there are {len(listed)} files; at most {MOST_WRITTEN_FILES} are allowed")
        return files, when

    def _programs(self, listed: Sequence[Any], problems: list[str]) -> list[Program]:
        found: list[Program] = []
        for item in listed[:MOST_WRITTEN_FILES]:
            path = item["path"] = _placed(item["path"], "scripts")
            inputs = {one["path"]: one["text"].encode() for one in item.get("inputs", ())}
            if problem := next((text for one in (path, *inputs) if (text := file_problem(one))), None):
                problems.append(f"the path {path[:120]!r}, or one of its inputs, {problem}")
            elif not path.startswith("scripts/"):
                problems.append(f"the path {path!r} must be under scripts/")
            elif text := self._text(item["text"]).strip("\n"):
                arguments = tuple(one.replace("\0", "") for one in item.get("arguments", ()))
                found.append(Program(path=path, text=f"{text}\n", arguments=arguments, inputs=inputs))
        return found

    def _with_programs(
        self, draft: Draft, outcomes: Sequence[ProgramOutcome], items: Mapping[str, Any]
    ) -> tuple[Draft, dict[str, str]]:
        """The draft with the programs that ran; the others become text under references/, also in the body."""
        files, executable, body = dict(draft.files), set(draft.executable), draft.body
        sources = list(draft.sources)
        when: dict[str, str] = {}
        for one in outcomes:
            logger.info("program %s: %s", one.status, one.why)
            program, path = one.program, one.program.path
            if one.status == "broken":
                body = "\n".join(line for line in body.split("\n") if path not in line)
                continue
            if one.status == "ran":
                files[path] = program.text.encode()
                executable.add(path)
            else:
                stem = path.removeprefix("scripts/").replace("/", "-").rsplit(".", 1)
                path = f"references/{'-'.join(stem)}.md"
                language = "python" if program.path.endswith(".py") else "sh"
                files[path] = f"{quoted(program.text, language=language)}\n".encode()
                body = body.replace(program.path, path)
            item = items[program.path]
            when[path] = _short(item.get("when", ""))
            sources.append(self._source(path, item.get("sources", ())))
        changed = replace(draft, body=body, files=files, executable=frozenset(executable), sources=tuple(sources))
        return changed, when


def body_of(listed: Sequence[Any], *, clean: Clean) -> str:
    """The body that the sections of an answer make, without those that are empty."""
    sections = (section_of(item, clean=clean) for item in listed[:MOST_SECTIONS])
    return clean(join_body(section for section in sections if section.text.strip()))


def section_of(item: Mapping[str, Any], *, clean: Clean) -> Section:
    """A section as a teacher gave it, without secrets and without what would break the body around it."""
    text = clean(without_hidden(item.get("text", "")))
    if text.startswith("---\n") and "\n---\n" in text[4:]:  # frontmatter, which is ours to write
        text = text[4:].split("\n---\n", 1)[1]
    return tidy_section(clean(without_hidden(item["heading"])), text)


def _placed(path: str, folder: str) -> str:
    """The path, in this folder where it names none."""
    plain = path.strip().removeprefix("./")
    return f"{folder}/{plain}" if plain and "/" not in plain and "\\" not in plain else plain


def _naming_files(draft: Draft, when: Mapping[str, str]) -> Draft:
    """The draft with a line for every new file that its body does not mention."""
    missing = [path for path in sorted(when) if path not in draft.body]
    if not missing:
        return draft
    lines = "\n".join(f"- `{path}`" + (f": {when[path]}" if when[path] else "") for path in missing)
    sections = list(split_body(draft.body))
    if sections and sections[-1].heading == MORE:
        sections[-1] = replace(sections[-1], text=f"{sections[-1].text}\n{lines}", raw=None)
    else:
        sections.append(Section(heading=MORE, text=lines))
    return replace(draft, body=join_body(sections))


def _short(text: str) -> str:
    return " ".join(text.split())[:200]

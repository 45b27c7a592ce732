"""The corpora of secrets and of skills: what is left of each text, and what is found in each skill."""

import json
import re
from hashlib import sha256
from pathlib import Path
from typing import Any

from forking import COMMAND, run_program
from golden import inside
from golden.held import hold
from secret_corpus.blind import blind, blind_benign, more_forms
from secret_corpus.chats import chat_with
from secret_corpus.harmless import harmless_lines
from secret_corpus.planted import all_planted, held_apart, second_list
from secret_corpus.unseen import everyday_lines, unseen, variables
from skill_corpus.entries import bad_skills, good_skills

PLACEHOLDER = re.compile(r"\[redacted: ([^\]]{1,60})\]")


def test_of_every_text_with_a_secret_the_same_is_left() -> None:
    lists = {
        "planted": all_planted(),
        "held apart": held_apart(),
        "second list": second_list(),
        "more forms": more_forms(),
        **{f"unseen {kind}": unseen(kind) for kind in ("plain", "hard")},
        **{f"{name} {kind}": blind(f"blind_{name}.yaml", kind) for name in _LISTS for kind in ("plain", "hard")},
    }
    seen = {
        # Names of entries hold the secrets of some lists.
        f"{name} {number}": [_left(planted.text), _left(json.dumps({"out": planted.text}, ensure_ascii=False))]
        for name, entries in lists.items()
        for number, planted in enumerate(entries)
    }
    seen["a chat with all planted"] = [_left(chat_with(all_planted()))]
    for name, lines in (("harmless", harmless_lines()), ("everyday", everyday_lines()), ("benign", blind_benign())):
        seen[f"{name} lines"] = [_left("\n".join(lines))]
    hold("values/secrets", seen)


def test_the_same_variables_count_as_keys_of_the_user() -> None:
    hold(
        "values/variables",
        {
            f"{file} {name}": inside.holds_secret(name, value)
            for file in ("variables.yaml", "blind_variables.yaml")
            for group in ("holds", "holds_nothing")
            for name, value in variables(group, name=file).items()
        },
    )


def test_the_same_is_found_in_every_skill(tmp_path: Path) -> None:
    for skill in (*bad_skills(), *good_skills()):
        skill.write(tmp_path / "skills")
    done = run_program(
        [COMMAND, "lint", "skills", "--json"], cwd=tmp_path, env={"HOME": str(tmp_path), "LANG": "C.UTF-8"}
    )
    assert done.returncode == 1, done.stderr
    hold("values/skills", {skill["name"]: _found(skill) for skill in json.loads(done.stdout)["skills"]})


_LISTS = ("list_a", "list_b")


def _left(text: str) -> dict[str, Any]:
    """What redaction leaves of a text, by its digest, and the kinds of secrets that it names there."""
    left = inside.redacted(text)
    kinds = PLACEHOLDER.findall(left)
    return {"digest": sha256(left.encode()).hexdigest()[:16], "kinds": {kind: kinds.count(kind) for kind in kinds}}


def _found(skill: dict[str, Any]) -> dict[str, Any]:
    findings = [[one[key] for key in ("rule", "severity", "file", "line", "accepted")] for one in skill["findings"]]
    return {"digest": skill["digest"], "findings": findings, "refused": skill["refused"] is not None}

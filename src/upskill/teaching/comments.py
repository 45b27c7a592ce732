"""Comments of a person on answers, as a teacher reads them: each beside its task and its answer, all of it quoted.

Comments on held-out cases never come here: who hands comments in leaves them out.
"""

from collections.abc import Sequence

from upskill.domain.feedback import CommentedAnswer, Opinion, Subject
from upskill.teaching.failures import cut
from upskill.teaching.prompts import prompt, quoted

MOST_COMMENTS = 20
MOST_CHARACTERS = 24_000
"""For all comments of one request together, about six thousand tokens."""
LEAST_EACH = 600
_OPINIONS: dict[Opinion | None, str] = {
    "right": "the person calls the answer right",
    "wrong": "the person calls the answer wrong",
    "unclear": "the person calls the answer unclear",
    None: "a note of the person",
}
_SUBJECTS: dict[Subject, str] = {
    "the skill": "given with this skill",
    "another version": "given with another version of the skill, which you do not see",
    "no skill": "given without any skill",
}
_CHECKS = {True: "its checks passed it", False: "its checks failed it", None: "what its checks say of it is not known"}


def comments_text(comments: Sequence[CommentedAnswer], *, most: int = MOST_CHARACTERS, end: str = "\n") -> str:
    """The comments, those that ask for a change first, within about so many characters; empty where there are none."""
    if not comments:
        return ""
    most = max(LEAST_EACH, min(most, MOST_CHARACTERS))
    shown = sorted(comments, key=lambda one: not one.is_wish)[: max(1, min(MOST_COMMENTS, most // LEAST_EACH))]
    parts = [_one(number, comment, most // len(shown)) for number, comment in enumerate(shown, start=1)]
    if left := len(comments) - len(shown):
        parts.append(f"{left} more comment{'' if left == 1 else 's'} are not shown.")
    return prompt("comments", comments="\n\n".join(parts)) + end


def _one(number: int, comment: CommentedAnswer, most: int) -> str:
    checks = _CHECKS[comment.passed]
    if comment.doubts_checks:
        checks += ", and the person disagrees"
    note = cut(comment.note, most // 3)
    return prompt(
        "comment",
        number=number,
        opinion=_OPINIONS[comment.opinion],
        task=quoted(cut(comment.prompt, most // 3)),
        subject=_SUBJECTS[comment.subject],
        checks=checks,
        answer=quoted(cut(comment.answer, most // 3) or "(nothing)"),
        note=f"\nThe person's note:\n\n{quoted(note)}" if note else "",
    ).rstrip()

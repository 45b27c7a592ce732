"""The fold near the end of a page that explains its words."""

from markupsafe import Markup

from upskill.reporting.html.folds import Fold
from upskill.reporting.html.glossary import words_on
from upskill.reporting.html.templating import render


def words_fold(*parts: str) -> Fold | None:
    """The words that these pieces of HTML use; `None` where they use none that needs it."""
    words = words_on(*parts)
    if not words:
        return None
    names = [word.name for word in words]
    return Fold(
        name="words", title="Words on this page", finding=", ".join(names), body=render("words.html", words=words)
    )


def words_section(*parts: str) -> Markup:
    """The same where a page has no other folds."""
    fold = words_fold(*parts)
    return render("details.html", folds=[] if fold is None else [fold])

"""What mkdocs and its theme do not do for us, called by mkdocs while it builds the site.

Links of the docs lead into the repository too, to examples, a schema, CONTRIBUTING. On the site they lead to copies of
those files, shown as plain text. The search prefers pages for users. Dialogs have names. A page that would ask a server
for anything is refused.
"""

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent
COPIES = "source"
_LINK = re.compile(r"(\]\()((?:\.\./)+[^)#\s]+)((?:#[^)\s]*)?\))")
BOOSTS = {
    "reference/glossary.md": 8.0,
    "tutorial/": 4.0,
    "how-to/": 4.0,
    "reference/models.md": 4.0,
    "reference/sessions.md": 4.0,
    "reference/lint.md": 4.0,
    "explanation/decisions": 0.3,
    "explanation/measurements.md": 0.3,
}
"""How much a page weighs in the search, by the beginning of its path; 1 otherwise."""
DIALOG = ('role="dialog"', 'role="dialog" aria-label="Search"')
"""The theme's one dialog, as it is and as a screen reader needs it."""
_FETCHED = re.compile(r"""<(?:script|img|iframe|source)\b[^>]*\bsrc=["']?https?:|<link\b[^>]*\bhref=["']?https?:""")


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links that leave docs/ become links to copies. The page gets its weight in the search."""
    boost = next((weight for path, weight in BOOSTS.items() if page.file.src_uri.startswith(path)), 1.0)
    page.meta.setdefault("search", {"boost": boost})
    here = Path(page.file.abs_src_path or "").parent

    def led(match: re.Match[str]) -> str:
        target = (here / match[2]).resolve()
        if not target.is_file() or target.is_relative_to(config.docs_dir) or not target.is_relative_to(ROOT):
            return match[0]
        name = f"{COPIES}/{target.relative_to(ROOT).as_posix()}.txt"
        if files.get_file_from_path(name) is None:
            files.append(File.generated(config, name, content=target.read_text(encoding="utf-8")))
        back = posixpath.relpath(name, posixpath.dirname(page.file.src_uri) or ".")
        return f"{match[1]}{back})"

    return _LINK.sub(led, markdown)


def on_post_template(output: str, **_: object) -> str:
    """The page for what is not found has the same dialog."""
    return output.replace(*DIALOG)


def on_post_page(output: str, *, page: Page, **_: object) -> str:
    """Mend what the theme leaves out. A page that would fetch something from elsewhere is an error."""
    output = output.replace(*DIALOG)
    if found := _FETCHED.search(output):
        raise PluginError(f"{page.file.src_uri} would fetch from a server: {found[0]}")
    return output

"""The picture of a comment on a pull request: Markdown to a page that looks as on GitHub, and that to a PNG.

`python -m tools.comment_picture body.md docs/images/pull-request-comment.png 900 900` needs chromium. `body.md` is what
`action/summary.sh` wrote.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from markdown_it import MarkdownIt

STYLE = """
* {box-sizing: border-box}
body {margin: 0; padding: 20px; background: #fff; color: #1f2328;
  font: 14px/1.5 -apple-system, "Segoe UI", "Noto Sans", Helvetica, Arial, sans-serif}
.box {border: 1px solid #d1d9e0; border-radius: 6px}
.head {background: #f6f8fa; border-bottom: 1px solid #d1d9e0; border-radius: 6px 6px 0 0; padding: 8px 16px}
.text {padding: 16px; overflow-wrap: break-word}
.text > :last-child {margin-bottom: 0}
h3 {font-size: 1.25em; margin: 0 0 16px}
p, ul, details, pre, table {margin: 0 0 16px}
ul {padding-left: 2em}
li + li {margin-top: .25em}
a {color: #0969da}
table {display: block; width: max-content; max-width: 100%; overflow: auto; border-collapse: collapse}
th, td {padding: 6px 13px; border: 1px solid #d1d9e0; text-align: left}
tr:nth-child(2n) td, pre {background: #f6f8fa}
code {font: 85%/1.45 ui-monospace, Menlo, Consolas, "Liberation Mono", "DejaVu Sans Mono", monospace;
  padding: .2em .4em; background: #818b981f; border-radius: 6px}
pre {padding: 16px; border-radius: 6px; overflow: auto}
pre code {padding: 0; background: none}
sub {font-size: 75%; line-height: 0}
"""


def page(markdown: str, *, opened: bool) -> str:
    """The comment as a page; `opened` shows what is folded."""
    body = MarkdownIt("commonmark", {"html": True}).enable("table").render(markdown)
    body = body.replace("<details>", "<details open>") if opened else body
    head = '<div class="head"><b>github-actions</b> bot commented</div>'
    return (
        f'<!doctype html><meta charset="utf-8"><style>{STYLE}</style>'
        f'<div class="box">{head}<div class="text">{body}</div></div>'
    )


def photograph(markdown: str, picture: Path, *, width: int = 900, height: int = 900, opened: bool = False) -> None:
    """Write the picture."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "comment.html"
        file.write_text(page(markdown, opened=opened), encoding="utf-8")
        options = ["--headless", "--no-sandbox", "--hide-scrollbars", f"--window-size={width},{height}"]
        words = ["chromium", *options, f"--screenshot={picture}", file.as_uri()]
        subprocess.run(words, check=True, capture_output=True)


if __name__ == "__main__":
    body, picture, *size = sys.argv[1:]
    width, height = map(int, size or (900, 900))
    photograph(Path(body).read_text(encoding="utf-8"), Path(picture), width=width, height=height)

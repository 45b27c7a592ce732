"""Tests of the whole tool."""

import contextlib
import io
import re
import tempfile
import unittest
from pathlib import Path

import loomwright
from loomwright import __main__, errors

ROOT = Path(__file__).resolve().parent.parent
GOOD = {  # a run without errors
    "words": "--heddle heddle.set weave p.loom",
    "name": "a_bobbin.py",
    "loom": "~loom/3 T\n@ drift = 0\n---- cloth\n1x> oxbow:4\n---- off\n",
    "heddle": "[beam]\nbobbins -> .\nselvage -> 1\n",
    "bobbin": 'from loomwright.stitches import treadle\n@treadle("oxbow", rank=15)\n'
              'def draw_oxbow(reach, tone, pick):\n    "Draws."\n    return tone * reach\n',
}
CASES = [  # code, part of GOOD to spoil, old text, new text
    ("LW03", "loom", "loom/3", "loom/2"),
    ("LW05", "loom", " T", " " + "T" * 49),
    ("LW07", "loom", "@", "@ colour = 1\n@"),
    ("LW09", "loom", "= 0", "= 12"),
    ("LW11", "loom", "@", "@ drift = 1\n@"),
    ("LW13", "loom", "drift = 0", "span = 6"),
    ("LW15", "loom", "---- off", ""),
    ("LW17", "loom", "1x", "26x"),
    ("LW19", "loom", "oxbow", "oxbox"),
    ("LW21", "loom", ":4", ":37"),
    ("LW23", "words", ".loom", ".txt"),
    ("LW25", "loom", " = ", "="),
    ("LW31", "name", "_bobbin", ""),
    ("LW33", "bobbin", "oxbow", "cross"),
    ("LW35", "bobbin", "oxbow", "tarn"),
    ("LW37", "bobbin", "* reach", "* 3"),
    ("LW39", "bobbin", "pick", "row"),
    ("LW41", "bobbin", "15", "81"),
    ("LW43", "bobbin", '"Draws."', "pass"),
    ("LW61", "heddle", "beam", "loom"),
    ("LW63", "heddle", "selvage", "margin"),
    ("LW65", "heddle", "1", "17"),
    ("LW67", "words", "heddle.set", "absent.set"),
    ("LW81", "words", "weave", "knit"),
    ("LW83", "words", "p.loom", "absent.loom"),
    ("LW85", "words", "p.loom", "p.loom --onto p.txt"),
]


def call(**changes):
    """Run the tool in a scratch folder; return exit code, output and errors."""
    run, out, err = GOOD | changes, io.StringIO(), io.StringIO()
    with (tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder),
          contextlib.redirect_stdout(out), contextlib.redirect_stderr(err)):
        Path("p.loom").write_text(run["loom"], "utf-8")
        Path("heddle.set").write_text(run["heddle"], "utf-8")
        Path(run["name"]).write_text(run["bobbin"], "utf-8")
        code = __main__.main(run["words"].split())
    return code, out.getvalue(), err.getvalue()


class RenderTest(unittest.TestCase):
    """Checks that code, docs and rules agree."""

    def test_that_every_code_is_reported(self):
        self.assertEqual([case[0] for case in CASES], list(errors.CATALOGUE))
        for code, part, old, new in CASES:
            with self.subTest(code):
                status, _, err = call(**{part: GOOD[part].replace(old, new)})
                self.assertEqual((status, err[:4]), (errors.Snag(code).exit_code, code))

    def test_that_docs_example_renders_as_shown(self):
        blocks = (ROOT / "docs/format.md").read_text("utf-8").split("```\n")
        self.assertEqual(call(loom=blocks[1], heddle="[beam]\n")[1], blocks[3])

    def test_that_docs_bobbin_works(self):
        text = (ROOT / "docs/stitches.md").read_text("utf-8")
        bobbin = re.search(r"```python\n(.*?)```", text, re.S)[1]
        self.assertIn(",(uu):", call(bobbin=bobbin)[1])
        listed = call(bobbin=bobbin, words="--heddle heddle.set skeins --wound")[1]
        self.assertIn(f"`{listed.strip()}`", text)

    def test_that_slack_cuts_a_long_pick(self):
        heddle = GOOD["heddle"] + "tension -> slack\ncaption -> above\n"
        loom = GOOD["loom"].replace(":4", ":40")
        output = call(heddle=heddle, loom=loom, words="weave p.loom --flat")[1]
        self.assertEqual(output, " [T]\n :" + "^" * 36 + ":\n")

    def test_that_examples_are_sound(self):
        for path in ROOT.glob("examples/*-*.loom"):
            output = call(loom=path.read_text("utf-8"), words="fray p.loom")[1]
            self.assertRegex(output, r"^sound: \d picks$")

    def test_that_changelog_ends_with_the_version(self):
        last = loomwright.__doc__.strip().splitlines()[-1]
        self.assertRegex(last, rf"^\* {loomwright.VERSION} \((knot|strand|snip)\) \S")

"""Error catalogue: every code with its cause and its fix.

Codes are odd numbers. The family of a code decides the exit code of the tool.
"""

# Last number and exit code of the families pattern, bobbin, heddle and usage.
FAMILIES = ((29, 14), (59, 27), (79, 33), (99, 41))

CATALOGUE = {
    "LW03": ("line 1 is not a loom header", "write `~loom/3 <title>` as line 1"),
    "LW05": ("title is empty or too long", "give a title of 1 to 48 characters"),
    "LW07": ("unknown key", "use only span, ground, folds, edge and drift"),
    "LW09": ("key value outside its limits", "look up the limits in docs/format.md"),
    "LW11": ("key given twice", "delete the second line with that key"),
    "LW13": ("key drift is missing", "add a line such as `@ drift = 0`"),
    "LW15": ("cloth is missing or empty", "put picks between `---- cloth` and `---- off`"),
    "LW17": ("pick cannot be read", "write `<copies>x> stitch:reach/tone`"),
    "LW19": ("unknown stitch", "run `skeins` and use a name from its list"),
    "LW21": ("pick is longer than span", "lower a reach, raise span or set slack"),
    "LW23": ("pattern file has the wrong ending", "rename the file to end in .loom"),
    "LW25": ("line above the cloth is not a key", "write it as `@ key = value`"),
    "LW31": ("bobbin file is badly named", "rename it to end in _bobbin.py"),
    "LW33": ("stitch name breaks the naming rule", "use 4 to 9 letters a-z, the last not s"),
    "LW35": ("stitch name is taken", "choose another name or a higher rank"),
    "LW37": ("stitch returned the wrong length", "return a str of exactly reach characters"),
    "LW39": ("wrong stitch signature", "write `def draw_<name>(reach, tone, pick):`"),
    "LW41": ("rank outside its limits", "choose a rank from 10 to 80"),
    "LW43": ("stitch has no docstring", "add a docstring that begins with `Draws`"),
    "LW61": ("settings are not one [beam] block", "write `[beam]`, then `key -> value` lines"),
    "LW63": ("unknown settings key", "use only bobbins, selvage, caption, tension and crease"),
    "LW65": ("settings value not allowed", "look up the values in README.md"),
    "LW67": ("named settings file does not exist", "correct --heddle or the variable LW_SHED"),
    "LW81": ("command line or error code is unknown", "run `python -m loomwright --help`"),
    "LW83": ("pattern file cannot be opened", "check the path of the file"),
    "LW85": ("output file has the wrong ending", "let the --onto path end in .cloth"),
}


class Snag(Exception):
    """The only exception raised on purpose: a code, a detail and a line number.

    Line 0 means that the error belongs to no line of the pattern file.
    """

    def __init__(self, code, detail="", line=0):
        super().__init__(code, detail, line)
        self.code, self.detail, self.line = code, detail, line

    @property
    def exit_code(self):
        """Exit code of the family that the code belongs to."""
        number = int(self.code[2:])
        return next(code for last, code in FAMILIES if number <= last)

    def __str__(self):
        tail = f": {self.detail}" if self.detail else ""
        return f"{self.code}@{self.line} {CATALOGUE[self.code][0]}{tail}"


def mend(code):
    """Return the two help lines of an error code: its cause, then its fix."""
    if code not in CATALOGUE:
        raise Snag("LW81", code)
    cause, fix = CATALOGUE[code]
    return f"{code} <- {cause}\n{code} -> {fix}"

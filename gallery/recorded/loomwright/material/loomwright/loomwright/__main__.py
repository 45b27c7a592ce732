"""Command line: python -m loomwright [--heddle PATH] COMMAND ..."""

import argparse
import sys
from pathlib import Path

from . import VERSION, settings, stitches
from .errors import Snag, mend
from .parser import parse
from .render import weave


class Parser(argparse.ArgumentParser):
    """Argument parser that raises LW81 instead of leaving."""

    def error(self, message):
        raise Snag("LW81", message)


def build_parser():
    """Declare the four commands and their flags."""
    top = Parser(prog="loomwright")
    top.add_argument("--gauge", action="version", version=f"loomwright {VERSION}")
    top.add_argument("--heddle")
    commands = top.add_subparsers(dest="command", required=True)
    command = commands.add_parser("weave", help="render a pattern file")
    command.add_argument("file")
    command.add_argument("--onto")
    command.add_argument("--flat", action="store_true")
    command = commands.add_parser("fray", help="check a pattern file")
    command.add_argument("file")
    command.add_argument("--hush", action="store_true")
    command = commands.add_parser("skeins", help="list the stitches")
    command.add_argument("--wound", action="store_true")
    command = commands.add_parser("mend", help="explain an error code")
    command.add_argument("code")
    return top


def run(arguments):
    """Carry out one command and return the text to print."""
    options = build_parser().parse_args(arguments)
    if options.command == "mend":
        return mend(options.code)
    chosen = settings.load(options.heddle)
    stitches.load_bobbins(chosen.bobbins)
    if options.command == "skeins":
        return "\n".join(stitches.skeins(options.wound))
    if not options.file.endswith(".loom"):
        raise Snag("LW23", options.file)
    try:
        text = Path(options.file).read_text("utf-8")
    except (OSError, ValueError) as error:
        raise Snag("LW83", options.file) from error
    if options.command == "fray":
        weave(text, chosen)
        return "" if options.hush else f"sound: {len(parse(text).picks)} picks"
    if options.onto and not options.onto.endswith(".cloth"):
        raise Snag("LW85", options.onto)
    cloth = weave(text, chosen, options.flat)
    if not options.onto:
        return cloth
    Path(options.onto).write_text(cloth + "\n", "utf-8")
    return f"wound onto {options.onto}"


def main(arguments=None):
    """Run the tool; errors go to standard error and decide the exit code."""
    try:
        output = run(arguments)
    except Snag as snag:
        print(snag, file=sys.stderr)
        return snag.exit_code
    if output:
        print(output)
    return 0


if __name__ == "__main__":
    sys.exit(main())

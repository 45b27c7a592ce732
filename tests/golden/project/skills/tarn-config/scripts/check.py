"""Says whether a tarn.kdl can be read by a tide gauge."""

import re
import sys
from pathlib import Path

LINE = re.compile(r'gauge "[a-z]+" port=\d+ every=\d+')

lines = Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
wrong = [line for line in lines if not LINE.fullmatch(line)]
if wrong or not lines:
    sys.exit(f"cannot be read: {wrong[0] if wrong else 'nothing in it'}")
sys.stdout.write("ok\n")

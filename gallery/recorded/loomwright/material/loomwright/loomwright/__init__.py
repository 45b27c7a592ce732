"""loomwright renders .loom pattern files to text.

Changelog (newest entry last):

* 3.30 (strand) key `drift` rotates picks
* 3.31 (knot) error LW21 names the line of the pick
* 3.40 (strand) command `mend` prints cause and fix
* 3.41 (knot) bobbin files that begin with an underscore are skipped
"""

VERSION = "3.41"

"""`python -m upskill` is the same command as `upskill`."""

from upskill.cli import main

main()

"""Whatever a student leaves behind is harmless or fails the student. It never makes a trial that measured nothing."""

from typing import Any

from on_engine import Make, Run
from tool_students import shell, turns
from upskill.core.nouns import Scored

CASE = [("Write made.txt.", {"file": "made.txt"})]
HARMLESS = r"""
echo 1 > made.txt
touch $(printf 'a\377'); mkdir $(printf 'd\376'); touch $(printf 'd\376')/x
touch $'a\nb' $'\e[31mred' $'\x01' ' ' -- -rf
ln -s self self; ln -s /nowhere n; ln -s /proc/1 p; ln -s / root
mkfifo pipe; echo 2 > two; ln two three; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("s")'
(while true; do date >> growing; mv growing other; done) >/dev/null 2>&1 &
(cd /tmp && seq 5000 | xargs touch); renice -n 19 -p 1; chrt -i -p 0 1; mv /workspace /elsewhere
mkdir -p d/e; echo 1 > d/e/f; chmod 000 d/e/f d/e d made.txt .
"""


def test_what_cannot_be_taken_is_left_out_and_the_rest_is_graded(skill: Make, run: Run, script: Any) -> None:
    ran = run(skill(CASE), [script(*turns(shell(HARMLESS), "done"))], harness="agent", baseline=False)
    (trial,) = ran.trials
    assert isinstance(trial.outcome, Scored), trial.outcome
    assert trial.outcome.passed, trial.outcome
    assert {"made.txt", "a\nb", "d/e/f"} <= set(trial.files)
    assert not {"self", "pipe", "two", "three", "s"} & set(trial.files)


def test_who_leaves_190_000_folders_has_failed_and_reads_why(skill: Make, run: Run, script: Any) -> None:
    flood = "echo 1 > made.txt; python3 -c 'import os\nfor n in range(190000): os.mkdir(str(n))'"
    ran = run(skill(CASE), [script(*turns(shell(flood), "done"))], harness="agent", baseline=False)
    (trial,) = ran.trials
    assert isinstance(trial.outcome, Scored), trial.outcome
    assert (trial.outcome.end, trial.outcome.passed) == ("file limit", False)
    assert "more than 20,000 files and folders" in trial.outcome.grade.results[0].saw

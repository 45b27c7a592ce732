"""The map of cases x arms x repeats: filled in by the page's script, and in short for whoever has none."""

from collections.abc import Iterator, Sequence

from upskill.domain import Evaluation
from upskill.reporting.html.escaping import escaped, json_in_html
from upskill.reporting.html.facts import CaseText
from upskill.reporting.html.map_data import MapData

ROWS_WITHOUT_SCRIPT = 1_000


def map_section(evaluation: Evaluation, cases: Sequence[CaseText], data: MapData) -> str:
    """Its controls are there from the start; its rows come as somebody looks at them."""
    students = [report.student.name for report in evaluation.students]
    options = "".join(f'<option value="{number}">{escaped(name)}</option>' for number, name in enumerate(students))
    return f"""<section class="card" aria-labelledby="h-map"><h2 id="h-map">Every trial</h2>
<p>A row is a case, and a square is one trial.
<span class="needs-script">Open a square to see the prompt, the answer and what each check saw.
Arrow keys move between squares.</span></p>
<ul class="keys"><li><span class="cell pass" aria-hidden="true">✓</span> passed</li>
<li><span class="cell fail" aria-hidden="true">✗</span> failed</li>
<li><span class="cell error" aria-hidden="true">!</span> errored: measured nothing</li>
<li><span class="cell pass late" aria-hidden="true">✓</span> pale: not counted</li></ul>
<form id="filters" class="needs-script" hidden>
<label{" hidden" if len(students) < 2 else ""}>Student <select id="by-student">{options}</select></label>
<label>Show <select id="by-kind"><option value="all">all cases</option>
<option value="helped">helped by the skill</option>
<option value="hurt">hurt by the skill</option><option value="failed">failed with the skill</option>
<option value="errored">errored</option><option value="unproven">unproven cases</option></select></label>
<label>Find <input id="by-text" type="search" placeholder="case or prompt" autocomplete="off"></label>
<output id="found" for="by-student by-kind by-text"></output></form>
<div id="map" class="scrolls" role="region" aria-label="Map of trials" tabindex="-1"></div>
<noscript><p>Without scripts the squares cannot be opened.
The file <code>trials.jsonl</code> in the run folder has every answer.</p>
{"".join(_without_script(students, cases, data))}</noscript>
<dialog id="trial" aria-labelledby="trial-title"></dialog>
<script type="application/json" id="data">{json_in_html(data.json)}</script></section>"""


def _without_script(students: Sequence[str], cases: Sequence[CaseText], data: MapData) -> Iterator[str]:
    rows = sorted(data.tallies)[:ROWS_WITHOUT_SCRIPT]
    head = "".join(f'<th scope="col">{escaped(arm)}</th>' for arm in data.arms)
    yield f'<table><thead><tr><th scope="col">Case</th><th scope="col">Student</th>{head}</tr></thead><tbody>'
    for student, case in rows:
        signs = data.tallies[student, case]
        cells = "".join(f"<td>{signs.get(arm, '')}</td>" for arm in range(len(data.arms)))
        yield f'<tr><th scope="row">{escaped(cases[case].id)}</th><td>{escaped(students[student])}</td>{cells}</tr>'
    yield "</tbody></table>"
    if len(data.tallies) > len(rows):
        yield f"<p>The first {len(rows):,} of {len(data.tallies):,} rows.</p>"

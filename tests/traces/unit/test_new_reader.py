"""A recorder is one module with a `Reader` and one line in a plug-in: it is recognised, read, digested and shown."""

from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from strangers import install
from upskill.errors import UsageError
from upskill.traces.command import show_trace, trace_json
from upskill.traces.read_trace import read_trace
from upskill.traces.readers import readers
from upskill.traces.recording import Reader, Recording
from upskill.traces.steps import Drafts
from upskill.traces.trace import Trace

LINES = '{"gull": 1, "typed": "Mend the berths."}\n{"gull": 1, "said": "Mended."}\n'


def _read(recording: Recording) -> Iterator[Trace]:
    drafts = Drafts(recording)
    for _, record in recording.records():
        if "typed" in record:
            drafts.person(record["typed"])
        else:
            drafts.say(drafts.begin("agent"), record["said"])
    yield drafts.trace("gull")


GULL = Reader(
    name="gull", title="The Gull", read=_read, in_lines=lambda records: any("gull" in record for record in records)
)


def _shown(path: Path) -> tuple[str, object]:
    source = read_trace(str(path), folder=path.parent, environment={}, now=0.0)
    out = StringIO()
    show_trace(source, Console(file=out, width=100))
    traces = trace_json(source)["traces"]
    assert isinstance(traces, list)
    return out.getvalue(), traces[0]


def test_a_reader_in_the_table_is_recognised_read_and_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "work.jsonl"
    path.write_text(LINES)
    with pytest.raises(UsageError, match="unknown format; keys seen: gull, typed, said"):
        _shown(path)
    text = f'from upskill.plugin import Plugin\nPLUGIN = Plugin(session_readers={{"gull": "{__name__}:GULL"}})\n'
    install(tmp_path, monkeypatch, module="gull_for_tests", text=text)
    shown, trace = _shown(path)
    assert "The Gull" in shown
    assert "Mend the berths." in shown
    assert isinstance(trace, dict)
    assert (trace["recorder"], trace["turns"]) == ("gull", 1)


def test_every_reader_has_a_title_and_recognises_something() -> None:
    for name, reader in readers().items():
        recognisers = (reader.in_document, reader.in_list, reader.in_lines, reader.in_archive)
        assert reader.name == name
        assert reader.title
        assert any(rule is not GULL.in_document for rule in recognisers), name

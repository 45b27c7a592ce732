"""What `codex exec --json` prints. The prompt is not in it."""

from collections.abc import Iterator

from upskill.domain.trace import Trace
from upskill.traces.building import NO_PROMPT, Drafts
from upskill.traces.fields import items, mapping, string, whole
from upskill.traces.source import Recording


def read(recording: Recording) -> Iterator[Trace]:
    """One trace. Only `item.completed` counts: `item.started` says the same before it is known."""
    drafts = Drafts(recording)
    seen: set[str] = set()
    for _, record in recording.records():
        item = mapping(record.get("item"))
        item_id = string(item.get("id"))
        if record.get("type") != "item.completed" or (item_id and item_id in seen):
            continue
        seen.add(item_id)
        _add(drafts, item_id, item)
    recording.note(NO_PROMPT)
    yield drafts.trace("codex-exec")


def _add(drafts: Drafts, item_id: str, item: dict[str, object]) -> None:
    status = string(item.get("status"))
    failed = True if status == "failed" else False if status == "completed" else None
    match item.get("type"):
        case "reasoning":
            drafts.think(drafts.begin("agent"), string(item.get("text")))
        case "agent_message":
            drafts.say(drafts.begin("agent"), string(item.get("text")))
        case "command_execution":
            drafts.call(drafts.begin("agent"), item_id, "shell", {"command": item.get("command")})
            exit_code = whole(item.get("exit_code"))
            marked = failed if exit_code is None else exit_code != 0
            drafts.observe(item_id, string(item.get("aggregated_output")), failed=marked, exit_code=exit_code)
        case "file_change":
            changes = [mapping(change) for change in items(item.get("changes"))]
            drafts.call(drafts.begin("agent"), item_id, "file_change", {"changes": changes})
            if failed:
                drafts.observe(item_id, "", failed=True)
        case "mcp_tool_call":
            name = ".".join(filter(None, (string(item.get("server")), string(item.get("tool")))))
            drafts.call(drafts.begin("agent"), item_id, name, item.get("arguments"))
            drafts.observe(item_id, string(item.get("output")), failed=failed)
        case "web_search":
            drafts.call(drafts.begin("agent"), item_id, "web_search", {"query": item.get("query")})
        case _:
            pass

"""`upskill generate` with a teacher and a student on two loopback servers: what is asked, printed, kept and saved."""

import json
import re
import shlex
import zipfile
from importlib import import_module
from io import BytesIO
from pathlib import Path

import skills_ref

import made_teacher
from everything import everything_below
from forking import Done
from made_teacher import TASK, THINGS, line_for
from provider import Behaviour
from secret_corpus.chats import chat_with
from secret_corpus.leaks import left_of
from secret_corpus.planted import all_planted
from two_servers import Place

KEYS = {
    "UPSKILL_TEACHER_KEY": "the-key-of-the-teacher-1234",
    "UPSKILL_ENDPOINT_KEY": "the-key-of-the-students-5678",
    "ANTHROPIC_API_KEY": "sk-ant-nobody-is-sent-this-9012",
    "OPENAI_API_KEY": "sk-nobody-is-sent-this-either-3456",
}


def test_the_whole_loop_in_the_words_of_the_seeds_with_every_secret_kept(place: Place) -> None:
    planted = all_planted()
    folder = place.here / "recorded"
    folder.mkdir()
    (folder / "session.jsonl").write_text(chat_with(planted[::2]))
    (folder / "trace.md").write_text(
        "\n\n".join(f"It failed with:\n{one.text}\n, then passed." for one in planted[1::2])
    )
    own = KEYS["ANTHROPIC_API_KEY"]
    (place.here / "notes.rst").write_text(f"the key is {own}\n{all_planted()[0].text}\n")
    sources = ("--from", "recorded/session.jsonl", "--from", "./recorded/trace.md")
    example = f"deploy with {own}"
    # This student knows what the skill says, and nothing of a passage: no skill would seem to help it.
    flags = ("--cases", "4+8+2", "--yes")
    done = place.generate(TASK, *sources, "--from", "notes.rst", "-e", example, *flags, UPSKILL_ANYWAY="true", **KEYS)
    assert done.returncode == 0, done.stderr
    for line in (
        "Generating skill with any...",
        "Generating cases...",
        "Evaluating on any... (attempt 1)",
        "Evaluating on any... (attempt 2)",
    ):
        assert line in done.stderr.splitlines()
    assert re.search(r"^  0% → \d+% \(\+\d+ points\), on 4 practice cases$", done.stderr, re.MULTILINE)
    assert re.search(r"^  teacher: .*price unknown; .*min", done.stderr, re.MULTILINE)
    assert re.search(r"^  models: .*price unknown; time estimate after the first pair", done.stderr, re.MULTILINE)
    lines = done.stdout.splitlines()
    decision = "The skill was saved: it helps on 8 held-out cases (+100 points, 97.5% CI +42 to +100)"
    assert lines[0] == f"{decision}."
    assert re.match(r"any  ○━+●    0% → 100%  \+100 ", lines[1])
    assert re.fullmatch(r"quarn: SKILL\.md ~\d+ tokens; cases: 4 practice, 8 held-out, 2 unrelated", lines[3])
    assert lines[4].startswith("attempts on practice cases: ")
    assert lines[5].startswith("spent: teacher ")
    assert lines[-2] == "Saved to ./skills/quarn"
    assert len(lines) <= 13, "and the next command"
    # The folder is complete, and whoever checks skills finds nothing wrong with it.
    assert skills_ref.validate(place.skill) == []
    meta = place.meta
    uses = [case["use"] for case in meta["cases"]]
    assert (uses.count("learn"), uses.count("held-out"), uses.count("negative")) == (4, 8, 2)
    assert meta["status"] == "helps"
    assert meta["provenance"]["task"] == TASK
    assert re.fullmatch(r"[0-9a-f]{64}", meta["provenance"]["trace_digest"])
    assert {"teacher", "versions", "started_at", "finished_at", "cost", "run"} <= meta["provenance"].keys()
    (measured,) = meta["measured"]
    assert measured["mean"] == 1.0
    assert measured["interval"][0] > 0
    assert measured["about"] == "new cases"
    assert len(meta["held_out_uses"][0]["cases"]) == 8
    page = _report_of(place)
    assert decision in page
    assert TASK in page
    assert "secrets removed before anything was sent" in page
    assert line_for(THINGS[11]) in page, "the text of the skill, and what the revision added"
    _no_secret_anywhere(place, done)
    _no_key_at_the_wrong_server(place)
    _no_held_out_case_in_any_request_after_they_were_written(place)
    listed = place.run("runs", "--json")
    assert json.loads(listed.stdout)["runs"][0]["found"].startswith("helps: +100")
    evaluated = place.run("eval", "skills/quarn", "-m", "any", "--base-url", place.student.url, "--dry-run")
    assert "2 unrelated cases are skipped" in evaluated.stdout, "a generated skill can be evaluated as any other"


def _report_of(place: Place, run: str | None = None) -> str:
    """The page that a run left, which `upskill report` makes again."""
    folder = max((place.here / "runs").glob("*-generate-*")) if run is None else place.here / run
    left = (folder / "report.html").read_text()
    (folder / "report.html").unlink()
    made = place.run("report", str(folder.relative_to(place.here)))
    assert made.returncode == 0, made.stderr
    assert (folder / "report.html").read_text() == left
    assert str(place.here) not in left, "no path of this machine"
    return left


def _no_secret_anywhere(place: Place, done: Done) -> None:
    """In no request, no saved file, no run folder, and not on the screen."""
    planted = all_planted()
    assert len(planted) >= 40
    requests = "\n".join(json.dumps(asked.body, ensure_ascii=False) for asked in place.teacher.requests)
    assert "[redacted: " in requests, "the teacher was shown where they had been"
    files = {
        path: data
        for path, data in everything_below(place.here).items()
        if not path.startswith(("recorded/", "notes.rst"))
    }
    kept = b"\n".join(data for path, data in files.items() if not path.endswith(".eval")).decode("utf-8", "replace")
    logs = "\n".join(_log(data) for path, data in files.items() if path.endswith(".eval"))
    assert "quarn" in logs, "what students were asked can be read there"
    for text in (requests, kept, logs, done.stdout, done.stderr):
        # Of a passphrase, single words are left in any text.
        left = [secret for one in planted for secret in left_of(one, text) if " " not in secret or secret in text]
        assert left == []
        assert [key for key in KEYS.values() if key in text] == []


def _log(data: bytes) -> str:
    """Everything in a log of the engine."""
    import_module("zipfile_zstd")  # teaches zipfile how they are packed
    with zipfile.ZipFile(BytesIO(data)) as log:
        return "\n".join(log.read(name).decode("utf-8", "replace") for name in log.namelist())


def _no_key_at_the_wrong_server(place: Place) -> None:
    assert {asked.headers["authorization"] for asked in place.teacher.requests} == {
        f"Bearer {KEYS['UPSKILL_TEACHER_KEY']}"
    }
    assert {asked.headers["authorization"] for asked in place.student.requests} == {
        f"Bearer {KEYS['UPSKILL_ENDPOINT_KEY']}"
    }


def _no_held_out_case_in_any_request_after_they_were_written(place: Place) -> None:
    kinds = place.kinds()
    written = max(at for at, kind in enumerate(kinds) if kind == "cases")
    assert kinds[written + 1 :] == ["sections", "presentations", "edits"]
    later = "\n".join(json.dumps(asked.body, ensure_ascii=False) for asked in place.teacher.requests[written + 1 :])
    cases = place.meta["cases"]
    held_out = [case for case in cases if case["use"] == "held-out"]
    assert not [case["input"] for case in held_out if case["input"] in later]
    assert not [case["reference"] for case in held_out if case["reference"] in later]
    learned = [case for case in cases if case["use"] == "learn"]
    assert any(case["input"] in later for case in learned), "what failed of the learn cases was shown"


def test_four_cases_and_two_attempts_take_sixteen_calls(place: Place) -> None:
    place.teach = made_teacher.teacher(THINGS[:4], known_at_first=2, negatives=0)
    done = place.generate(TASK, "--cases", "4+0+0", "--revisions", "1", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert place.kinds() == ["facts", "cases", "sections", "edits"]
    without = [asked for asked in place.student.requests if not asked.has_skill]
    assert len(without) == 4, "the baseline is bought once"
    assert len(place.student.requests) == 12
    assert place.asked == 16
    assert found["spent"]["teacher"]["calls"] == 4
    assert found["spent"]["students"]["calls"] == 12
    shares = [(one["number"], one["passed"], one["of"], one["presentation"]) for one in found["attempts"]]
    assert shares == [(1, 2, 4, "prose"), (2, 4, 4, "prose")]
    assert found["status"] == "not proven", "learn cases prove nothing"
    assert "no held-out cases" in found["sentence"]
    assert place.meta["status"] == "not proven"


def test_what_is_not_proven_is_saved_and_says_so_and_a_requirement_is_not_met(place: Place) -> None:
    place.learn = lambda asked: Behaviour(text="I do not know.")
    place.teach = made_teacher.teacher(THINGS[:9], known_at_first=9, negatives=0)
    done = place.generate(TASK, "--cases", "2+6+0", "--revisions", "0", "--require", "helps")
    assert done.returncode == 1, done.stderr
    assert re.search(r"^The skill was saved, but .*: 0|^The skill was saved, but it ", done.stdout)
    assert re.search(r"^not met: --require helps, ", done.stdout, re.MULTILINE)
    assert place.meta["status"] in ("undecided", "no difference")
    assert place.meta["measured"][0]["interval"] is not None


def _improvable(place: Place, things: int, *, prose: str = "") -> Path:
    """A skill that knows some facts, with a case for each of twelve."""
    folder = place.here / "skills" / "quarn"
    folder.mkdir(parents=True)
    facts = "\n".join(map(line_for, THINGS[:things]))
    head = "---\nname: quarn\ndescription: Facts about quarn. Use for any question about quarn.\nlicense: MIT\n---\n"
    (folder / "SKILL.md").write_text(f"{head}{prose}## Facts\n\n{facts}\n")
    cases = [made_teacher.case_about(thing, "direct") for thing in THINGS[:12]]
    kept = [{key: case[key] for key in ("id", "input", "checks", "reference", "wrong")} for case in cases]
    (folder / "skill_meta.json").write_text(json.dumps({"note": "by hand", "cases": kept}))
    return folder


def test_a_skill_is_improved_without_a_task_and_the_better_one_takes_its_place(place: Place) -> None:
    # Longer than a draft may be: that was so before, and keeps nobody from making it better.
    folder = _improvable(place, 2, prose="Gauges are read at noon.\n" * 520 + "\n")
    done = place.generate("--from", "skills/quarn/", "--cases", "4+8+0", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert place.kinds() == ["edits"], "its own cases are used, and nothing is drafted anew"
    assert "Facts about quarn." in place.teacher.requests[0].prompt
    assert found["proven"]
    assert found["saved"] == "./skills/quarn"
    assert found["held_out"]["students"][0]["lifts"][0]["against"] == "previous"
    text = (folder / "SKILL.md").read_text()
    assert line_for(THINGS[11]) in text
    assert "license" in text
    assert place.meta["note"] == "by hand", "what others put there stays"
    assert len(place.meta["cases"]) == 12
    assert place.meta["provenance"]["improved_from"]
    # The same held-out cases again: the second use is held to more, and nothing is left to mend.
    place.teacher.requests.clear()
    again = place.generate("--from", "skills/quarn/SKILL.md", "--cases", "4+8+0", "--json")
    assert again.returncode == 0, again.stderr
    assert not json.loads(again.stdout)["proven"]
    assert "it passes all 4 practice cases, so nothing is left to fix" in json.loads(again.stdout)["sentence"]
    assert place.kinds() == [], "the teacher was not asked"


def test_generate_runs_report_and_the_skill_say_the_same_of_the_same_comparison(place: Place) -> None:
    folder = _improvable(place, 2)
    known = {"model": "any", "resolved": "any", "status": "helps", "sentence": "helps", "mean": 0.2, "pairs": 40}
    meta = {**json.loads((folder / "skill_meta.json").read_text()), "format": "upskill.skill/1", "status": "helps"}
    (folder / "skill_meta.json").write_text(json.dumps({**meta, "measured": [known]}))
    # Two students wave a revision through, so that each is held to more than an evaluation by itself would be.
    done = place.generate("--from", "skills/quarn/", "--cases", "4+8+0", "--eval-model", "two", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    student = found["held_out"]["students"][0]
    (lift,) = student["lifts"]
    low, high = lift["interval"]
    figures = f"% CI {100 * low:+.0f} to {100 * high:+.0f}"
    assert figures in found["students"][0]["sentence"]
    # What was known against no skill is still known; it is of an older version, and says so.
    new, _, old = place.meta["measured"]
    assert (new["against"], new["interval"], new["version"]) == ("previous", [low, high], None)
    assert (old["against"], old["mean"], old["version"]) == ("baseline", 0.2, place.meta["provenance"]["improved_from"])
    assert place.meta["status"] == "helps"
    (run,) = json.loads(place.run("runs", "--json").stdout)["runs"]
    assert run["students"][0]["interval"] == [low, high]
    assert run["students"][0]["verdict"] == student["verdict"] == found["students"][0]["status"]
    table = place.run("report", found["run"], "--markdown").stdout
    assert figures in table


def test_a_change_that_is_no_better_leaves_the_old_version_byte_for_byte(place: Place) -> None:
    folder = _improvable(place, 12)
    before = everything_below(folder)
    place.teach = lambda asked: Behaviour(
        text=json.dumps(
            {
                "cause": "none",
                "edits": [
                    {
                        "file": "SKILL.md",
                        "action": "insert",
                        "quote": None,
                        "heading": "Facts",
                        "text": "- Errors are handled with care",
                        "why": "wished for",
                    }
                ],
            }
        )
        if made_teacher.kind_of(asked.prompt) == "edits"
        else json.dumps(made_teacher.teachers_answer(asked.prompt, THINGS[:12], 12, 0))
    )
    wish = "add more error handling and edge cases"
    done = place.generate(wish, "--from", "./skills/quarn/", "-t", "skills/quarn/skill_meta.json", "--yes")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("The old version stays: ")
    assert wish in place.teacher.requests[-1].prompt
    after = everything_below(folder)
    assert after["SKILL.md"] == before["SKILL.md"]
    meta = json.loads(after["skill_meta.json"])
    assert len(meta.pop("held_out_uses")) == 1, "a use of held-out cases is noted even so"
    meta.pop("format")
    assert meta == json.loads(before["skill_meta.json"])
    assert "Revision saved in ./runs/" in done.stdout
    page = _report_of(place)
    assert "The old version stays: the revision was not shown to be better on 9 held-out cases" in page
    assert "Errors are handled with care" in page, "what it would have changed"
    assert "upskill cases write ./skills/quarn -m handoff/new -o more-cases.json" in page


def test_ctrl_c_keeps_what_was_done_and_says_how_to_go_on(place: Place) -> None:
    place.learn = lambda asked: Behaviour(text=made_teacher.student(asked).text, latency=0.3)
    place.interrupt(after=5)
    done = place.generate(TASK, "--cases", "4+8+0", "--yes", UPSKILL_CONCURRENCY="1")
    assert done.returncode == 130, done.stderr
    assert not (place.here / "skills").exists()
    found = re.search(r"resume with: upskill (generate --resume .+)", done.stderr)
    assert found is not None, done.stderr
    assert "Nothing was saved yet: interrupted" in _report_of(place)
    place.learn = made_teacher.student
    taught = len(place.teacher.requests)
    resumed = place.run(*shlex.split(found[1]))
    assert resumed.returncode == 0, resumed.stderr
    assert resumed.stdout.startswith("The skill was saved: it helps on ")
    assert "Saved to ./skills/quarn\n" in resumed.stdout
    assert "The skill was saved: it helps on" in _report_of(place)
    assert [*place.kinds()[:taught], "edits"] == place.kinds(), "the teacher was asked for nothing twice"


def test_a_cap_holds_across_teacher_and_students_and_across_going_on(place: Place) -> None:
    done = place.generate(TASK, "--cases", "4+8+0", "--json", UPSKILL_MAX_CALLS="9", UPSKILL_CONCURRENCY="1")
    assert place.asked == 9, done.stderr
    assert done.returncode == 0, "there is a draft by then, and it is saved as not proven"
    found = json.loads(done.stdout)
    assert found["status"] == "not proven"
    assert "the cap of 9 calls" in found["sentence"]
    assert any("resume with: UPSKILL_MAX_CALLS=N upskill generate --resume " in note for note in found["notes"]), found[
        "notes"
    ]
    assert found["decision"].startswith("The skill was saved, not proven: stopped at the cap of 9 calls")
    assert found["decision"] in re.sub("<[^>]+>", "", _report_of(place, found["run"]))
    servers = ("--base-url", place.teacher.url, "--eval-base-url", place.student.url)
    again = place.run("generate", "--resume", found["run"], *servers, "--json")
    assert again.returncode == 0, again.stderr
    assert place.asked == 9, "what was spent before counts"
    early = place.generate(TASK, "--cases", "4+8+0", "-o", "elsewhere/quarn", UPSKILL_MAX_CALLS="2")
    assert early.returncode == 3, early.stderr
    assert "nothing was saved: any: the cap of 2 calls was reached" in early.stderr
    found = re.search(r"resume with a higher cap: UPSKILL_MAX_CALLS=N upskill (generate --resume .+)\n", early.stderr)
    assert found is not None, early.stderr
    assert not (place.here / "elsewhere").exists()
    assert place.run(*shlex.split(found[1]), UPSKILL_MAX_CALLS="3").returncode == 3
    assert place.asked == 9 + 3, "the printed line raises the cap that was reached"
    assert "Nothing was saved: any: the cap of 3 calls was reached" in _report_of(place)


def test_without_an_evaluation_the_skill_and_its_cases_are_saved_where_was_said(place: Place) -> None:
    done = place.generate(TASK, "--no-eval", "--cases", "4+8+0", "-o", "kept/tide-gauge")
    assert done.returncode == 0, done.stderr
    assert place.kinds().count("cases") >= 1
    assert place.student.requests == []
    assert done.stdout.startswith("The skill was saved, not measured: it was generated with --no-eval.\n")
    assert "Saved to ./kept/tide-gauge\n" in done.stdout
    assert skills_ref.validate(place.here / "kept" / "tide-gauge") == []
    meta = json.loads((place.here / "kept" / "tide-gauge" / "skill_meta.json").read_text())
    assert meta["status"] == "not measured"
    assert len(meta["cases"]) == 12
    page = _report_of(place)
    assert "The skill was saved, not measured: it was generated with --no-eval." in page
    assert "upskill eval ./kept/tide-gauge -m MODEL" in page


def test_large_material_is_named_while_it_is_read(place: Place) -> None:
    # Candidates for secrets on every line take seconds to tell from none.
    (place.here / "notes.txt").write_text("".join(f"step {n}: token=ghp_{n:030x}\n" for n in range(50_000)))
    done = place.generate("x", "--from", "./notes.txt", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert re.search(r"^  reading notes\.txt, 2\.\d MB, \d+ s$", done.stderr, re.MULTILINE), done.stderr


def test_what_cannot_be_done_is_told_before_anything_is_asked(place: Place) -> None:
    folder = _improvable(place, 2)
    before = everything_below(place.here)
    url = place.teacher.url
    refused = {
        ("x", "-o", "skills/quarn"): (2, "which would be overwritten"),
        ("x", "-o", "kept/My Skill"): (2, "is not a valid name"),
        (): (2, "no task was given"),
        ("x", "--from", "nowhere.md"): (2, "no such file"),
        ("write", "kernels", "–from", "x"): (2, "x: no such file or folder"),
        ("x", "--cases", "many"): (2, "must be three numbers"),
        ("--from", "skills/quarn", "--no-eval"): (2, "not replaced by a version that was not measured"),
        ("x", "--from", "skills/quarn", "--from", "skills/quarn/SKILL.md"): (2, "only one skill"),
        ("x", "--eval-base-url", "http://127.0.0.1:9/v1"): (3, "no server answers"),
        ("x", "--resume", "runs/x"): (2, "remove"),
    }
    for words, (code, said) in refused.items():
        done = place.generate(*words)
        assert (done.returncode, said in done.stderr) == (code, True), (words, done.stderr)
    nobody = place.alone("x")
    assert nobody.returncode == 3
    assert "ANTHROPIC_API_KEY" in nobody.stderr
    assert "--base-url" in nobody.stderr
    strongest = place.alone("x", "--dry-run", ANTHROPIC_API_KEY="made-up", HF_TOKEN="made-up")
    assert strongest.returncode == 0, strongest.stderr
    assert strongest.stdout.startswith("Teacher: opus (built-in alias for anthropic/claude-opus")
    assert "the strongest with a key" in strongest.stdout
    asks = place.alone("x", "--eval-model", "any", "--eval-base-url", url, ANTHROPIC_API_KEY="made-up")
    assert asks.returncode == 2
    assert "teacher: about" in asks.stderr
    assert "add --yes" in asks.stderr
    assert place.asked == 0
    assert everything_below(place.here) == before
    assert folder.is_dir()

"""The scripts of the GitHub Action, each by itself: what they find, write and send, and what they refuse."""

import json
import os
import re
import shlex
from itertools import pairwise
from pathlib import Path

import pytest

from forking import Done
from share.cli.gate import ACTION, TOKEN, Gate, new_gate
from share.cli.github_api import GitHub

MARKER = "<!-- upskill -->"
STRANGE = ["with space", 'quo"te', "new\nline", "end\n", "-dash", "*", "@", "$(touch x)", "é"]


@pytest.fixture
def repository(tmp_path: Path) -> Gate:
    return new_gate(tmp_path)


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    """For scripts that ask nothing of git."""
    return new_gate(tmp_path, with_git=False)


def changed(gate: Gate, base: str, **variables: str) -> list[str]:
    done = gate.script("changed-skills.sh", GATE_BASE=base, **variables)
    assert done.returncode == 0, done.stderr
    return gate.folders("changed")


def test_each_changed_file_belongs_to_every_skill_above_it(repository: Gate) -> None:
    for name in ("a", "b", "c", "gone", "old"):
        repository.write(f"skills/{name}/SKILL.md", name)
    repository.write("skills/a/inner/SKILL.md", "inner")
    repository.write("skills/b/references/x/deep.md", "1")
    repository.write("skills/old/long.md", "a text that is long enough to be taken for the same file\n" * 9)
    repository.write("other/readme.md", "1")
    base = repository.commit("base")
    repository.write("skills/a/inner/SKILL.md", "changed")
    repository.write("skills/b/references/x/deep.md", "2")
    repository.write("other/readme.md", "2")
    repository.git("rm", "--quiet", "-r", "skills/gone")
    repository.git("mv", "skills/old", "skills/renamed")
    repository.write("skills/new/SKILL.md", "new")
    repository.commit("change")
    assert changed(repository, base) == ["skills/a", "skills/a/inner", "skills/b", "skills/new", "skills/renamed"]
    assert repository.folders("nested") == [], "it was there before"
    assert repository.folders("deleted") == ["skills/gone", "skills/old"]
    assert (repository.out / "base.txt").read_text() == f"{base}\n"
    assert (repository.home / "output").read_text() == f"count=5\ndeleted=2\nbase={base}\n"
    assert changed(repository, base, GATE_SKILLS=" ./skills/a/inner\n skills/new") == ["skills/a/inner", "skills/new"]
    assert changed(repository, base, GATE_SKILLS="skill") == []
    assert changed(repository, base, GATE_SKILLS="skill\n") == [], "a block of YAML ends with a line feed"


def test_names_of_folders_may_hold_anything(repository: Gate) -> None:
    for name in STRANGE:
        repository.write(f"{name}/SKILL.md", "1")
    repository.write("SKILL.md", "the whole repository is a skill")
    base = repository.commit("base")
    for name in STRANGE:
        repository.write(f"{name}/more.md", "2")
    repository.commit("change")
    assert changed(repository, base) == sorted([*STRANGE, "."], key=lambda name: name.encode())
    assert not (repository.repository / "x").exists()
    repository.write("notes.md", "in no folder")
    assert changed(repository, repository.git("rev-parse", "HEAD")) == []
    repository.commit("notes")
    assert changed(repository, "HEAD~1") == ["."]


def test_what_the_base_branch_gained_is_no_change_of_this_branch(repository: Gate) -> None:
    repository.write("a/SKILL.md", "1")
    repository.write("b/SKILL.md", "1")
    start = repository.commit("start")
    repository.git("switch", "--quiet", "--create", "feature")
    repository.write("a/SKILL.md", "2")
    repository.commit("feature")
    repository.git("switch", "--quiet", "main")
    repository.write("b/SKILL.md", "2")
    repository.commit("main goes on")
    repository.git("switch", "--quiet", "feature")
    assert changed(repository, "main") == ["a"]
    assert (repository.out / "base.txt").read_text() == f"{start}\n"


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"GATE_BASE": ""}, "there is no commit to compare with"),
        ({"GATE_BASE": "0" * 40}, "there is no commit to compare with"),
        ({"GATE_BASE": "nowhere"}, "set fetch-depth: 0"),
        ({"GATE_BASE": "--all"}, "set fetch-depth: 0"),
        ({"GATE_BASE": "HEAD", "GITHUB_EVENT_NAME": "pull_request_target"}, "use pull_request"),
    ],
)
def test_a_change_that_cannot_be_found_is_refused(repository: Gate, variables: dict[str, str], said: str) -> None:
    repository.write("a/SKILL.md", "1")
    repository.commit("base")
    done = repository.script("changed-skills.sh", **variables)
    assert done.returncode == 2
    assert done.stderr.startswith("::error::")
    assert done.stderr.count("\n") == 1
    assert said in done.stderr


# ---- the text of the comment and of the summary


def summary(gate: Gate, **variables: str) -> str:
    done = gate.script("summary.sh", **variables)
    assert done.returncode == 0, done.stderr
    text = (gate.out / "body.md").read_text()
    assert (gate.home / "summary.md").read_text().endswith(text)
    assert done.stdout == text
    return text


def prepare(gate: Gate, *, changed: str = "a\0", deleted: str = "", **files: str) -> None:
    gate.out.mkdir()
    (gate.out / "changed.nul").write_text(changed)
    (gate.out / "deleted.nul").write_text(deleted)
    for name, text in files.items():
        (gate.out / name.replace("_", ".")).write_text(text)


def test_the_summary_is_the_comment_with_reports_deleted_skills_and_the_command(gate: Gate) -> None:
    hostile = "skills/`@someone` <b>|\0"
    prepare(gate, comment_md=f"{MARKER}\n### title\n", deleted=hostile, command_txt="upskill eval 'a```b' ")
    text = summary(gate, GATE_REPORT_URL="https://github.com/team/skills/x>\n<y")
    assert text == (
        f"{MARKER}\n**This pull request deletes `skills/??someone? ?b??`**\n### title\n\n"
        "[Reports with every answer](<https://github.com/team/skills/xy>)\n\n"
        "To reproduce it:\n\n````sh\nupskill eval 'a```b' \n````\n"
    )


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"changed": ""}, "### upskill: no skill is changed\n"),
        ({}, "an earlier step failed"),
        ({"eval_code": "3\n", "eval_log": "error: haiku: no key\n"}, "secrets such as keys are missing"),
        ({"eval_code": "2\n", "eval_log": "error: x"}, "exit code 2"),
    ],
)
def test_without_a_result_the_summary_says_why(gate: Gate, files: dict[str, str], said: str) -> None:
    prepare(gate, **files)
    text = summary(gate)
    assert text.startswith(MARKER)
    assert said in text
    assert files.get("eval_log", "") in text


def test_a_log_cannot_leave_its_fence(gate: Gate) -> None:
    prepare(gate, eval_code="2", eval_log="````\n@someone\x1b[31m\n" + "x" * 5_000)
    text = summary(gate)
    assert "`````text\n````\n@someone[31m\n" + "x" * 400 + "\n`````\n" in text


# ---- the comment


def comment(gate: Gate, api: GitHub, **variables: str) -> Done:
    known = {
        "GITHUB_API_URL": api.url,
        "GITHUB_REPOSITORY": "team/skills",
        "GATE_TOKEN": TOKEN,
        "GATE_PULL_REQUEST": "7",
    }
    return gate.script("comment.sh", **(known | variables))


def test_the_first_push_adds_the_comment_and_the_next_one_changes_it(gate: Gate) -> None:
    prepare(gate, body_md=f"{MARKER}\nfirst\n")
    with GitHub() as api:
        for number in range(130):
            api.add(f"comment {number}", login="someone")
        api.add(f"{MARKER}\nof a stranger who copied the marker", login="someone")
        api.add(f"see {MARKER}")
        assert comment(gate, api).returncode == 0
        (gate.out / "body.md").write_text(f'{MARKER}\nsecond: "quotes" \\ and é\n')
        done = comment(gate, api)
        assert done.returncode == 0, done.stderr
        assert api.methods == ["GET", "GET", "POST", "GET", "GET", "PATCH"]
        ours = [one["body"] for one in api.comments if one["body"].startswith(MARKER)]
        assert ours[1:] == [f'{MARKER}\nsecond: "quotes" \\ and é\n']
        assert {call.authorization for call in api.calls} == {f"Bearer {TOKEN}"}


def test_the_token_is_no_argument_of_a_program_and_in_no_file(gate: Gate, tmp_path: Path) -> None:
    prepare(gate, body_md=f"{MARKER}\nfirst\n")
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("curl", "jq", "mktemp", "rm"):
        (programs / name).write_text(
            f'#!/bin/sh\nprintf "%s\\n" "$@" >>{tmp_path}/arguments\nexec /usr/bin/{name} "$@"\n'
        )
        (programs / name).chmod(0o755)
    with GitHub() as api:
        done = comment(gate, api, PATH=f"{programs}:{os.environ['PATH']}", TMPDIR=str(gate.home))
        assert done.returncode == 0, done.stderr
        assert api.methods == ["GET", "POST"]
    written = [path.read_text() for path in (*gate.out.iterdir(), *gate.home.iterdir()) if path.is_file()]
    arguments = (tmp_path / "arguments").read_text()
    assert "--config" in arguments
    assert not any(TOKEN in text for text in (done.stdout, done.stderr, arguments, *written))


@pytest.mark.parametrize(
    ("refuses", "variables", "code", "said"),
    [
        ({"POST": 403}, {}, 0, "may not write comments (status 403), as on a pull request from a fork"),
        ({"GET": 403}, {}, 0, "may not write comments"),
        ({"GET": 400}, {}, 1, "could not be read (status 400)"),
        ({"POST": 422}, {}, 1, "could not be written (status 422)"),
        ({}, {"GATE_PULL_REQUEST": ""}, 0, "not a pull request"),
        ({}, {"GATE_PULL_REQUEST": "7/../8"}, 1, "not a number"),
        ({}, {"GATE_TOKEN": ""}, 0, "no token"),
        ({}, {"GATE_TOKEN": 'x"\nurl = "http://evil.example'}, 1, "characters that no token has"),
    ],
)
def test_a_comment_that_cannot_be_written_says_so(
    gate: Gate, refuses: dict[str, int], variables: dict[str, str], code: int, said: str
) -> None:
    prepare(gate, body_md=f"{MARKER}\nfirst\n")
    with GitHub(refuses=refuses) as api:
        done = comment(gate, api, **variables)
        assert (done.returncode, api.comments) == (code, [])
    assert said in done.stderr
    assert done.stderr.startswith("::notice::" if code == 0 else "::error::")


def test_a_server_that_is_gone_is_an_error(gate: Gate) -> None:
    prepare(gate, body_md=f"{MARKER}\nfirst\n")
    with GitHub() as api:
        gone = api.url
    done = gate.script(
        "comment.sh",
        GITHUB_API_URL=gone,
        GITHUB_REPOSITORY="team/skills",
        GATE_TOKEN=TOKEN,
        GATE_PULL_REQUEST="7",
    )
    assert done.returncode == 1
    assert "could not be read" in done.stderr


def test_a_change_without_skills_adds_no_comment_but_corrects_an_old_one(gate: Gate) -> None:
    prepare(gate, changed="", body_md=f"{MARKER}\nno skill is changed\n")
    with GitHub() as api:
        assert comment(gate, api).returncode == 0
        assert api.methods == ["GET"]
        api.add(f"{MARKER}\nworse")
        assert comment(gate, api).returncode == 0
        assert api.methods == ["GET", "GET", "PATCH"]
        assert api.comments[0]["body"] == f"{MARKER}\nno skill is changed\n"


def test_a_comment_is_never_longer_than_the_server_takes(gate: Gate) -> None:
    prepare(gate, body_md=f"{MARKER}\n" + "é" * 70_000)
    with GitHub() as api:
        assert comment(gate, api).returncode == 0
        assert len(api.comments[0]["body"]) <= 65_536
        assert api.comments[0]["body"].endswith("Shortened.")


# ---- lint and evaluate, with a program that records how it is called


def record_upskill(gate: Gate, tmp_path: Path, *, code: int = 0) -> dict[str, str]:
    """A program named upskill that writes down its arguments and what it is told to write."""
    programs = tmp_path / "programs"
    programs.mkdir()
    program = programs / "upskill"
    program.write_text(
        "#!/usr/bin/env python3\nimport json, os, sys\n"
        f"json.dump(sys.argv[1:], open({str(tmp_path / 'called')!r}, 'w'))\n"
        "settings = open('upskill.toml').read() if os.path.exists('upskill.toml') else None\n"
        f"json.dump(dict(settings=settings, variables=dict(os.environ)), open({str(tmp_path / 'seen')!r}, 'w'))\n"
        "print('{}')\nprint('::error::from a skill', file=sys.stderr)\n"
        "print('no server at http://127.0.0.1:1/v1 (127.0.0.1)', file=sys.stderr)\n"
        f"sys.exit({code})\n"
    )
    program.chmod(0o755)
    return {"PATH": f"{programs}:{os.environ['PATH']}"}


def called(tmp_path: Path) -> list[str]:
    words: list[str] = json.loads((tmp_path / "called").read_text())
    return words


def test_every_skill_and_option_is_an_argument_of_its_own(repository: Gate, tmp_path: Path) -> None:
    repository.write("looks.jsonl", "reviewed\n")
    base = repository.commit("base")
    repository.write("looks.jsonl", "reviewed\nadded by the change\n")
    repository.commit("change")
    prepare(repository, changed="".join(f"{name}\0" for name in STRANGE), base_txt=f"{base}\n")
    done = repository.script(
        "evaluate.sh",
        **record_upskill(repository, tmp_path, code=1),
        GATE_MODELS="haiku, qwen3-8b\n\nscripted/a.yaml",
        GATE_REQUIRE="no-harm",
        GATE_BASE_URL="http://127.0.0.1:1/v1",
        GATE_MAX_COST="2",
        GATE_MIN_LIFT="",
        GATE_LEDGER="looks.jsonl",
        GATE_ARGUMENTS="--runs\n1\n",
    )
    assert done.returncode == 1
    assert (repository.out / "eval.code").read_text() == "1\n"
    words = called(tmp_path)
    assert words[words.index("--") + 1 :] == [f"../head/{name}" for name in STRANGE]
    models = [words[place + 1] for place, word in enumerate(words) if word == "--model"]
    assert models == ["haiku", "qwen3-8b", "scripted/a.yaml"]
    pairs = dict(pairwise(words))
    assert pairs["--compare"] == f"git:{base}"
    assert (pairs["--require"], pairs["--max-cost"], pairs["--runs"]) == ("no-harm", "2", "1")
    assert "--min-lift" not in words
    assert (repository.out / "looks.jsonl").read_text() == "reviewed\n"
    assert (repository.out / "results.json").read_text() == "{}\n"
    log = (repository.out / "eval.log").read_text()
    assert log == "::error::from a skill\nno server at BASE_URL (HOST)\n"
    shown = (repository.out / "command.txt").read_text()
    assert (
        shlex.split(shown.replace("$'new\\nline'", "").replace("$'end\\n'", ""))[-10:]
        == [
            "--model",
            "qwen3-8b",
            "--model",
            "scripted/a.yaml",
            "--compare",
            f"git:{base}",
            "--require",
            "no-harm",
            "--max-cost",
            "2",
            "--runs",
            "1",
        ][-10:]
    )
    assert shown.startswith("upskill eval with\\ space ")
    assert " ./-dash " in shown
    assert shown.count("\n") == 1
    assert "127.0.0.1" not in shown
    assert str(tmp_path) not in shown


@pytest.mark.parametrize("name", ["lint.sh", "evaluate.sh"])
def test_text_of_a_skill_gives_the_runner_no_orders(repository: Gate, tmp_path: Path, name: str) -> None:
    prepare(repository, base_txt=repository.commit("base"))
    done = repository.script(name, **record_upskill(repository, tmp_path, code=3), GITHUB_ACTIONS="true")
    assert done.returncode == 3
    first, *_, last = [line for line in done.stdout.splitlines() if line.startswith("::")]
    token = first.removeprefix("::stop-commands::")
    assert len(token) == 32
    assert last == f"::{token}::"


def test_the_command_runs_in_a_checkout_of_the_base_that_runs_nothing_and_leaves_nothing(
    repository: Gate, tmp_path: Path
) -> None:
    repository.write("upskill.toml", "seed = 1")
    repository.write("a/SKILL.md", "1")
    base = repository.commit("base")
    repository.write("upskill.toml", "seed = 2")
    repository.commit("change")
    hook = repository.repository / ".git" / "hooks" / "post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    prepare(repository, base_txt=base)
    variables = record_upskill(repository, tmp_path)
    for _ in range(2):
        done = repository.script("evaluate.sh", **variables, GATE_KEYS="\n  A_KEY=one=1\nB_KEY=\n", GATE_MODELS="any")
        assert done.returncode == 0, done.stderr
        seen = json.loads((tmp_path / "seen").read_text())
        assert seen["settings"] == "seed = 1"
        assert {name: value for name, value in seen["variables"].items() if "KEY" in name} == {"A_KEY": "one=1"}
        assert not (tmp_path / "ran").exists()
        assert (repository.repository / "upskill.toml").read_text() == "seed = 2"
        assert repository.git("worktree", "list").count("\n") == 0
        assert not (repository.out / "base").exists()
    done = repository.script("evaluate.sh", **variables, GATE_KEYS="sk-secret")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "::error::a line of keys is not NAME=value\n"


def test_what_is_installed_sees_no_key_and_comes_by_hashes(gate: Gate, tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    python = programs / "python"
    python.write_text(
        f"""#!/bin/sh
printf '%s\\n' "$*" >>{tmp_path}/called
env >>{tmp_path}/variables
case "$*" in
  *" -m venv "*) for last; do :; done; mkdir -p "$last/bin" && cp "$0" "$last/bin/python" ;;
  *" wheel "*) while [ "$1" != --wheel-dir ]; do shift; done; touch "$2/upskill-1-py3-none-any.whl" ;;
esac
"""
    )
    python.chmod(0o755)
    keys = dict.fromkeys(("ANTHROPIC_API_KEY", "UPSKILL_ENDPOINT_KEY", "GATE_TOKEN", "GATE_KEYS", "X"), "sk-secret")
    variables = {"PATH": f"{programs}:{record_upskill(gate, tmp_path / 'programs')['PATH']}", "PIP_INDEX_URL": "here"}
    done = gate.script("install.sh", GITHUB_ACTION_PATH=str(ACTION), **keys, **variables)
    assert done.returncode == 0, done.stderr
    seen = (tmp_path / "variables").read_text()
    assert "PIP_INDEX_URL=here\n" in seen
    assert "sk-secret" not in seen
    lines = (tmp_path / "called").read_text().splitlines()
    assert [
        re.findall(r"venv|install|pip .*wheel --no-deps|--require-hashes|\w+\.lock|--no-index", line) for line in lines
    ] == [
        ["venv"],
        ["install", "--require-hashes", "build.lock"],
        [lines[2].partition(" --no-build-isolation")[0].removeprefix("-I -m ")],
        ["install", "--require-hashes", "user.lock"],
        ["install", "--no-index"],
    ]
    assert all(line.startswith("-I -m ") for line in lines)
    assert all("--no-deps" in line for line in lines[1:])
    assert all(line.startswith("-I -m pip") and "--no-build-isolation" in line for line in lines[2:3])


@pytest.mark.parametrize("name", ["lint.sh", "evaluate.sh"])
def test_without_changed_skills_nothing_is_called(gate: Gate, tmp_path: Path, name: str) -> None:
    prepare(gate, changed="", base_txt="0")
    assert gate.script(name, **record_upskill(gate, tmp_path)).returncode == 0
    assert not (tmp_path / "called").exists()


def test_the_key_of_the_cache_depends_on_the_models_and_their_server(gate: Gate) -> None:
    keys = []
    for variables in ({"GATE_MODELS": "haiku"}, {"GATE_MODELS": "haiku", "GATE_BASE_URL": "http://127.0.0.1/v1"}):
        (gate.home / "output").unlink(missing_ok=True)
        assert gate.script("cache-key.sh", **variables).returncode == 0
        keys.append((gate.home / "output").read_text())
    assert len({key for key in keys if key.startswith("models=")}) == 2

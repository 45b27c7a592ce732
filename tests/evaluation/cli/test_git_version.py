"""An older version of a skill out of git: its bytes as they were, and nothing that a repository could make git do."""

import os
import stat
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from upskill.core.skills import git_version
from upskill.core.skills.git_version import NotInCommit, open_git_version
from upskill.core.skills.skills import read_skill
from upskill.errors import UpskillError, UsageError
from upskill.evaluation.order import EvaluationOrder, SameVersion, opened_previous, read_compare, recorded_revision
from upskill.processes import ENVIRONMENTS

TEXT = "---\nname: port\ndescription: Knows the port.\n---\nThe port is {}.\n"
Change = Callable[["Repository"], str]


class Repository:
    """A git repository with one skill, made by real git."""

    def __init__(self, root: Path) -> None:
        self.root, self.skill = root, root / "skills" / "port"
        self.skill.mkdir(parents=True)
        self.git("init", "-q", "-b", "main")

    def git(self, *words: str, stdin: bytes = b"") -> str:
        who = ("-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "protocol.file.allow=always")
        done = subprocess.run(["git", *who, *words], cwd=self.root, input=stdin, capture_output=True, check=True)
        return done.stdout.decode().strip()

    def commit(self) -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "change")
        return self.git("rev-parse", "HEAD")

    def commit_tree(self, listing: str) -> str:
        """A commit in which the skill is this tree, whatever git itself would write."""
        tree = self.git("mktree", "--missing", stdin=listing.encode())
        skills = self.git("mktree", stdin=f"040000 tree {tree}\tport\n".encode())
        root = self.git("mktree", stdin=f"040000 tree {skills}\tskills\n".encode())
        return self.git("commit-tree", "-m", "crafted", root)

    def blob(self, data: bytes) -> str:
        return self.git("hash-object", "-w", "--stdin", stdin=data)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made; no settings of git of this machine count."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def repository(tmp_path: Path, place: Path) -> Repository:
    return Repository(tmp_path / "repository")


def refused(repository: Repository, reference: str) -> UpskillError:
    with (
        pytest.raises(UpskillError) as caught,
        opened_previous(EvaluationOrder(skill=repository.skill, previous_revision=f"git:{reference}")),
    ):
        pass
    assert "\n" not in caught.value.message
    return caught.value


def test_the_bytes_of_the_commit_are_read_and_no_filter_hook_or_checkout_runs(
    repository: Repository, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    skill, ran = repository.skill, tmp_path / "ran"
    (skill / "SKILL.md").write_text(TEXT.format(1))
    (skill / "run.sh").write_bytes(b"#!/bin/sh\r\necho $Id$\n")
    (skill / "run.sh").chmod(0o755)
    (skill / "link.md").symlink_to("SKILL.md")
    (skill / "skill_meta.json").write_text("{}")
    (skill / "evals").mkdir()
    (skill / "evals" / "answers.json").write_text("{}")
    (skill / "evidence.json").write_text("{}")
    first = repository.commit()
    (skill / "SKILL.md").write_text(TEXT.format(2))
    repository.commit()
    (skill / ".gitattributes").write_text("* filter=evil ident\n*.md text eol=crlf\n")
    for name in ("smudge", "clean", "process"):
        repository.git("config", f"filter.evil.{name}", f"touch {ran}; cat")
    for name in ("core.fsmonitor", "core.pager", "core.sshCommand"):
        repository.git("config", name, f"touch {ran}")
    hook = repository.root / ".git" / "hooks" / "post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {ran}\n")
    hook.chmod(0o755)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))  # as a hook of another repository sets it
    before = sorted(path for path in repository.root.rglob("*"))
    with open_git_version(skill / "SKILL.md", "HEAD~1") as version:
        assert version.commit == first
        assert version.name == f"git:{first}" == recorded_revision(version.name)
        assert version.folder.is_relative_to(place)
        assert read_skill(version.folder).name == "port"
        assert (version.folder / "SKILL.md").read_bytes() == TEXT.format(1).encode()
        assert (version.folder / "run.sh").read_bytes() == b"#!/bin/sh\r\necho $Id$\n"
        assert stat.S_IMODE((version.folder / "run.sh").stat().st_mode) == 0o755
        assert (version.folder / "link.md").readlink() == Path("SKILL.md")
        assert sorted(path.name for path in version.folder.iterdir()) == [
            "SKILL.md",
            "link.md",
            "run.sh",
            "skill_meta.json",  # its cases
        ]
        assert [file.path for file in read_skill(version.folder).files] == ["SKILL.md", "link.md", "run.sh"]
    assert list(place.iterdir()) == [], "the temporary folder is gone"
    assert not ran.exists()
    assert sorted(path for path in repository.root.rglob("*")) == before


def test_a_version_that_is_the_same_is_told_apart_from_one_that_is_not_there(repository: Repository) -> None:
    (repository.skill / "SKILL.md").write_text(TEXT.format(1))
    commit = repository.commit()
    (repository.skill / "skill_meta.json").write_text("{}")  # cases are no part of a version
    same = refused(repository, "HEAD")
    assert isinstance(same, SameVersion)
    assert same.commit == commit
    repository.skill.rename(repository.skill.with_name("harbour"))
    repository.skill = repository.skill.with_name("harbour")
    renamed = refused(repository, "HEAD")
    assert isinstance(renamed, NotInCommit)
    assert "is not in git:HEAD; it was added, renamed or moved later" in renamed.message


def _shallow(repository: Repository) -> str:
    repository.commit()
    clone = repository.root.with_name("shallow")
    repository.git("clone", "-q", "--depth", "1", repository.root.as_uri(), str(clone))
    repository.skill = clone / "skills" / "port"
    return "HEAD~1"


def _partial(repository: Repository) -> str:
    """The older blob is missing; it could only be fetched."""
    (repository.skill / "SKILL.md").write_text(TEXT.format(2))
    repository.commit()
    repository.git("config", "uploadpack.allowFilter", "true")
    clone = repository.root.with_name("partial")
    repository.git("clone", "-q", "--filter=blob:none", repository.root.as_uri(), str(clone))
    repository.skill = clone / "skills" / "port"
    return "HEAD~1"


def _outside(repository: Repository) -> str:
    repository.skill = repository.root.parent / "outside"
    repository.skill.mkdir()
    (repository.skill / "SKILL.md").write_text(TEXT.format(1))
    return "HEAD"


def _broken(repository: Repository) -> str:
    return repository.commit_tree(f"100644 blob {repository.blob(b'no frontmatter')}\tSKILL.md\n")


def _linked(repository: Repository) -> str:
    text, link = repository.blob(TEXT.format(2).encode()), repository.blob(b"/etc/hostname")
    return repository.commit_tree(f"100644 blob {text}\tSKILL.md\n120000 blob {link}\tnotes.md\n")


def _through_a_link(repository: Repository) -> str:
    """A tree with the same name twice: a link out of the folder, and a folder that would be written through it."""
    text, link = repository.blob(TEXT.format(2).encode()), repository.blob(b"..")
    inner = repository.git("mktree", stdin=f"100644 blob {text}\tescaped.md\n".encode())
    return repository.commit_tree(
        f"100644 blob {text}\tSKILL.md\n120000 blob {link}\tnotes\n040000 tree {inner}\tnotes\n"
    )


def _leaving(repository: Repository) -> str:
    text = repository.blob(TEXT.format(2).encode())
    inner = repository.git("mktree", stdin=f"100644 blob {text}\tescaped.md\n".encode())
    return repository.commit_tree(f"100644 blob {text}\tSKILL.md\n040000 tree {inner}\t..\n")


def _dot(repository: Repository) -> str:
    text = repository.blob(TEXT.format(2).encode())
    return repository.commit_tree(f"100644 blob {text}\tSKILL.md\n100644 blob {text}\t.\n")


def _damaged(repository: Repository) -> str:
    """The older blob is lost."""
    blob = repository.git("rev-parse", "HEAD:skills/port/SKILL.md")
    (repository.skill / "SKILL.md").write_text(TEXT.format(2))
    repository.commit()
    (repository.root / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    return "HEAD~1"


def _many_files(repository: Repository) -> str:
    text = repository.blob(TEXT.format(2).encode())
    return repository.commit_tree("".join(f"100644 blob {text}\t{number}.md\n" for number in range(10_001)))


def _many_bytes(repository: Repository) -> str:
    large = repository.blob(bytes(11_000_000))
    return repository.commit_tree("".join(f"100644 blob {large}\t{number}.bin\n" for number in range(10)))


def _submodule(repository: Repository) -> str:
    text, commit = repository.blob(TEXT.format(2).encode()), repository.git("rev-parse", "HEAD")
    return repository.commit_tree(f"100644 blob {text}\tSKILL.md\n160000 commit {commit}\tvendor\n")


def _large_file_storage(repository: Repository) -> str:
    text = repository.blob(TEXT.format(2).encode())
    pointer = repository.blob(b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n")
    return repository.commit_tree(f"100644 blob {text}\tSKILL.md\n100644 blob {pointer}\tdata.bin\n")


@pytest.mark.parametrize(
    ("change", "said", "hint"),
    [
        (lambda _: "HEAD~7", "git:HEAD~7: the repository has no such commit", "git log --oneline"),
        (lambda _: "--help", "git:--help: is not a revision", "git:HEAD~1"),
        (lambda _: "HEAD\n", "is not a revision", "git:HEAD~1"),
        (_shallow, "git:HEAD~1: the repository has no such commit", "fetch-depth: 0"),
        (_partial, "the clone is partial and lacks old files", "without --filter"),
        (_outside, "outside: is not in a git repository", "previous:PATH"),
        (_broken, "port: this skill cannot be used", "another version"),
        (_linked, "port: this skill cannot be used", "another version"),
        (_leaving, "'../escaped.md' is no name of a file inside a skill", None),
        (_dot, "'.' is no name of a file inside a skill", None),
        (_damaged, "git:HEAD~1: git has no content of SKILL.md", "git fsck"),
        (lambda _: "HEAD..HEAD", "git:HEAD..HEAD: is not one commit", "git:HEAD~1"),
        (lambda _: "^HEAD", "git:^HEAD: is not one commit", "git:HEAD~1"),
        (_through_a_link, "the older version cannot be written", None),
        (_many_files, "this folder is too large for a skill", "check the folder"),
        (_many_bytes, "this folder is too large for a skill", "check the folder"),
        (_submodule, "vendor is a submodule", "previous:PATH"),
        (_large_file_storage, "data.bin is in Git LFS", "previous:PATH"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_what_cannot_be_compared_with_is_refused_in_one_line_and_leaves_nothing(
    repository: Repository, place: Path, change: Change, said: str, hint: str | None
) -> None:
    (repository.skill / "SKILL.md").write_text(TEXT.format(1))
    repository.commit()
    error = refused(repository, change(repository))
    assert said in error.message
    assert (hint in (error.hint or "")) if hint else error.hint is None
    assert list(place.iterdir()) == []
    assert not list(place.parent.rglob("escaped.md"))


def test_no_setting_of_a_partial_clone_makes_git_run_a_program(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository.skill / "SKILL.md").write_text(TEXT.format(1))
    repository.commit()
    reference, ran = _damaged(repository), tmp_path / "ran"
    for name, value in {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": f"ext::touch {ran}",
        "protocol.ext.allow": "always",
    }.items():
        repository.git("config", name, value)
    monkeypatch.setitem(git_version._QUIET, "GIT_NO_LAZY_FETCH", "0")  # as where git does not know it
    refused(repository, reference)
    assert not ran.exists()


def test_without_git_or_where_it_does_not_trust_the_owner_its_absence_or_its_advice_is_said(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository.skill / "SKILL.md").write_text(TEXT.format(1))
    repository.commit()
    seen = (*ENVIRONMENTS["git"], "GIT_TEST_ASSUME_DIFFERENT_OWNER")
    monkeypatch.setattr("upskill.processes.ENVIRONMENTS", {**ENVIRONMENTS, "git": seen})
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    distrusted = refused(repository, "HEAD")
    assert "detected dubious ownership" in distrusted.message
    assert "safe.directory" in (distrusted.hint or "")
    monkeypatch.setenv("PATH", "")
    assert refused(repository, "HEAD").message == "git is not installed, so no version can be read from it"


@pytest.mark.parametrize("text", ["git:", "previous:", "HEAD~1", "GIT:HEAD"])
def test_what_is_neither_a_revision_nor_a_folder_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not understood"):
        read_compare(text)


def test_a_folder_and_a_revision_are_told_apart() -> None:
    assert read_compare(None) == (None, None)
    assert read_compare("git:main@{1 day ago}").revision == "git:main@{1 day ago}"
    assert read_compare("previous:git:x").folder == Path("git:x")
    assert recorded_revision("git:main") is None, "a record never names a branch"
    order = EvaluationOrder(skill=Path("x"), previous=Path("y"))
    with opened_previous(order) as opened:
        assert opened == replace(order)

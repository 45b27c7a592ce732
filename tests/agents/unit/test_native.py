"""The program behind what package managers install."""

from pathlib import Path

import pytest

from upskill.agents.streams import native_program
from upskill.errors import UsageError

PACKAGE = "@maker/agent-linux-x64/agent"


def make(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def find(found: Path) -> Path:
    return native_program(found, beside=[PACKAGE], install="npm install -g agent")


def test_links_are_followed_as_installers_and_brew_lay_them(tmp_path: Path) -> None:
    real = make(tmp_path / "share" / "agent" / "versions" / "2.0", b"\x7fELF program")
    (tmp_path / "opt").symlink_to(tmp_path / "share" / "agent" / "versions")
    (tmp_path / "agent").symlink_to(tmp_path / "opt" / "2.0")
    assert find(tmp_path / "agent") == real


@pytest.mark.parametrize("place", ["lib/node_modules", "lib/node_modules/@maker/agent/node_modules"])
def test_a_script_leads_to_the_package_for_this_machine(tmp_path: Path, place: str) -> None:
    script = make(tmp_path / "lib/node_modules/@maker/agent/bin/agent.js", b"#!/usr/bin/env node\n")
    real = make(tmp_path / place / PACKAGE, b"\x7fELF program")
    assert find(script) == real


def test_a_script_without_a_program_behind_it_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no program for this machine") as refused:
        find(make(tmp_path / "agent", b"#!/bin/sh\n"))
    assert "npm install -g agent" in (refused.value.hint or "")

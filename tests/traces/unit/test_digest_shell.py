"""Shell commands as the digest understands them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from upskill.traces.shell import changes_files, is_rerun, only_looks, simple_commands


def _heads(command: str) -> list[str]:
    return [part.head for part in simple_commands(command)]


@pytest.mark.parametrize(
    ("command", "heads"),
    [
        ("make test", ["make test"]),
        ("cd /x && make test 2>&1 | tail -5", ["make test"]),
        ("bash -lc 'sed -i s/a/b/ f && make test'", ["sed", "make test"]),
        ("A=1 timeout 60 python3.12 -m pytest tests/a.py -q", ["pytest"]),
        ("uv run pytest -v", ["pytest"]),
        ("npm run build", ["npm build"]),
        ("cat <<EOF > a.py\nmake test\nEOF\npython a.py", ["cat", "python"]),
        ("echo 'make test'; ls", ["ls"]),
        ("for i in 1 2; do make; done", ["make"]),
        ("(cd sub; make check)", ["make check"]),
        ("make # test", ["make"]),
        ("", []),
    ],
)
def test_what_a_command_line_is_about(command: str, heads: list[str]) -> None:
    assert _heads(command) == heads


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("make test", "cd /x && make test 2>&1 | tail -40"),
        ("pytest tests/a.py -x -q", "python -m pytest tests/a.py::test_one"),
        ("pip install torch", "pip3 install torch==2.1"),
        ("cmake -B build -S .", "cmake -B build -S . -DX_DIR=/opt/x"),
        ("pytest", "pytest tests/a.py"),
        ("python bench.py", "/usr/bin/python3 ./bench.py --fast"),
        ("bundle exec rspec spec/models", "bin/rspec spec/models/user_spec.rb:12"),
        ("pnpm tsc --noEmit", "pnpm exec tsc --noEmit -p ."),
    ],
)
def test_a_rerun_with_small_differences_is_known_again(before: str, after: str) -> None:
    assert is_rerun(simple_commands(before)[-1], simple_commands(after)[-1])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("pytest tests/a.py", "pytest tests/b.py"),
        ("make test", "make install"),
        ("make test", "npm test"),
        ("pytest tests/a", "pytest tests/ab/c.py"),
        ("pip install a", "pip install b"),
        ("python a.py", "python b.py"),
    ],
)
def test_another_command_is_no_rerun(before: str, after: str) -> None:
    assert not is_rerun(simple_commands(before)[-1], simple_commands(after)[-1])


@pytest.mark.parametrize("command", ["make check", "pytest", "cargo test", "npm test", "./run_tests.sh", "nvcc a.cu"])
def test_checks_are_told(command: str) -> None:
    assert simple_commands(command)[-1].is_check


@pytest.mark.parametrize("command", ["nvcc --version", "ls tests", "grep -rn test .", "git diff", "pip install pytest"])
def test_what_only_looks_or_installs_is_no_check(command: str) -> None:
    assert not simple_commands(command)[-1].is_check


def test_a_pipe_or_a_semicolon_hides_an_exit_code() -> None:
    assert simple_commands("make test | tail")[0].masked
    assert simple_commands("make test; echo done")[0].masked
    assert not simple_commands("make test && echo done")[0].masked
    assert not simple_commands("make test")[0].masked


def test_commands_that_write_are_told_from_those_that_look() -> None:
    assert changes_files("sed -i s/a/b/ f")
    assert changes_files("cat > f <<EOF\nx\nEOF")
    assert not changes_files("pip install x && pytest | tee log")
    assert only_looks("ls -la | head; grep x y")
    assert not only_looks("ls && make")


@given(st.text(alphabet=st.sampled_from(list("ab '\"\\|&;<>()#$\n=-./")), max_size=80) | st.text(max_size=200))
def test_no_text_breaks_it(command: str) -> None:
    parts = simple_commands(command)
    assert all(part.head for part in parts)
    only_looks(command)

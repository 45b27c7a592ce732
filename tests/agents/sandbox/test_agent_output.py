"""What a coding agent prints comes through the relay: whole, and from nobody else in its sandbox."""

from importlib.resources import files

from upskill.sandbox import SandboxSpec, open_sandbox

RELAY = files("upskill.agents").joinpath("relay.py").read_bytes()
FORGER = """
import os
for place in (f"/proc/{os.getppid()}/fd/1", f"/proc/{RELAY_PID}/fd/1"):
    try:
        with open(place, "w") as out:
            out.write("forged")
    except OSError as error:
        print(type(error).__name__, error.errno, flush=True)
    else:
        print("opened", flush=True)
"""
AGENT = """
import os, subprocess, sys
program = open("/tmp/forger.py").read().replace("{RELAY_PID}", str(os.getppid()))
said = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE).stdout.decode()
print(said + "x" * 300_000 + "end", end="", flush=True)
sys.exit(7)
"""


def test_no_program_prints_in_the_agents_name_and_nothing_of_it_is_lost() -> None:
    with open_sandbox(SandboxSpec()) as sandbox:
        sandbox.put({"/tmp/relay.py": RELAY, "/tmp/forger.py": FORGER.encode(), "/tmp/agent.py": AGENT.encode()})
        ran = sandbox.run(
            ["python3", "/tmp/relay.py", "8799", "/tmp/none.sock", "python3", "/tmp/agent.py"], seconds=60
        )
    assert ran.exit_code == 7, ran.stderr
    tried, _, rest = ran.stdout.decode().partition("x")
    assert tried.split("\n")[:2] == ["OSError 6", "PermissionError 13"]
    assert rest.endswith("xend")
    assert len(rest) == 300_000 + 2
    assert "forged" not in ran.stdout.decode()

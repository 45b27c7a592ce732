"""Runs inside the sandbox: listens on loopback, carries every byte to one unix socket and back, and starts the agent.

    python3 relay.py PORT SOCKET PROGRAM [ARGUMENT ...]

A socket that begins with @ is a name without a file. The exit code is that of the agent; 128 and the number of a signal
if one ended it. What the agent prints comes through a socket, which no program can open by its name below /proc, as no
program can open what this process has: nobody prints in the agent's name. Standard library only, and as little of it as
will do: it starts with every trial.
"""

import _thread
import ctypes
import os
import socket
import sys

CHUNK = 1 << 16
SET_DUMPABLE = 4


def main(port: int, path: str, command: "list[str]") -> int:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(64)
    if sys.platform == "linux" and ctypes.CDLL(None).prctl(SET_DUMPABLE, 0, 0, 0, 0) != 0:
        return 126
    printed, stdout = socket.socketpair()
    # It listens, so whatever the agent sends is kept until the threads below take it.
    agent = os.fork()
    if agent == 0:
        listener.close()
        os.dup2(stdout.fileno(), 1)
        try:
            os.execvp(command[0], command)
        except OSError as error:
            os.write(2, f"{command[0]}: {error.strerror}\n".encode())
        finally:
            os._exit(127)
    stdout.close()
    _thread.start_new_thread(accept, (listener, path))
    codes: list[int] = []
    ended = _thread.allocate_lock()
    ended.acquire()
    _thread.start_new_thread(wait, (agent, printed, codes, ended))
    while chunk := printed.recv(CHUNK):
        while chunk:
            chunk = chunk[os.write(1, chunk) :]
    ended.acquire()
    return codes[0] if codes[0] >= 0 else 128 - codes[0]


def wait(agent: int, printed: socket.socket, codes: "list[int]", ended: "_thread.LockType") -> None:
    """When the agent has ended, what it printed is still read; processes that it left print for nobody."""
    codes.append(os.waitstatus_to_exitcode(os.waitpid(agent, 0)[1]))
    printed.shutdown(socket.SHUT_RD)
    ended.release()


def accept(listener: socket.socket, path: str) -> None:
    while True:
        inside, _ = listener.accept()
        try:
            outside = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            outside.connect("\0" + path[1:] if path.startswith("@") else path)
        except OSError:
            inside.close()
            continue
        _thread.start_new_thread(carry, (inside, outside))
        _thread.start_new_thread(carry, (outside, inside))


def carry(source: socket.socket, target: socket.socket) -> None:
    """Until one side ends; then the other hears of it. The sockets are closed when both threads have let go."""
    try:
        while chunk := source.recv(CHUNK):
            target.sendall(chunk)
    except OSError:
        return
    finally:
        hang_up(target)


def hang_up(target: socket.socket) -> None:
    try:
        target.shutdown(socket.SHUT_WR)
    except OSError:
        return


if __name__ == "__main__":
    os._exit(main(int(sys.argv[1]), sys.argv[2], sys.argv[3:]))

"""Servers that speak S3, on loopback, for as long as a block lasts."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pytest

KEY, SECRET = "key-of-the-test", "secret-of-the-test"
MOTO = Path(__file__).parent.parent / "build" / "s3" / "bin" / "moto_server"


@contextmanager
def moto(folder: Path) -> Iterator[str]:
    """The server of moto, an imitation; installed by `make s3`."""
    assert MOTO.exists(), "make s3"
    port = _free_port()
    with _running([str(MOTO), "-H", "127.0.0.1", "-p", str(port)], folder / "moto.log"):
        yield _answering(port)


@contextmanager
def radosgw(folder: Path) -> Iterator[str]:
    """The gateway of Ceph with a monitor and a store in memory, from Debian: radosgw, ceph-mon, ceph-osd."""
    if not all(map(shutil.which, ("radosgw", "ceph-mon", "ceph-osd"))):
        pytest.skip("radosgw, ceph-mon and ceph-osd are not installed")
    port, monitor = _free_port(), _free_port()
    conf = folder / "ceph.conf"
    conf.write_text(
        f"""[global]
fsid = 00000000-0000-0000-0000-000000000001
mon host = v1:127.0.0.1:{monitor}
public addr = 127.0.0.1
auth cluster required = none
auth service required = none
auth client required = none
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pg autoscale mode = off
mon allow pool size one = true
osd crush chooseleaf type = 0
osd objectstore = memstore
memstore device bytes = 1073741824
osd data = {folder}/osd
mon data = {folder}/mon
rgw data = {folder}/rgw
run dir = {folder}
admin socket = {folder}/$name.$pid.asok
log file = {folder}/$name.log
keyring = {folder}/keyring
pid file = {folder}/$name.pid
rgw frontends = beast endpoint=127.0.0.1:{port}
rgw enable usage log = false
"""
    )
    for name in ("osd", "mon", "rgw"):
        (folder / name).mkdir()

    def call(*command: str) -> None:
        subprocess.run([command[0], "-c", str(conf), *command[1:]], check=True, capture_output=True, timeout=300)

    call("ceph-authtool", "--create-keyring", str(folder / "keyring"), "--gen-key", "-n", "mon.")
    address = f"[v1:127.0.0.1:{monitor}]"
    subprocess.run(
        ["monmaptool", "--create", "--addv", "a", address, "--fsid", "00000000-0000-0000-0000-000000000001",
         str(folder / "monmap")],
        check=True, capture_output=True,
    )  # fmt: skip
    call("ceph-mon", "--mkfs", "-i", "a", "--monmap", str(folder / "monmap"))
    daemon = ("-c", str(conf), "-f", "-i")
    with (
        _running(["ceph-mon", *daemon, "a"], folder / "mon.out"),
        _osd(folder, call, daemon),
    ):
        call(
            "radosgw-admin", "user", "create", "--uid=test", "--display-name=test",
            f"--access-key={KEY}", f"--secret-key={SECRET}",
        )  # fmt: skip
        with _running(["radosgw", "-c", str(conf), "-f", "-n", "client.admin"], folder / "rgw.out"):
            yield _answering(port)


@contextmanager
def _osd(folder: Path, call: object, daemon: Sequence[str]) -> Iterator[None]:
    assert callable(call)
    call("ceph", "osd", "new", "00000000-0000-0000-0000-000000000002", "0")
    call("ceph-osd", "-i", "0", "--mkfs", "--osd-uuid", "00000000-0000-0000-0000-000000000002")
    with _running(["ceph-osd", *daemon, "0"], folder / "osd.out"):
        yield


@contextmanager
def _running(command: Sequence[str], log: Path) -> Iterator[None]:
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env={**os.environ})
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _answering(port: int) -> str:
    """The URL of a server, once it answers."""
    url, until = f"http://127.0.0.1:{port}", time.monotonic() + 180
    while True:
        try:
            urlopen(url, timeout=10).close()
        except HTTPError:
            return url
        except (URLError, OSError):
            assert time.monotonic() < until, "the server did not start"
            time.sleep(0.2)
        else:
            return url


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port

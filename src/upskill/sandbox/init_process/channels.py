"""Connections of programs inside to sockets of the host, where none can be mounted: carried over the wire.

Both ends of the wire run this code. A channel is open as soon as a program connects, and is carried on while a command
runs. Each end sends a window ahead of what the other has passed on, so neither keeps more. Inside, programs connect
to names that are no files: while process 1 lives, no other program can take one.
"""

import _socket as socket  # what the module of that name is made of: a third of the start

CHUNK = 1 << 15
WINDOW = 1 << 17
"""Bytes of one direction of one channel that are on their way."""
MOST_CHANNELS = 32
"""At a time; more wait to be accepted."""
CHANNEL_FRAMES = (b"open", b"data", b"end", b"more")


class Channel:
    """One connection: its socket at this end, and what is still to be written there."""

    def __init__(self, line: "socket.socket") -> None:
        line.setblocking(False)
        self.line = line
        self.descriptor = line.fileno()
        self.unwritten = bytearray()
        self.credit = WINDOW
        self.read_all = False
        self.wrote_all = False
        self.peer_ended = False


class Channels:
    """All of one sandbox. `frames` are what the other end is to be told, in this order."""

    def __init__(self) -> None:
        self.frames: list[list[bytes]] = []
        self.channels: dict[bytes, Channel] = {}
        self.listeners: dict[int, tuple[socket.socket, bytes]] = {}
        self.opened = 0

    def listen(self, target: bytes) -> None:
        """Inside: take connections to this name."""
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(b"\0" + target)
        listener.listen(MOST_CHANNELS)
        listener.setblocking(False)
        self.listeners[listener.fileno()] = (listener, target)

    def readable(self) -> "list[int]":
        """Descriptors that are to be read when there is something."""
        accepting = list(self.listeners) if len(self.channels) < MOST_CHANNELS else []
        return accepting + [one.descriptor for one in self.channels.values() if one.credit and not one.read_all]

    def writable(self) -> "list[int]":
        """Descriptors that are to be written when there is room."""
        return [one.descriptor for one in self.channels.values() if one.unwritten]

    def serve(self, ready: "set[int]") -> None:
        """Carry on what can be read or written now."""
        for number, channel in list(self.channels.items()):
            if channel.descriptor in ready:
                if channel.unwritten:
                    self.write(number, channel)
                if channel.credit and not channel.read_all:
                    self.read(number, channel)
                self.settle(number, channel)
        for descriptor, (listener, target) in self.listeners.items():
            if descriptor in ready:
                try:
                    accepted, _ = listener._accept()  # type: ignore[attr-defined]
                except OSError:
                    continue
                self.opened += 1
                number = str(self.opened).encode()
                self.channels[number] = Channel(socket.socket(fileno=accepted))
                self.frames.append([b"open", number, target])

    def take(self, frame: "list[bytes]") -> None:
        """What the other end tells. Raises `ValueError` where it tells more than it may."""
        kind, number = frame[0], frame[1]
        channel = self.channels.get(number)
        if channel is None:
            return  # it has ended here in the meantime
        if kind == b"data":
            if channel.peer_ended or len(channel.unwritten) + len(frame[2]) > WINDOW:
                raise ValueError("more than its window")
            channel.unwritten += frame[2]
            self.write(number, channel)
        elif kind == b"end":
            channel.peer_ended = True
        elif kind == b"more":
            channel.credit = min(WINDOW, channel.credit + int(frame[2]))
        self.settle(number, channel)

    def read(self, number: bytes, channel: Channel) -> None:
        try:
            chunk = channel.line.recv(min(CHUNK, channel.credit))
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        channel.credit -= len(chunk)
        channel.read_all = not chunk
        self.frames.append([b"data", number, chunk] if chunk else [b"end", number])

    def write(self, number: bytes, channel: Channel) -> None:
        """Whoever does not listen any more is not written to; what was meant for them is passed on all the same."""
        try:
            size = 0 if channel.wrote_all else channel.line.send(channel.unwritten)
        except BlockingIOError:
            return
        except OSError:
            channel.wrote_all = True
        if channel.wrote_all:
            size = len(channel.unwritten)
        del channel.unwritten[:size]
        self.frames.append([b"more", number, str(size).encode()])

    def settle(self, number: bytes, channel: Channel) -> None:
        if not channel.peer_ended or channel.unwritten:
            return
        if not channel.wrote_all:
            channel.wrote_all = True
            hang_up(channel.line)
        if channel.read_all:
            channel.line.close()
            self.channels.pop(number, None)


def hang_up(line: "socket.socket") -> None:
    """Say that nothing more comes. Where the other side has left already, reading will tell."""
    try:
        line.shutdown(socket.SHUT_WR)
    except OSError:
        return

"""Probes 1 to 4 and 15 to 17: what can be written and read."""

from upskill.sandbox.contract import FileRefused
from upskill.sandbox.probes import Probe, ProbeOutcome, Scene, ending, finished, lines, outcome, printed

_CREATE = """
import sys
made = []
for folder in ("/usr", "/etc", "", "/root", "/var", "/bin", "/usr/local/bin"):
    try:
        open(folder + "/" + sys.argv[1], "x").close()
        made.append(folder or "/")
    except OSError as error:
        last = error.strerror
print("created", made, flush=True)
"""


def _creates_nothing(scene: Scene) -> ProbeOutcome:
    ran = scene.python(_CREATE, f"upskill-{scene.bait.secret}")
    held = finished(ran) and lines(ran) == ["created []"]
    return outcome(held, "none created in 7 folders", printed(ran))


_FOLLOW = """
ln -s "$1" folder && ln -s "$1/secret" file || exit 9
cat file folder/secret 2>/dev/null
echo x 2>/dev/null > folder/planted
exit 0
"""


def _links_lead_nowhere(scene: Scene) -> ProbeOutcome:
    ran = scene.shell(_FOLLOW, scene.bait.victim)
    found = scene.bait.victims()
    leaked = scene.bait.secret.encode() in ran.stdout
    held = finished(ran) and not leaked and found == ["secret"]
    return outcome(held, "links lead nowhere", f"leaked: {leaked}; on the host: {found}")


_TRAPS = """
mkdir real && echo plain > plain && echo deep > real/deep && echo two > two && ln two hard &&
ln -s plain link && ln -s real folder && mkfifo pipe
"""


def _reader_refuses(scene: Scene) -> ProbeOutcome:
    ran = scene.shell(_TRAPS)
    accepted = []
    for path in ("link", "folder/deep", "pipe", "hard"):
        try:
            scene.sandbox.read(path)
            accepted.append(path)
        except FileRefused:
            continue
    plain = finished(ran) and scene.sandbox.read("plain") == b"plain\n"
    held = plain and not accepted
    good = "link, linked folder, pipe and hard link refused; plain file read"
    return outcome(held, good, f"accepted {accepted}, plain file read: {plain}, {ending(ran)}")


def _shipped_reader(scene: Scene) -> ProbeOutcome:
    ran = scene.shell("ln -s /etc/passwd answer && cat answer")
    followed = finished(ran) and lines(ran)[:1] == ["agent:x:1000:1000:agent:/home/agent:/bin/sh"]
    try:
        scene.sandbox.read("answer")
        refused = False
    except FileRefused:
        refused = True
    held = followed and refused
    return outcome(held, "refused, although plain open() follows it", f"refused: {refused}, {printed(ran)}")


PROBES = (
    Probe(id=2, what="create files in /usr, /etc, /, /root, /var, /bin", attempt=_creates_nothing),
    Probe(id=15, what="follow links to the host, write through one", attempt=_links_lead_nowhere),
    Probe(id=16, what="leave a link, a linked folder, a pipe, a hard link", attempt=_reader_refuses),
    Probe(id=17, what="leave a link in place of a file that is read", attempt=_shipped_reader),
)

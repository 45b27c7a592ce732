"""Where a trial stands in the engine's logs: by the names of their members, without reading one."""

import re
import zipfile
from collections.abc import Sequence
from pathlib import Path

from upskill.domain.trial import ARMS

_LOG = re.compile(r"-(\d+)_[^_]+\.eval$")
_MEMBER = re.compile(rf"samples/(\d{{6,}}-(.*)-({'|'.join(ARMS)})-(\d+))_epoch_\d+\.json$")
_Key = tuple[int, str, str, int]


class LogSamples:
    """The samples of a run's logs, by student, case, arm and repeat; of several tries the last."""

    def __init__(self, folder: Path, case_ids: Sequence[str]) -> None:
        """A log that cannot be opened holds nothing: an engine that was killed leaves one without its end."""
        names = [_member_name(case_id) for case_id in case_ids]
        self._ambiguous = {name for name in names if names.count(name) > 1} if len(set(names)) < len(names) else set()
        self._found: dict[_Key, tuple[str, str]] = {}
        for path in sorted(folder.glob("*.eval")):
            log = _LOG.search(path.name)
            if log is None:
                continue
            try:
                with zipfile.ZipFile(path) as opened:
                    members = opened.namelist()
            except (OSError, zipfile.BadZipFile):
                continue
            for member in sorted(members):
                sample = _MEMBER.match(member)
                if sample is not None:
                    key = (int(log[1]), sample[2], sample[3], int(sample[4]))
                    self._found[key] = (path.name, sample[1])

    def find(self, student: int, case_id: str, arm: str, repeat: int) -> tuple[str, str] | None:
        """The log and the name in it; `None` where there is none, or where it cannot be told. Students from 1."""
        name = _member_name(case_id)
        return None if name in self._ambiguous else self._found.get((student, name, arm, repeat))


def _member_name(case_id: str) -> str:
    """As the engine is told to name it."""
    return re.sub(r"[^\w.-]+", "_", case_id)[:60]

"""The list of finished outputs in a folder, which stays valid if a run is killed.

After an output has been renamed into place, its line is added to the list in one write. If the run ends
between the two steps, the output is made again; an incomplete line is ignored. So every output in the list is
complete.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Iterable, Mapping
from typing import Any

from svmfast.errors import OptionError
from svmfast.formats.source import Closing
from svmfast.formats.target import reported, unfinished

#: The list's name in the folder.
NAME = ".svmfast-done.jsonl"


def stamp(path: str | os.PathLike[str]) -> list[int] | None:
    """Return size and modification time of a regular file; None for anything else."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return [status.st_size, status.st_mtime_ns] if stat.S_ISREG(status.st_mode) else None


class DoneList(Closing):
    """The record of finished outputs in a folder, for one run at a time. A context manager.

    The folder is created if it does not exist; `clear` forgets what is finished.
    """

    def __init__(self, folder: str, *, clear: bool = False) -> None:
        self.folder = folder
        self._place = os.path.join(folder, NAME)
        with reported(folder):
            os.makedirs(folder, exist_ok=True)
            self._file = os.open(self._place, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            if not stat.S_ISREG(os.fstat(self._file).st_mode):  # reading a pipe would not end
                raise OptionError(f"'{self._place}' is not a regular file; remove it, or use another folder")
            self._lock()
            if clear:
                os.ftruncate(self._file, 0)
            #: For each hash of settings: the columns of the first table, and that table.
            self._columns: dict[str, tuple[list[str], str]] = {}
            self._known = self._read()
        except BaseException:
            self.close()
            raise

    def _lock(self) -> None:
        try:
            import fcntl
        except ImportError:  # not on Windows
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OptionError(f"another run writes into '{self.folder}'; wait until it ends") from None
        except OSError:
            pass  # a file system without locks

    def _read(self) -> dict[str, dict[str, Any]]:
        known: dict[str, dict[str, Any]] = {}
        content = b""
        while piece := os.read(self._file, 1 << 20):
            content += piece
        for line in content.split(b"\n"):
            with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError):
                entry = json.loads(line)
                if "columns" in entry:
                    self._columns[entry["settings"]] = entry["columns"], entry["of"]
                    continue
                known[entry["output"]] = entry
        if content and not content.endswith(b"\n"):
            os.write(self._file, b"\n")  # the next line must not continue one that was cut short
        return known

    def find(self, name: str, made_from: Mapping[str, Any]) -> dict[str, Any] | None:
        """The record of an output; None if the output is missing, changed, or made from other inputs.

        `name` is the output's path, relative to the folder; `made_from` are its inputs, as given to
        :meth:`add`.
        """
        entry = self._known.get(name, {})
        made_so = entry.get("made_from") == made_from and self._stands(name)
        noted: dict[str, Any] | None = entry["noted"] if made_so else None
        return noted

    def _stands(self, name: str) -> bool:
        """Whether an output in the list is still as it was written."""
        found = stamp(os.path.join(self.folder, name))
        return found is not None and self._known[name].get("stamp") == found

    def add(self, name: str, made_from: Mapping[str, Any], noted: Mapping[str, Any]) -> None:
        """Record that an output is complete."""
        written = stamp(os.path.join(self.folder, name))
        entry = {"output": name, "stamp": written, "made_from": dict(made_from), "noted": dict(noted)}
        self._known[name] = entry
        self._write(entry)

    def _write(self, entry: Mapping[str, Any]) -> None:
        with reported(self._place):
            os.write(self._file, (json.dumps(entry) + "\n").encode())

    def columns(self, settings: str, ignored: Iterable[str]) -> tuple[list[str], str] | None:
        """The column order in which tables were read, and the first table, which set it.

        None if no existing output was made with these settings: there is no order to agree with. Outputs in
        `ignored` are about to be made again.
        """
        skipped = {*ignored}
        standing = any(
            entry.get("made_from", {}).get("settings") == settings and self._stands(name)
            for name, entry in self._known.items()
            if name not in skipped
        )
        return self._columns.get(settings) if standing else None

    def add_columns(self, settings: str, names: Iterable[str], of: str) -> None:
        """Record the columns of the first table; see :meth:`columns`."""
        self._columns[settings] = [*names], of
        self._write({"settings": settings, "columns": [*names], "of": of})

    def remove_unfinished(self, names: Iterable[str]) -> None:
        """Remove temporary files of these outputs that killed runs left; no other run can be writing them."""
        wanted: dict[str, set[str]] = {}
        for name in names:
            folder, last = os.path.split(name)
            wanted.setdefault(os.path.join(self.folder, folder), set()).add(last)
        for folder, outputs in wanted.items():
            for file in unfinished(folder, outputs):
                with contextlib.suppress(OSError):
                    os.unlink(file)

    def close(self) -> None:
        """Close the list and release the lock."""
        os.close(self._file)

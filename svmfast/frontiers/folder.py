"""The output folder of ``svmfast frontier``: the identity of a run, its models, and a record of each."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from svmfast.errors import OptionError
from svmfast.figures import plain
from svmfast.formats.data import is_replayable
from svmfast.formats.remote import open_remote
from svmfast.formats.target import write_atomic
from svmfast.frontiers.plan import CandidateCommand
from svmfast.values import is_uri

#: Folders with another layout are overwritten.
LAYOUT = 4
#: The files that a finished run leaves in the folder, besides its models and records.
RESULTS = ("recommended", "report.json", "report.html")
#: The largest size of a file that is written and read back.
_MOST_BYTES = 1 << 20


@dataclass(frozen=True)
class MadeRecord:
    """The record of a candidate: its model's hash and the time to make it, or why none can be measured."""

    sha256: str | None = None
    build_seconds: float | None = None
    reason: str | None = None
    rejected: bool = False


@dataclass
class RunFolder:
    """The output folder, with the identity of a run, its models and its records.

    The identity consists of everything on which models and their speeds depend: hashes of the inputs, the
    seed, the number of threads, options for reading, the version. A folder with another identity is
    refused, or cleared with `overwrite`. Limits, methods and the time limit may change from run to run.
    """

    path: Path
    identity: dict[str, Any]
    overwrite: bool = False

    def check(self) -> bool:
        """Whether the folder holds another run; raise OptionError if it may not be overwritten."""
        place = self.path / "inputs.json"
        if not place.exists():
            return False
        known = _read(place)
        others = [name for name, value in self._wanted.items() if known.get(name) != value]
        if others and not self.overwrite:
            raise OptionError(
                f"{self.path} holds a run with other inputs or options ({', '.join(others)}); give another "
                "`output`, or `overwrite` to start over in this one"
            )
        return bool(others)

    def open(self) -> None:
        """Make the folder, or continue in an existing one, where the results of an earlier run are removed.

        A run that fails or is killed then leaves no results that look like its own.
        """
        if self.check():  # remove records first, since a model without a record is made again
            shutil.rmtree(self.path / "records", ignore_errors=True)
            shutil.rmtree(self.models, ignore_errors=True)
        for name in RESULTS:
            (self.path / name).unlink(missing_ok=True)
        self.models.mkdir(parents=True, exist_ok=True)
        (self.path / "records").mkdir(exist_ok=True)
        self.write("inputs.json", self._wanted)

    @property
    def _wanted(self) -> dict[str, Any]:
        found: dict[str, Any] = plain({"layout": LAYOUT, **self.identity})  # as it is read back
        return found

    @property
    def models(self) -> Path:
        return self.path / "models"

    def model(self, candidate: CandidateCommand) -> str:
        """The path of a candidate's model."""
        return os.fspath(self.models / candidate.name)

    def write(self, name: str, values: object) -> None:
        """Write a JSON file atomically."""
        self.write_bytes(name, (json.dumps(plain(values), indent=2, allow_nan=False) + "\n").encode())

    def write_bytes(self, name: str, content: bytes) -> None:
        """Write a file atomically."""
        with write_atomic(self.path / name) as out:
            out.write(content)

    def record(self, candidate: CandidateCommand) -> MadeRecord | None:
        """The record of a candidate; None if the candidate must be made, perhaps again.

        The seal detects damage, and records of another run or command.
        """
        known = _read(self.path / "records" / f"{candidate.name}.json")
        if known.pop("seal", None) != self._seal(candidate, known):
            return None
        record = MadeRecord(**known)
        changed = record.sha256 is not None and record.sha256 != file_hash(self.model(candidate))
        return None if changed else record

    def keep(self, candidate: CandidateCommand, record: MadeRecord) -> None:
        """Write the record of a finished candidate."""
        values = {name: value for name, value in asdict(record).items() if value is not None}
        self.write(f"records/{candidate.name}.json", {**values, "seal": self._seal(candidate, values)})

    def _seal(self, candidate: CandidateCommand, values: dict[str, Any]) -> str:
        content = json.dumps([self._wanted, candidate.arguments, values], sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()


def _read(place: Path) -> dict[str, Any]:
    """Read a JSON object that this program has written; one that does not parse is empty."""
    try:
        if not stat.S_ISREG(os.stat(place).st_mode):
            return {}
        with place.open("rb") as file:
            found = json.loads(file.read(_MOST_BYTES))
        json.dumps([found])  # nesting that can be read may still be too deep for hashing
    except (FileNotFoundError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def file_hash(path: str | os.PathLike[str]) -> str | None:
    """The SHA-256 of a file; None if there is none; OptionError if it is a pipe or a terminal."""
    digest, path = hashlib.sha256(), os.fspath(path)
    try:
        if not is_replayable(path):
            raise OptionError(f"{path} is not a regular file, and is read more than once")
        with open_remote(path) if is_uri(path) else open(path, "rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    except FileNotFoundError:
        return None
    return digest.hexdigest()

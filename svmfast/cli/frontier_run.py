"""Running candidates one by one within a time limit, each finished one on record in a folder."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from svmfast.cli.frontier_child import OutOfTime
from svmfast.cli.frontier_plan import Candidate
from svmfast.errors import OptionError

#: Records of an older layout are not read.
LAYOUT = 2
#: A candidate may take so many equal shares of the time that is left: cheap ones leave most of theirs.
SHARES = 3.0
#: Seconds without which no candidate is started: a program takes a good part of one to begin.
LEAST_SHARE = 2.0


@dataclass
class Folder:
    """``-o DIR``: what a run is made from, its models and its records.

    The identity is what the models and measurements depend on: inputs by hash, seed, threads. A folder of
    another identity is refused, or begun again where `anew` says so; limits, methods and the time limit may
    change from run to run.
    """

    path: Path
    identity: dict[str, Any]
    anew: bool = False

    def open(self) -> None:
        """Make the folder, or check that it is ours."""
        place = self.path / "inputs.json"
        wanted = {"layout": LAYOUT, **self.identity}
        known = _read(place) if place.exists() else {}
        differing = [name for name, value in wanted.items() if place.exists() and known.get(name) != value]
        if differing and not self.anew:
            name = differing[0]
            raise OptionError(
                f"{self.path} holds a run with {name} {known.get(name)}, this one has {wanted[name]}; "
                "give another folder with -o, or --anew to begin again in this one"
            )
        if differing:  # what is on record first: a model without a record is made again
            shutil.rmtree(self._records, ignore_errors=True)
            shutil.rmtree(self.models, ignore_errors=True)
        self.models.mkdir(parents=True, exist_ok=True)
        self._records.mkdir(exist_ok=True)
        if differing or not place.exists():
            self.write("inputs.json", wanted)

    @property
    def models(self) -> Path:
        """Where the models are."""
        return self.path / "models"

    @property
    def _records(self) -> Path:
        return self.path / "records"

    def model(self, candidate: Candidate) -> str:
        """Return the path of a candidate's model."""
        return os.fspath(self.models / candidate.name)

    def write(self, name: str, values: object) -> None:
        """Write a JSON file, whole or not at all."""
        from svmfast.evaluation.json_values import finite

        self.write_bytes(name, (json.dumps(finite(values), indent=2, allow_nan=False) + "\n").encode())

    def write_bytes(self, name: str, content: bytes) -> None:
        """Write a file, whole or not at all."""
        from svmfast.formats.target import write_atomic

        with write_atomic(self.path / name) as out:
            out.write(content)

    def record(self, candidate: Candidate) -> dict[str, Any] | None:
        """Return what is known of a candidate; None where it must be made (again)."""
        place = self._records / f"{candidate.name}.json"
        if not place.exists():
            return None
        known = _read(place)
        # As it was written: no figure of a damaged record is believed, and none is missing.
        if known.pop("seal", None) != _seal(known) or known.get("arguments") != list(candidate.arguments):
            return None
        if "sha256" in known and known["sha256"] != file_hash(self.model(candidate)):
            return None
        return known

    def keep(self, candidate: Candidate, values: dict[str, Any]) -> None:
        """Put a finished candidate on record."""
        from svmfast.evaluation.json_values import finite

        content = finite({"arguments": list(candidate.arguments), **values})
        self.write(f"records/{candidate.name}.json", {**content, "seal": _seal(content)})


def _read(place: Path) -> dict[str, Any]:
    try:
        found = json.loads(place.read_bytes())
    except (ValueError, RecursionError) as error:
        raise OptionError(f"{place} is damaged ({error}); remove it, or give another folder") from error
    return found if isinstance(found, dict) else {}


def _seal(content: dict[str, Any]) -> str:
    import hashlib

    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def file_hash(path: str | os.PathLike[str]) -> str | None:
    """Return the sha256 of a file; None where there is none."""
    import hashlib

    digest = hashlib.sha256()
    try:
        with open(path, "rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    except FileNotFoundError:
        return None
    return digest.hexdigest()


def run_all(
    candidates: Sequence[Candidate],
    attempt: Callable[[Candidate, float], None],
    deadline: float,
) -> dict[str, str]:
    """Try candidates in order, and share the time that is left; return the reasons of those left out.

    Parameters
    ----------
    candidates : sequence of Candidate
        Cheap ones first.
    attempt : callable
        Makes and measures one within seconds; raises :class:`OutOfTime`.
    deadline : float
        By ``time.monotonic``.

    Notes
    -----
    Where a candidate runs out of its share, dearer ones of its method would too and wait with it; what time
    is left at the end goes to those that waited, in order.
    """
    waiting = list(candidates)
    given: dict[str, float] = {}
    while waiting:
        late: list[Candidate] = []
        slow: set[str] = set()
        tried = False
        for done, candidate in enumerate(waiting):
            left = deadline - time.monotonic()
            share = min(left, max(LEAST_SHARE, SHARES * left / (len(waiting) - done)))
            # Once more only with clearly more time than it had.
            enough = share >= LEAST_SHARE and share > 1.5 * given.get(candidate.name, 0.0)
            if candidate.method in slow or not enough:
                late.append(candidate)
                continue
            given[candidate.name] = share
            tried = True
            try:
                attempt(candidate, share)
            except OutOfTime:
                slow.add(candidate.method)
                late.append(candidate)
        waiting = late
        if not tried:
            break
    return {
        candidate.name: (
            f"not finished within {given[candidate.name]:.0f} s"
            if candidate.name in given
            else "not tried within the time limit"
        )
        for candidate in waiting
    }

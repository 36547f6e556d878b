"""The fixtures are the files their manifest describes, all of them and no others."""

from __future__ import annotations

import hashlib

from golden import ROOT, manifest


def test_every_file_is_listed_and_every_listed_file_exists() -> None:
    found = {
        path.relative_to(ROOT).as_posix()
        for path in ROOT.rglob("*")
        if path.is_file() and path.parent != ROOT
    }
    assert found == {entry["file"] for entry in manifest()}


def test_hashes_match_the_manifest() -> None:
    for entry in manifest():
        content = (ROOT / entry["file"]).read_bytes()
        assert (len(content), hashlib.sha256(content).hexdigest()) == (
            int(entry["bytes"]),
            entry["sha256"],
        ), entry["file"]

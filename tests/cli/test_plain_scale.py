"""``svmfast scale`` of plain files: it starts without NumPy and click, and prints what the command prints."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from program import PROGRAM, data, svmfast

#: What the start of ``svmfast scale`` must not import, nor anything inside.
HEAVY = {
    *(
        "numpy",
        "scipy",
        "click",
        "rich",
        "pyarrow",
        "dataclasses",
        "inspect",
        "pathlib",
        "tempfile",
        "random",
    ),
    *("hashlib", "logging", "json", "uuid", "platform", "shutil", "subprocess", "importlib.metadata", "ast"),
    *("svmfast.api.scale", "svmfast.api.given", "svmfast.formats.data", "svmfast.formats.svmlight"),
    *("svmfast.models", "svmfast.methods", "svmfast.options", "svmfast.values", "svmfast.rows"),
    *("svmfast.cli.main", "svmfast.cli.options", "svmfast.cli.scale", "svmfast.cli.files"),
}
#: Not on the way through the program: from NumPy.
SELF = ("--memory", "2G")


def imported(*words: object) -> set[str]:
    """Return the modules that a run of ``svmfast scale`` imports."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", PROGRAM, "scale", *map(str, words)],
        capture_output=True,
        check=True,
        text=True,
    )
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if "|" in line}


def test_the_start_imports_nothing_heavy() -> None:
    at_once = {
        line.rpartition("|")[2].strip()
        for line in subprocess.run(
            [sys.executable, "-X", "importtime", "-c", "import re, sys"], capture_output=True, text=True
        ).stderr.splitlines()
    }
    found = imported(data("iris.train"))
    assert "svmfast._core._native" in found
    bad = {name for name in found for heavy in HEAVY if name == heavy or name.startswith(f"{heavy}.")}
    assert not bad - at_once


def rows(path: Path, seed: int, *, plain: bool = True) -> Path:
    """Write random rows: labels and values of many sizes, columns with and without zeros, of one value."""
    rng = np.random.default_rng(seed)
    n, width = int(rng.integers(1, 3000)), int(rng.integers(1, 40))
    values = rng.normal(size=(n, width)) * 10.0 ** rng.integers(-6, 7, width)
    values[rng.random((n, width)) < 0.1] = -0.0
    digits = rng.integers(1, 17, (n, width)).tolist()
    kept = rng.random((n, width)) < rng.choice([0.3, 0.9, 1.0], (n, 1))
    labels = rng.choice(["1", "-1", "+1", "2.5", "1e3"], n)
    lines = []
    for number, (own, row, places) in enumerate(zip(kept, values.tolist(), digits, strict=True)):
        pairs = (f"{j + 1}:{row[j]:.{places[j]}g}" for j in np.flatnonzero(own).tolist())
        lines.append(" ".join((labels[number], *pairs)))
        if not plain and number % 7 == 3:
            lines[-1] += " # a remark"
    path.write_text("\n".join(lines) + ("\n" if seed % 2 else ""))
    return path


WORDS = (
    (),
    ("-l", "0"),
    ("-l", "-0.5", "--upper", "2.25"),
    ("-y", "-3", "7.5"),
    ("-q", "-j", "3"),
)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("plain", [True, False])
def test_both_ways_give_the_same(seed: int, plain: bool, tmp_path: Path) -> None:
    path = rows(tmp_path / "rows", seed, plain=plain)
    for number, words in enumerate(WORDS):
        saved = tmp_path / f"one.{number}", tmp_path / f"other.{number}"
        one, other = (
            svmfast("scale", *words, "-s", place, *more, path)
            for place, more in zip(saved, ((), SELF), strict=True)
        )
        assert (one.returncode, one.stdout, one.stderr) == (0, other.stdout, other.stderr)
        assert saved[0].read_bytes() == saved[1].read_bytes()
    second = rows(tmp_path / "second", seed + 100)
    for ranges in (tmp_path / "one.0", tmp_path / "one.3"):
        one, other = (svmfast("scale", "-r", ranges, *more, second) for more in ((), SELF))
        assert (one.returncode, one.stdout, one.stderr) == (0, other.stdout, other.stderr)
    out = tmp_path / "out"
    assert svmfast("scale", path, "-o", out).stdout == b""
    assert out.read_bytes() == svmfast("scale", path).stdout


#: Contents that are not plain, or wrong.
ODD = {
    "nothing": b"",
    "blank": b"1 1:2\n\n2 1:3\n",
    "comment": b"# first\n1 1:2\n",
    "mark": b"\xef\xbb\xbf1 1:2\n2 1:3\n",
    "descending": b"1 2:1 1:2\n",
    "infinite": b"1 1:inf\n",
    "zero": b"1 1:1\0 2:2\n",
    "wide": b"1 1:1 2000000:2\n1 3:4 1999999:1\n",
    "far": b"1 1:1\n2 2000000000:2\n",
    "huge": b"1 1:1e308\n2 1:-1e308\n",
    "labels": b"1e308 1:1\n-1e308 1:2\n",
    "signed zeros": b"0 1:1\n-0 1:2\n1 1:-0\n",
    "one value": b"1 1:2\n-1 1:2\n",
    "no values": b"1\n-1\n",
    "blanks": b" 1  1:2\t2:3 \r\n2 1:3\r\n",
    "table": b"a,b,label\n1,2,3\n4,5,6\n",
    "no label": b"1:2 2:3\n",
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("words", [(), ("-y", "0", "1")])
def test_odd_files_get_the_same_output_and_messages(
    name: str, words: tuple[str, ...], tmp_path: Path
) -> None:
    path = tmp_path / "rows"
    path.write_bytes(ODD[name])
    one, other = (svmfast("scale", *words, *more, path) for more in ((), SELF))
    assert (one.returncode, one.stdout, one.stderr) == (other.returncode, other.stdout, other.stderr)


#: Range files that svm-scale did not write.
RANGES = {
    "labels": "y\n0 1\n-1 1\nx\n-1 1\n1 4 8\n",
    "unseen": "x\n-1 1\n1 4 8\n",
    "order": "x\n-1 1\n2 4 8\n1 4 8\n",
    "limits": "x\n1 -1\n1 4 8\n",
    "ends": "x\n-1 1\n1 8 4\n2 1 2\n3 1 2\n4 0 1\n",
    "no line end": "x\n-1 1\n1 4 8\n2 2 5\n3 1 7\n4 0 3",
    "blanks": "x\n-1  1\n1 4 8\n2 2 5\n3 1 7\n4 0 3\n",
    "infinite": "x\n-1 1\n1 4 inf\n",
    "empty": "",
    "all": "x\n-1 1\n1 4 8\n2 2 5\n3 1 7\n4 0 3\n",
}


@pytest.mark.parametrize("name", RANGES)
def test_odd_range_files(name: str, tmp_path: Path) -> None:
    (tmp_path / "ranges").write_text(RANGES[name])
    words = ("scale", "-r", tmp_path / "ranges")
    one, other = (svmfast(*words, *more, data("iris.train")) for more in ((), SELF))
    assert (one.returncode, one.stdout, one.stderr) == (other.returncode, other.stdout, other.stderr)


@pytest.mark.parametrize(
    "words",
    [
        ("-l", "1", "-u", "0"),
        ("-l",),
        ("-l", "x"),
        ("-l", "nan"),
        ("-l", "0", "-l", "1"),
        ("-y", "1", "1"),
        ("-j", "0"),
        ("-j", "1000000"),
        ("-s", "/no/such/place"),
        ("-r", "/no/such/file"),
        ("--no-such-option",),
        ("-h",),
    ],
)
def test_odd_words_get_the_same_messages(words: tuple[str, ...]) -> None:
    one, other = (svmfast("scale", *more, data("iris.train"), *words) for more in ((), SELF))
    assert (one.returncode, one.stdout, one.stderr) == (other.returncode, other.stdout, other.stderr)


def test_an_output_that_is_an_input_is_refused(tmp_path: Path) -> None:
    path = rows(tmp_path / "rows", 1)
    os.symlink(path, tmp_path / "link")
    os.link(path, tmp_path / "hard")
    before = path.read_bytes()
    for name in ("rows", "link", "hard"):
        for flag in ("-o", "-s"):
            assert svmfast("scale", path, flag, tmp_path / name).returncode == 2
    assert svmfast("scale", path, "-o", tmp_path / "same", "-s", tmp_path / "same").returncode == 2
    assert path.read_bytes() == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_and_a_closed_pipe() -> None:
    for words in ((), SELF):
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [PROGRAM, "scale", *words, data("iris.train")], stdout=full, stderr=subprocess.PIPE
            )
        assert (done.returncode, done.stderr) == (
            2,
            b"svmfast: -: cannot be written: No space left on device\n",
        )
        line = f"'{PROGRAM}' scale {' '.join(words)} '{data('breast.train')}'"
        line += " | head -c 1; echo ${PIPESTATUS[0]}"
        done = subprocess.run(["bash", "-c", line], capture_output=True)
        assert (done.stdout[1:], done.stderr) == (b"0\n", b"")

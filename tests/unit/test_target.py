"""Where results go: complete or not at all, and never lost in silence."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from svmfast.errors import WriteError
from svmfast.formats.target import check_writable, write_atomic


def listing(folder: Path) -> set[str]:
    return {p.name for p in folder.iterdir()}


def test_appears_whole_and_only_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"old")
    with write_atomic(path) as out:
        out.write(b"new ")
        out.flush()
        assert path.read_bytes() == b"old"
        out.write(b"text")
    assert path.read_bytes() == b"new text"
    assert listing(tmp_path) == {"out"}


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
def test_failure_leaves_what_was_there(failure: type[BaseException], tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"old")
    with pytest.raises(failure), write_atomic(path) as out:  # noqa: PT012
        out.write(b"half")
        raise failure
    assert path.read_bytes() == b"old"
    assert listing(tmp_path) == {"out"}
    with pytest.raises(failure), write_atomic(tmp_path / "fresh"):
        raise failure
    assert listing(tmp_path) == {"out"}


def test_permissions_follow_the_umask_or_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "out"
    before = os.umask(0o027)
    try:
        with write_atomic(path):
            pass
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        path.chmod(0o6604)  # without set-user-ID and set-group-ID
        with write_atomic(path):
            pass
        assert stat.S_IMODE(path.stat().st_mode) == 0o604
    finally:
        os.umask(before)


def test_symbolic_link_stays_and_its_target_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "link").symlink_to("far/out")
    with write_atomic(tmp_path / "link") as out:
        out.write(b"text")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "far" / "out").read_bytes() == b"text"
    assert listing(tmp_path / "far") == {"out"}


def test_devices_are_written_directly(tmp_path: Path) -> None:
    with write_atomic("/dev/null") as out:
        out.write(b"text")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(fifo.read_bytes()))
    reader.start()
    with write_atomic(fifo) as out:
        out.write(b"text")
    reader.join()
    assert got == [b"text"]
    assert stat.S_ISFIFO(fifo.stat().st_mode)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
@pytest.mark.parametrize("size", [1, 1 << 20])
def test_full_disk_is_reported(size: int) -> None:
    with pytest.raises(WriteError) as caught, write_atomic("/dev/full") as out:
        out.write(b"x" * size)
    assert str(caught.value) == "/dev/full: cannot be written: No space left on device"


def test_full_disk_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"old")
    code = (
        "import resource, signal\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10000, 10000))\n"
        f"with write_atomic({str(path)!r}) as out:\n"
        "    out.write(b'x' * 10001)\n"
    )
    assert f"WriteError: {path}: cannot be written: File too large" in run(code).stderr.decode()
    assert path.read_bytes() == b"old"
    assert listing(tmp_path) == {"out"}


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("none/out", "No such file or directory"),
        (".", "Is a directory"),
        ("none/", "Is a directory"),
        ("none/.", "Is a directory"),
        ("none/..", "Is a directory"),
        ("none/../out", "No such file or directory"),
        ("circle", "Too many levels of symbolic links"),
        ("into_none", "No such file or directory"),
        ("file/out", "Not a directory"),
    ],
)
def test_impossible_places(place: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "into_none").symlink_to("none/out")
    (tmp_path / "file").write_bytes(b"")
    before = listing(tmp_path)
    path = f"{tmp_path}/{place}"
    with pytest.raises(WriteError) as caught, write_atomic(path):
        pytest.fail("opened")
    assert str(caught.value) == f"{path}: cannot be written: {reason}"
    with pytest.raises(WriteError) as caught:
        check_writable(path)
    assert str(caught.value) == f"{path}: cannot be written: {reason}"
    assert listing(tmp_path) == before


def test_a_link_to_a_file_that_is_not_there_yet(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("second")
    (tmp_path / "second").symlink_to(tmp_path / "out")
    with write_atomic(tmp_path / "link") as out:
        out.write(b"text")
    assert (tmp_path / "out").read_bytes() == b"text"
    assert not (tmp_path / "out").is_symlink()


@pytest.mark.parametrize("name", ["x" * 254, "\u00e9" * 127, "x" + "\U0001f40d" * 63, "z" * 252 + ".gz"])
def test_the_longest_names(name: str, tmp_path: Path) -> None:
    with write_atomic(tmp_path / name) as out:
        out.write(b"text")
    assert listing(tmp_path) == {name}
    too_long = tmp_path / ("x" * 256)
    with pytest.raises(WriteError, match="File name too long"):
        check_writable(too_long)


def test_checking_a_place_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"old")
    check_writable(path)
    check_writable(tmp_path / "new")
    check_writable("-")
    check_writable("/dev/stdout")
    os.mkfifo(tmp_path / "fifo")
    check_writable(tmp_path / "fifo")  # opening it would wait for a reader
    assert path.read_bytes() == b"old"
    assert listing(tmp_path) == {"out", "fifo"}


def test_read_only_file_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"old")
    path.chmod(0o444)
    if os.access(path, os.W_OK):  # the superuser may write anywhere
        monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(WriteError, match="Permission denied"), write_atomic(path):
        pytest.fail("opened")
    assert path.read_bytes() == b"old"


def run(code: str, **how: Any) -> subprocess.CompletedProcess[bytes]:
    program = "from svmfast.formats.target import write_atomic\n" + code
    return subprocess.run([sys.executable, "-c", program], stderr=subprocess.PIPE, check=False, **how)


def test_standard_output_and_own_descriptors(tmp_path: Path) -> None:
    code = (
        "print('before')\n"
        "for name in ('-', '/dev/stdout', '/dev/fd/1', '/proc/self/fd/1'):\n"
        "    with write_atomic(name) as out:\n"
        "        out.write(name.encode() + b'\\n')\n"
        "print('behind')\n"
    )
    expected = b"before\n-\n/dev/stdout\n/dev/fd/1\n/proc/self/fd/1\nbehind\n"
    code = "import sys; p = print; print = lambda s: p(s, flush=True)\n" + code
    assert run(code, stdout=subprocess.PIPE).stdout == expected
    with open(tmp_path / "file", "wb") as file:
        run(code, stdout=file)
    assert (tmp_path / "file").read_bytes() == expected
    assert listing(tmp_path) == {"file"}


def test_standard_output_reports_errors() -> None:
    code = "with write_atomic('-') as out: out.write(b'x' * 100000)"
    with open("/dev/full", "wb") as full:
        ran = run(code, stdout=full)
    assert ran.returncode == 1
    assert b"WriteError: -: cannot be written: No space left on device" in ran.stderr
    # A reader that has gone is no error of the output: the program decides.
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as gone:
        ran = run(code, stdout=gone)
    assert b"BrokenPipeError" in ran.stderr

"""Where bytes go: packed outputs, files complete or not at all."""

import bz2
import gzip
import json
import lzma
import os
import random
import stat
import subprocess
import sys
import threading

import pytest
import zstandard
from blocks import everything
from command import svmfast
from program import data, listing, model, nobody

from svmfast.cli import main
from svmfast.errors import WriteError
from svmfast.formats import packing
from svmfast.formats.packing import ENDINGS, Packer
from svmfast.formats.target import check_writable, stored_size, write_atomic


def write(path, text):
    with write_atomic(path) as out:
        out.write(text)


@pytest.fixture
def old(tmp_path):
    """A file that is there before, alone in its folder, and at the end still alone."""
    path = tmp_path / "out"
    path.write_bytes(b"old")
    yield path
    assert listing(tmp_path) == {"out"}


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
def test_a_file_appears_whole_or_not_at_all(failure, old):
    for path in (old, old.with_name("fresh")):
        with pytest.raises(failure), write_atomic(path) as out:  # noqa: PT012
            out.write(b"half")
            raise failure
    with write_atomic(old) as out:
        out.write(b"new ")
        out.flush()
        assert old.read_bytes() == b"old"
        out.write(b"text")
    assert old.read_bytes() == b"new text"


def test_permissions_follow_the_umask_or_the_old_file(old, monkeypatch):
    before = os.umask(0o027)
    try:
        for mode, expected in ((None, 0o640), (0o6604, 0o604)):  # without set-user-ID and set-group-ID
            old.unlink() if mode is None else old.chmod(mode)
            write(old, b"old")
            assert stat.S_IMODE(old.stat().st_mode) == expected
    finally:
        os.umask(before)
    old.chmod(0o444)
    if os.access(old, os.W_OK):  # the superuser may write anywhere
        monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(WriteError, match="Permission denied"):
        write(old, b"new")
    assert old.read_bytes() == b"old"


def test_links_stay_and_devices_are_written_directly(tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "link").symlink_to("far/out")
    write(tmp_path / "link", b"text")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "far" / "out").read_bytes() == b"text"
    assert listing(tmp_path / "far") == {"out"}
    write("/dev/null", b"text")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    fifo, got = tmp_path / "fifo", list[bytes]()
    os.mkfifo(fifo)
    reader = threading.Thread(target=lambda: got.append(fifo.read_bytes()))
    reader.start()
    write(fifo, b"text")
    reader.join()
    assert got == [b"text"]
    assert stat.S_ISFIFO(fifo.stat().st_mode)


def run(code, **how):
    program = "import os, resource, signal\nfrom svmfast.formats.target import write_atomic\n" + code
    return subprocess.run([sys.executable, "-c", program], stderr=subprocess.PIPE, check=False, **how)


def test_a_full_disk_is_reported_and_leaves_nothing(old):
    code = "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    code += "resource.setrlimit(resource.RLIMIT_FSIZE, (99, 99))\n"
    ran = run(code + f"with write_atomic({str(old)!r}) as out:\n    out.write(b'x' * 100)\n")
    assert f"WriteError: {old}: cannot be written: File too large" in ran.stderr.decode()
    assert old.read_bytes() == b"old"


@pytest.mark.parametrize(
    ("places", "reason"),
    [
        (("none/out", "none/../out", "into_none"), "No such file or directory"),
        ((".", "none/", "none/.", "none/.."), "Is a directory"),
        (("circle",), "Too many levels of symbolic links"),
        (("file/out",), "Not a directory"),
        (("x" * 256,), "File name too long"),
    ],
)
def test_impossible_places(places, reason, tmp_path):
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "into_none").symlink_to("none/out")
    (tmp_path / "file").write_bytes(b"")
    before = listing(tmp_path)
    for path in (f"{tmp_path}/{place}" for place in places):
        for call in (check_writable, lambda path: write(path, b"")):
            with pytest.raises(WriteError) as caught:
                call(path)
            assert str(caught.value) == f"{path}: cannot be written: {reason}"
    assert listing(tmp_path) == before


@pytest.mark.parametrize("name", ["x" * 254, "\u00e9" * 127, "x" + "\U0001f40d" * 63, "z" * 252 + ".gz"])
def test_the_longest_names(name, tmp_path):
    write(tmp_path / name, b"text")
    assert listing(tmp_path) == {name}


def test_standard_output_and_own_descriptors(tmp_path):
    code = "print('before', flush=True)\nfor name in ('-', '/dev/stdout', '/dev/fd/1', '/proc/self/fd/1'):\n"
    code += "    with write_atomic(name) as out: out.write(name.encode() + b'\\n')\nprint('behind')\n"
    expected = b"before\n-\n/dev/stdout\n/dev/fd/1\n/proc/self/fd/1\nbehind\n"
    assert run(code, stdout=subprocess.PIPE).stdout == expected
    with open(tmp_path / "file", "wb") as file:
        run(code, stdout=file)
    assert (tmp_path / "file").read_bytes() == expected
    assert listing(tmp_path) == {"file"}
    code = "with write_atomic('-') as out: out.write(b'x' * 100000)"
    with open("/dev/full", "wb") as full:
        ran = run(code, stdout=full)
    assert ran.returncode == 1
    assert b"WriteError: -: cannot be written: No space left on device" in ran.stderr
    with nobody() as gone:  # a reader that has gone is no error of the output: the program decides
        assert b"BrokenPipeError" in run(code, stdout=gone).stderr


def unzstd(packed):
    return bytes(zstandard.ZstdDecompressor().decompressobj().decompress(packed))


#: What others make of the files.
UNPACK = {".gz": gzip.decompress, ".bz2": bz2.decompress, ".xz": lzma.decompress, ".zst": unzstd}


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_outputs_are_packed_by_their_name(ending, tmp_path):
    plain, packed = tmp_path / "fast", tmp_path / f"fast{ending}"
    for path in (plain, packed):
        done = svmfast("approximate", model("breast_c_rbf"), "--order", "2", "-o", path, "--json")
        assert json.loads(done.stdout)["bytes"] == path.stat().st_size
    assert UNPACK[ending](packed.read_bytes()) == plain.read_bytes() != packed.read_bytes()
    assert listing(tmp_path) == {plain.name, packed.name}
    assert json.loads(svmfast("info", packed, "--json").stdout)["bytes"] == packed.stat().st_size
    # Predictions for rows that arrive at once, or from a pipe in pieces of any size.
    rows, files = data("breast.test"), [tmp_path / "1.xz", tmp_path / "2.xz"]
    for out, given, one in zip(files, (rows, "-"), (plain, packed), strict=True):
        done = svmfast("predict", given, one, out, "-j", out.stem, stdin=rows.read_bytes())
        assert done.stdout.startswith(b"Accuracy = ")
    assert lzma.decompress(files[0].read_bytes()) == svmfast("predict", "-q", rows, plain).stdout
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_bytes_do_not_depend_on_the_pieces(ending, tmp_path):
    rng, at = random.Random(0), 0
    text = b"".join(b"%d %.3g\n" % (rng.randrange(9), rng.random()) for _ in range(10_000)) * 14
    assert len(text) > 1 << 20
    whole, pieces = tmp_path / f"whole{ending}", tmp_path / f"pieces{ending}"
    with write_atomic(whole) as out:
        assert out.write(text) == len(text)
    with write_atomic(pieces) as out:
        while at < len(text):
            size = rng.choice((1, 100, 70_000))
            out.write(memoryview(text)[at : at + size])
            out.flush()
            at += size
    assert whole.read_bytes() == pieces.read_bytes()
    assert out.stored == whole.stat().st_size == stored_size(whole, text)
    assert everything(whole, 1 << 16) == everything(whole, 100) == text == UNPACK[ending](whole.read_bytes())
    assert (UNPACK[ending](Packer(ENDINGS[ending]).finish()), Packer(ENDINGS[ending]).pack(b"")) == (b"", b"")
    write(whole, b"")
    assert everything(whole) == b""


def test_a_limit_on_the_file_size_is_that_of_the_packed_file(tmp_path):
    words = ("compress", model("breast_c_rbf"), "--max-bytes", "1k", "--data", data("breast.train"))
    for name in ("plain", "packed.gz"):
        done = svmfast(*words, "--start", "kmeans", "--iterations", "5", "-o", tmp_path / name, "--json")
        assert json.loads(done.stdout)["bytes"] == (tmp_path / name).stat().st_size <= 1 << 10, done.stderr
    assert len(gzip.decompress((tmp_path / "packed.gz").read_bytes())) > 1 << 10  # more vectors fit


def test_zstd_without_a_module_is_refused_before_the_work(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(packing, "zstd_module", lambda: None)
    target, packed = tmp_path / "fast.zst", tmp_path / "model.zst"
    packed.write_bytes(zstandard.ZstdCompressor().compress(model("breast_c_rbf").read_bytes()))
    assert main.run(["approximate", str(model("breast_c_rbf")), "-o", str(target)]) == 2
    assert "no module is installed; pip install 'svmfast[zstd]', or write .gz" in capsys.readouterr().err
    assert main.run(["info", str(packed)]) == 2
    assert capsys.readouterr().err.endswith(" or xz; pip install 'svmfast[zstd]'\n")
    assert not target.exists()

"""Outputs ending in .gz, .bz2, .xz or .zst are compressed: complete, reproducible and readable."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import random
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from program import data, model, svmfast

from svmfast.cli import main
from svmfast.errors import InputError
from svmfast.formats import packing
from svmfast.formats.packing import ENDINGS, Packer
from svmfast.formats.source import open_source
from svmfast.formats.target import stored_size, write_atomic


def unzstd(packed: bytes) -> bytes:
    return bytes(zstandard.ZstdDecompressor().decompressobj().decompress(packed))


#: What others make of the files.
UNPACK: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.decompress,
    ".bz2": bz2.decompress,
    ".xz": lzma.decompress,
    ".zst": unzstd,
}


def content(path: Path, limit: int = 1 << 16) -> bytes:
    out = b""
    with open_source(path) as source:
        view = memoryview(bytearray(limit))
        while count := source.readinto(view):
            out += bytes(view[:count])
    return out


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_model_is_packed_by_its_name(ending: str, tmp_path: Path) -> None:
    plain, packed = tmp_path / "fast", tmp_path / f"fast{ending}"
    for path in (plain, packed):
        done = svmfast("approximate", model("breast_c_rbf"), "-o", path, "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["bytes"] == path.stat().st_size
    assert UNPACK[ending](packed.read_bytes()) == plain.read_bytes()
    assert packed.read_bytes() != plain.read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {plain.name, packed.name}
    answers = {svmfast("predict", data("breast.test"), path).stdout for path in (plain, packed)}
    assert len(answers) == 1
    assert json.loads(svmfast("info", packed, "--json").stdout)["bytes"] == packed.stat().st_size


@pytest.mark.parametrize("ending", ENDINGS)
def test_predictions_are_packed_by_their_name(ending: str, tmp_path: Path) -> None:
    text = data("photos.test").read_bytes()
    files = []
    # For rows that arrive at once, or from a pipe in pieces of any size.
    for words, stdin in (((data("photos.test"), "-j", "1"), b""), (("-", "-j", "2"), text)):
        files.append(tmp_path / f"out{len(files)}{ending}")
        done = svmfast("predict", words[0], model("photos_c_rbf"), files[-1], *words[1:], stdin=stdin)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(b"Accuracy = ")
    plain = svmfast("predict", "-q", data("photos.test"), model("photos_c_rbf")).stdout
    assert [UNPACK[ending](file.read_bytes()) for file in files] == [plain, plain]
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_bytes_do_not_depend_on_the_pieces(ending: str, tmp_path: Path) -> None:
    rng = random.Random(0)
    text = b"".join(b"%d %.3g\n" % (rng.randrange(9), rng.random()) for _ in range(10_000)) * 14
    assert len(text) > 1 << 20
    whole, pieces = tmp_path / f"whole{ending}", tmp_path / f"pieces{ending}"
    with write_atomic(whole) as out:
        assert out.write(text) == len(text)
    with write_atomic(pieces) as out:
        at = 0
        while at < len(text):
            size = rng.choice((1, 100, 70_000))
            out.write(memoryview(text)[at : at + size])
            out.flush()
            at += size
    assert whole.read_bytes() == pieces.read_bytes()
    assert out.stored == whole.stat().st_size == stored_size(whole, text)
    assert content(whole) == content(whole, 100) == text


def test_gzip_headers_have_neither_time_nor_name(tmp_path: Path) -> None:
    with write_atomic(tmp_path / "secret.gz") as out:
        out.write(b"text")
    header = (tmp_path / "secret.gz").read_bytes()[:10]
    assert header[3:8] == bytes(5)  # no flags: no name; then the time


def test_a_limit_on_the_file_size_is_that_of_the_packed_file(tmp_path: Path) -> None:
    words = ("compress", model("breast_c_rbf"), "--max-bytes", "1k", "--data", data("breast.train"))
    sizes = {}
    for name in ("plain", "packed.gz"):
        done = svmfast(*words, "--start", "kmeans", "--iterations", "5", "-o", tmp_path / name, "--json")
        sizes[name] = (tmp_path / name).stat().st_size
        assert json.loads(done.stdout)["bytes"] == sizes[name] <= 1 << 10, done.stderr
    text = gzip.decompress((tmp_path / "packed.gz").read_bytes())
    assert len(text) > 1 << 10  # more vectors fit


@pytest.mark.parametrize("name", ["zstandard", "compression.zstd"])
def test_zstd_by_either_kind_of_module(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = pytest.importorskip(name)
    monkeypatch.setattr(packing, "zstd_module", lambda: module)
    path, text = tmp_path / "x.zst", bytes(3_000_000) + random.Random(1).randbytes(300_000)
    with write_atomic(path) as out:
        out.write(text)
    assert unzstd(path.read_bytes()) == text
    for limit in (1000, 1 << 20):
        assert content(path, limit) == text
    path.write_bytes(path.read_bytes() * 2)  # members one after another
    assert content(path) == text * 2
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(InputError, match="the zstd data ends early"):
        content(path)
    path.write_bytes(b"\x28\xb5\x2f\xfd" + b"x" * 100)
    with pytest.raises(InputError, match="the zstd data is damaged"):
        content(path)


def test_zstd_without_a_module_is_refused_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(packing, "zstd_module", lambda: None)
    target, packed = tmp_path / "fast.zst", tmp_path / "model.zst"
    packed.write_bytes(zstandard.ZstdCompressor().compress(model("breast_c_rbf").read_bytes()))
    assert main.run(["approximate", str(model("breast_c_rbf")), "-o", str(target)]) == 2
    assert capsys.readouterr().err == (
        "svmfast: a name that ends in .zst selects zstd, for which no module is installed; "
        "install zstandard, or write .gz, .xz or .bz2\n"
    )
    assert main.run(["info", str(packed)]) == 2
    assert capsys.readouterr().err == (
        f"{packed}: packed with zstd; expected plain text, gzip, bzip2 or xz; install zstandard to read it\n"
    )
    assert not target.exists()


@pytest.mark.parametrize("command", ["approximate", "compress", "cascade", "linear", "train", "meka"])
def test_an_unwritable_output_is_refused_before_the_work(command: str, tmp_path: Path) -> None:
    exact, rows = model("breast_c_rbf"), data("breast.train")
    words: dict[str, tuple[str | Path, ...]] = {
        "approximate": (exact, "-o", "none/"),
        "compress": (exact, "--sv", "3", "-o", "none/"),
        "cascade": (exact, exact, "--data", "missing", "-o", "none/"),
        "linear": ("missing", "-o", "none/"),
        "train": (rows, "none/"),
        "meka": (rows, "-o", "none/", "--task", "svc"),
    }
    done = svmfast(command, *words[command], cwd=tmp_path)
    assert (done.returncode, list(tmp_path.iterdir())) == (2, [])
    assert done.stderr.splitlines()[-1] == b"svmfast: none/: cannot be written: Is a directory"


def test_packing_no_bytes_makes_valid_files() -> None:
    for ending, kind in ENDINGS.items():
        assert UNPACK[ending](Packer(kind).finish()) == b""
        assert Packer(kind).pack(b"") == b""
    with open_source(io.BytesIO(Packer("gzip").finish())) as source:
        assert source.readinto(memoryview(bytearray(10))) == 0

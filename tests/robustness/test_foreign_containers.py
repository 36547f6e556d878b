"""Damaged and hostile files of other libraries: each is refused in one line, and no memory is corrupted."""

import io
import struct
from contextlib import ExitStack
from zipfile import ZIP_LZMA

import numpy as np
import pyarrow as pa
import pytest
from estimators import SVM, dump_skops, members, pack
from pyarrow import ipc, parquet
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from svmfast.errors import InputError, ModelFormatError, SvmfastError, TableError
from svmfast.formats.data import read_data, stream_data
from svmfast.importers.files import model_of_file
from svmfast.models.scaling import Scaling
from svmfast.options import Reading

CHANCE = np.random.default_rng(0)
X = CHANCE.normal(size=(60, 5)) * (CHANCE.random((60, 5)) < 0.5)
Y = np.arange(60) % 2


# --- skops


def with_other_indices(path, form, index):
    """Set every second index of the sparse matrices of this form."""
    content = members(path.read_bytes())
    for name in (name for name in content if name.endswith(".npz")):
        arrays = dict(np.load(io.BytesIO(content[name])))
        if arrays["format"].item() == form:
            arrays["indices"][::2] = index
            out = io.BytesIO()
            np.savez(out, **arrays)
            content[name] = out.getvalue()
    path.write_bytes(pack(content))


def fitted_on_csr():
    return SVC().fit(sparse.csr_matrix(X), Y)


def fitted_on_csc():
    made = fitted_on_csr()
    made.support_vectors_ = made.support_vectors_.tocsc()
    return made


def with_sparse_mean():
    made = make_pipeline(StandardScaler(), SVC()).fit(X, Y)
    made[0].mean_ = sparse.csc_matrix(np.ones((1, 5)))
    return made


SPARSE = [(fitted_on_csc, b"csc"), (fitted_on_csr, b"csr"), (with_sparse_mean, b"csc")]


@pytest.mark.parametrize("index", [2**30, -1])
@pytest.mark.parametrize(("estimator", "form"), SPARSE)
def test_no_index_of_a_sparse_matrix_is_trusted(estimator, form, index, tmp_path):
    path = tmp_path / "estimator.skops"
    dump_skops(estimator(), path)
    with_other_indices(path, form, index)
    entry = rf"inconsistent attributes \(the matrix has an entry in (row|column) {index:,}"
    with pytest.raises(ModelFormatError, match=entry):
        model_of_file(path)


def test_a_declared_shape_takes_no_memory(tmp_path):
    made = fitted_on_csc()
    made.support_vectors_._shape = (2**40, 5)
    dump_skops(made, tmp_path / "tall.skops")
    with pytest.raises(SvmfastError, match=r"the limit is|inconsistent attributes"):
        model_of_file(tmp_path / "tall.skops")


def test_a_damaged_archive_is_refused(tmp_path):
    path, whole = tmp_path / "damaged.skops", members(SVM.read_bytes())
    packed = pack(whole, ZIP_LZMA)
    inverted = packed[:100] + bytes(one ^ 255 for one in packed[100:160]) + packed[160:]
    nested = pack({**whole, "schema.json": b"[" * 100_000})
    for raised, content in (("Corrupt input data", inverted), ("maximum recursion", nested)):
        path.write_bytes(content)
        with pytest.raises(ModelFormatError, match=rf"damaged.skops: skops cannot read it \({raised}"):
            model_of_file(path)


# --- tables

NUMBERS = {"label": pa.array([1.0, 2, 3]), **{name: pa.array([1.0, 2, 3]) for name in "abcd"}}
CLASSES = ("xxxxxxx", "yyyyyyy", "zzzzzzz")
SCALING = Scaling(np.zeros(4), np.ones(4), None, tuple("abcd"), CLASSES, class_labels=(0, 1, 2))


def arrow(columns, new=ipc.new_file):
    out, table = io.BytesIO(), pa.table(columns)
    with new(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue()


def replaced(content, form, old, new):
    before = struct.pack(form, *old)
    assert before in content
    return content.replace(before, struct.pack(form, *new))


@pytest.mark.parametrize("new", [ipc.new_file, ipc.new_stream])
@pytest.mark.parametrize("name", ["label", "kept", "coded"])
@pytest.mark.parametrize(
    "offsets", [(0, 7, 14, 2**31 - 1), (0, -5, -3, 3), (5, 4, 3, 2), (0, 7, 14, 100_000), (10**8,) * 4]
)
def test_offsets_of_an_arrow_file_are_checked(offsets, name, new):
    words = pa.array(CLASSES)
    columns = {**NUMBERS, "label": pa.array([0.0, 1, 2]), "kept": pa.array([1, 2, 3]), "coded": words}
    columns |= {"coded": pa.array([1, 2, 3]), name: words.dictionary_encode() if name == "coded" else words}
    whole = arrow(columns, new)
    reading, keep = Reading(scale=SCALING), ("kept", "coded")
    with stream_data(whole, reading, keep=keep) as stream:
        assert next(stream).labels.tolist() == [0, 1, 2]
    damaged = replaced(whole, "<4i", (0, 7, 14, 21), offsets)
    with stream_data(damaged, reading, keep=keep) as stream, pytest.raises(TableError):
        next(stream).kept.to_pylist()


@pytest.mark.parametrize("packing", [None, "zstd", "lz4"])
@pytest.mark.parametrize("new", [ipc.new_file, ipc.new_stream])
def test_packed_batches_of_an_arrow_file(new, packing):
    """Dictionaries are batches, too; beyond a ratio of 100 none is unpacked."""
    for words, refused in ((["one", "two", "three"] * 500, False), (["x" * (1 << 27)], packing is not None)):
        ones, kept, out = np.ones(len(words)), pa.array(words).dictionary_encode(), io.BytesIO()
        table = pa.table({"label": ones, "a": ones, "kept": kept})
        with new(out, table.schema, options=ipc.IpcWriteOptions(compression=packing)) as writer:
            writer.write_table(table, max_chunksize=400)
        with ExitStack() as stack:
            if refused:
                stack.enter_context(pytest.raises(InputError, match="a batch unpacks to more than 100"))
            stream = stack.enter_context(stream_data(out.getvalue(), Reading(), keep=["kept"]))
            assert [word for block in stream for word in block.kept["kept"].to_pylist()] == words


def with_metadata(text):
    out = io.BytesIO()
    parquet.write_table(pa.table(NUMBERS).replace_schema_metadata({b"pandas": text}), out)
    return out.getvalue()


METADATA = (b"{", b"5", b'{"index_columns":5}', b'{"index_columns":null}', b"[" * 100_000, b"\xff")
INDICES = pa.array([0, 1, 1], pa.int32())
CODED = {**NUMBERS, "b": pa.DictionaryArray.from_arrays(INDICES, pa.array([1.5, 2.5]))}
TABLES = {
    **{f"metadata {text[:20]!r}": with_metadata(text) for text in METADATA},
    "a name that is not UTF-8": arrow({**NUMBERS, "dzzz": NUMBERS["d"]}).replace(b"dzzz", b"d\xff\xfe\xfd"),
    "an index beyond its dictionary": replaced(arrow(CODED), "<3i", (0, 1, 1), (0, 1, 10**6)),
    "a length beyond the buffers": replaced(arrow(NUMBERS), "<q", (3,), (1000,)),
    "a negative length": replaced(arrow(NUMBERS), "<q", (3,), (-1,)),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_damaged_table_is_refused(name):
    with pytest.raises(TableError, match=r"^<bytes>: damaged, or of an unknown format"):
        read_data(TABLES[name], Reading())

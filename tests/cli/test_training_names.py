"""Training on tables: the model keeps the names of columns and classes; class weights."""

import numpy as np
import pyarrow as pa
import pytest
from command import ran
from sklearn.datasets import load_iris
from sklearn.svm import SVC
from sklearn.utils.class_weight import compute_class_weight
from table_files import read, write

import svmfast as package
from svmfast.errors import OptionError
from svmfast.formats.model_files import load_model
from svmfast.models.scaled import ScaledModel

FRAME, TARGET = load_iris(return_X_y=True, as_frame=True)
FEATURES = tuple(FRAME)
SPECIES = np.array(["setosa", "versicolor", "virginica"])[TARGET]
MEANING = "labels stand for classes: 0 is 'setosa', 1 is 'versicolor', 2 is 'virginica'"
FORMAT = "svmfast: the model keeps names, for which LIBSVM's format has no place; export to libsvm drops them"
COMMANDS = {
    "train": (),
    "budget-train": ("-B", "20"),
    "linear": (),
    "meka": ("--task", "svc", "--clusters", "2"),
    "dcpred": ("--task", "svc", "--clusters", "2"),
}


def columns(labels, *, order=1):
    return {"label": labels, **{name: FRAME[name].to_numpy() for name in FEATURES[::order]}}


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """The same rows in several forms; the columns keep their values, whatever order they are in."""
    folder = tmp_path_factory.mktemp("rows")
    return {
        "csv": write(folder / "rows.csv", columns(SPECIES)),
        "parquet": write(folder / "rows.parquet", columns(SPECIES)),
        "coded": write(folder / "coded.parquet", columns(pa.array(SPECIES).dictionary_encode())),
        "reversed": write(folder / "reversed.parquet", columns(SPECIES, order=-1)),
        "numbers": write(folder / "numbers.csv", columns(TARGET.to_numpy())),
    }


@pytest.mark.parametrize("command", COMMANDS)
def test_every_training_command_keeps_the_names(command, rows, tmp_path):
    made = set()
    for kind in ("csv", "parquet", "coded"):
        done = ran(command, rows[kind], *COMMANDS[command], "-o", tmp_path / kind)
        assert f"svmfast: {rows[kind]}: {MEANING}" in done.stderr.decode().splitlines()
        made.add((tmp_path / kind).read_bytes())
    assert len(made) == 1
    assert load_model(tmp_path / "csv").names_of_labels == {
        0.0: "setosa",
        1.0: "versicolor",
        2.0: "virginica",
    }
    found = []
    for name in ("parquet", "reversed"):
        ran("predict", "-q", rows[name], tmp_path / "csv", tmp_path / "out.csv")
        found.append(read(tmp_path / "out.csv")["label"].to_pylist())
    assert found[0] == found[1]
    assert np.mean(np.array(found[0]) == SPECIES) > 0.6


def test_the_model_is_the_one_of_libsvms_text(rows, tmp_path):
    """Names change neither the model nor its bytes as LIBSVM's text; labels as numbers keep no names."""
    assert ran("train", "-q", rows["csv"], "model", cwd=tmp_path).stderr == b""
    for kind in ("csv", "numbers"):
        done = ran("train", rows[kind], "model", cwd=tmp_path)
        assert FORMAT in done.stderr.decode().splitlines()
        assert (b"stand for" in done.stderr) == (kind == "csv")
        ran("export", "model", "--to", "libsvm", "-o", kind, cwd=tmp_path)
    package.write_svmlight(tmp_path / "text", package.as_rows(FRAME.to_numpy()), TARGET)
    ran("train", "-q", "text", "text.model", cwd=tmp_path)
    assert len({(tmp_path / name).read_bytes() for name in ("csv", "numbers", "text.model")}) == 1


def test_a_table_without_a_header_gives_libsvms_text(rows, tmp_path):
    (tmp_path / "bare.csv").write_text(rows["numbers"].read_text().partition("\n")[2])
    ran("train", "-q", "--label", "1", tmp_path / "bare.csv", tmp_path / "model")
    assert (tmp_path / "model").read_bytes().startswith(b"svm_type c_svc\n")


def test_a_range_file_gets_the_names(rows, tmp_path):
    ran("scale", "-s", tmp_path / "range", rows["numbers"], "-o", "/dev/null")
    done = ran("train", "--scale", tmp_path / "range", rows["csv"], tmp_path / "model")
    assert b"LIBSVM's format" not in done.stderr  # it could not hold the scaling either
    assert load_model(tmp_path / "model").scaling.feature_names == FEATURES
    answers = [ran("predict", rows[name], tmp_path / "model", "-") for name in ("csv", "reversed")]
    assert answers[0].stdout == answers[1].stdout
    assert b"Accuracy = 9" in answers[0].stderr


@pytest.mark.parametrize("memory", ["1M", "2G"])
def test_rows_beyond_memory_have_the_same_labels(memory, tmp_path):
    """The names that come last in the file are the first ones in order."""
    x = np.random.default_rng(0).normal(size=(20_000, 3))
    words = np.where(x[:, 0] > 0, "no", "yes").astype(object)
    words[-50:] = np.where(x[-50:, 0] > 0, "no", "later")
    features = {f"f{k}": x[:, k] for k in range(3)}
    rows, place = write(tmp_path / "rows.parquet", {"label": words, **features}), tmp_path / "model"
    ran("budget-train", rows, "--memory", memory, "-B", "10", "-o", place)
    assert load_model(place).names_of_labels == {0.0: "later", 1.0: "no", 2.0: "yes"}
    assert np.mean(np.asarray(package.predict(place, pa.table(features)).names) == words) > 0.9


def test_labels_that_a_conversion_ignores_may_be_names(rows, tmp_path):
    ran("train", "-q", rows["numbers"], tmp_path / "exact")
    ran("dcpred", rows["reversed"], "--from", tmp_path / "exact", "-o", tmp_path / "dcpred")
    model = load_model(tmp_path / "dcpred")
    assert model.names_of_labels is None  # those of the rows are not the exact model's
    assert model.scaling.feature_names == FEATURES


def test_models_of_other_tables_are_not_mixed(rows, tmp_path):
    for name in ("csv", "reversed"):
        ran("train", "-q", rows[name], tmp_path / name)
    done = ran("compare", tmp_path / "csv", tmp_path / "reversed", "--data", rows["csv"], status=2)
    assert b"differ in the names or the order of their features" in done.stderr


def test_from_python():
    model = package.train(FRAME, SPECIES).model
    assert isinstance(model, ScaledModel)
    found = package.predict(model, FRAME[list(FEATURES[::-1])])
    wanted = SVC(gamma=0.25).fit(FRAME.to_numpy(), SPECIES).predict(FRAME.to_numpy())
    assert np.array_equal(np.asarray(found.names), wanted)
    assert package.compare({"model": model}, FRAME, SPECIES).models[0].accuracy > 95


@pytest.mark.parametrize(
    ("labels", "svm_type", "message"),
    [
        (["a", 1.0] * 75, "c_svc", "1.0 in row 2 is not one of the names that begin the labels"),
        (["1", "b"] * 75, "c_svc", "'b' in row 2 is not one of the numbers that begin the labels"),
        (SPECIES, "epsilon_svr", "could not convert string to float: .*expected numbers"),
    ],
)
def test_labels_that_do_not_fit(labels, svm_type, message):
    with pytest.raises(OptionError, match=f"^`labels`: {message}"):
        package.train(FRAME, np.array(labels, dtype=object), svm_type=svm_type)


def test_scale_numbers_the_classes_as_training_does(rows):
    named, numbers = (ran("scale", rows[name]) for name in ("csv", "numbers"))
    assert named.stdout == numbers.stdout
    assert named.stderr.decode() == f"svmfast: {rows['csv']}: {MEANING}\n"


def test_the_column_of_labels_is_kept(tmp_path):
    """Every later command finds it without `label`, and does not miss it where there are no labels."""
    features = columns(SPECIES)
    named = {"id": [f"m{row}" for row in range(len(FRAME))], "species": features.pop("label")}
    rows, model, fast = (
        write(tmp_path / "rows.csv", {**named, **features}),
        tmp_path / "model",
        tmp_path / "fast",
    )
    new = write(tmp_path / "new.csv", {"id": named["id"], **features})
    ran("train", "-q", "--label", "species", "--exclude", "id", rows, model)
    scaling = load_model(model).scaling
    assert (scaling.label_column, scaling.feature_names) == ("species", FEATURES)
    assert b'"label_column":"species"' in model.read_bytes()
    assert b"Accuracy = 9" in ran("predict", rows, model, tmp_path / "out").stdout
    ran("compress", model, "--sv", "9", "--data", rows, "-q", "-o", fast)
    assert load_model(fast).scaling.label_column == "species"
    ran("predict", "--unlabelled", new, fast, tmp_path / "out.csv")


# --- class weights


@pytest.fixture(scope="module")
def rare(tmp_path_factory):
    """A table with a rare class."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 2))
    words = np.where(x[:, 0] + rng.normal(size=120) > 1.5, "rare", "common")
    table = {"label": words, "a": x[:, 0].round(5), "b": x[:, 1].round(5)}
    return write(tmp_path_factory.mktemp("weights") / "rows.csv", table), words


@pytest.mark.parametrize("command", COMMANDS)
def test_balanced_stands_for_labels(command, rare, tmp_path):
    def made(*weights):
        ran(command, *weights, rare[0], *COMMANDS[command], "-o", tmp_path / "model")
        return (tmp_path / "model").read_bytes()

    weights = compute_class_weight("balanced", classes=np.array(["common", "rare"]), y=rare[1]).tolist()
    balanced = made("-w", "balanced")
    assert balanced == made("-w0", repr(weights[0]), "-w1", repr(weights[1]))
    assert balanced != made()


def test_a_label_without_rows_is_a_warning(rare, tmp_path):
    done = ran("train", "-w7", "5", rare[0], tmp_path / "model")
    warning = f"svmfast: warning: {rare[0]}: no row has label 7, which has a weight"
    assert warning in done.stderr.decode().splitlines()

"""Models with names of classes and columns: training on tables, class weights, predictions, reports."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from command import ran
from estimators import PIPELINE, fitted
from program import data, model
from sklearn.datasets import load_iris
from sklearn.svm import SVC
from sklearn.utils.class_weight import compute_class_weight
from table_files import columns_of, read, write

import svmfast as package
from svmfast.formats.model_files import load_model, save_model
from svmfast.models.head import Head
from svmfast.models.scaled import ScaledModel, with_scaling
from svmfast.models.scaling import Scaling

FRAME, TARGET = load_iris(return_X_y=True, as_frame=True)
COLUMNS = {name: FRAME[name].to_numpy() for name in FRAME}
FEATURES = tuple(COLUMNS)
NAMES = ["setosa", "versicolor", "virginica"]
TRUE = np.array(NAMES)[TARGET]
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
    return {"label": labels, **{name: COLUMNS[name] for name in FEATURES[::order]}}


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """The same rows in several forms; the columns keep their values, whatever order they are in."""
    folder = tmp_path_factory.mktemp("rows")
    return {
        "csv": write(folder / "rows.csv", columns(TRUE)),
        "parquet": write(folder / "rows.parquet", columns(TRUE)),
        "coded": write(folder / "coded.parquet", columns(pa.array(TRUE).dictionary_encode())),
        "reversed": write(folder / "reversed.parquet", columns(TRUE, order=-1)),
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
    assert load_model(tmp_path / "csv").names_of_labels == dict(enumerate(NAMES))
    found = []
    for name in ("parquet", "reversed"):
        ran("predict", "-q", rows[name], tmp_path / "csv", tmp_path / "out.csv")
        found.append(read(tmp_path / "out.csv")["label"].to_pylist())
    assert found[0] == found[1]
    assert np.mean(np.array(found[0]) == TRUE) > 0.6


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


def test_models_of_other_tables_are_not_mixed(rows, tmp_path):
    for name in ("csv", "reversed"):
        ran("train", "-q", rows[name], tmp_path / name)
    done = ran("compare", tmp_path / "csv", tmp_path / "reversed", "--data", rows["csv"], status=2)
    assert b"differ in the names or the order of their features" in done.stderr


def test_from_python():
    model = package.train(FRAME, TRUE).model
    assert isinstance(model, ScaledModel)
    found = package.predict(model, FRAME[list(FEATURES[::-1])])
    wanted = SVC(gamma=0.25).fit(FRAME.to_numpy(), TRUE).predict(FRAME.to_numpy())
    assert np.array_equal(np.asarray(found.names), wanted)
    assert package.compare({"model": model}, FRAME, TRUE).models[0].accuracy > 95


def test_scale_numbers_the_classes_as_training_does(rows):
    named, numbers = (ran("scale", rows[name]) for name in ("csv", "numbers"))
    assert named.stdout == numbers.stdout
    assert named.stderr.decode() == f"svmfast: {rows['csv']}: {MEANING}\n"


def test_the_column_of_labels_is_kept(tmp_path):
    """Every later command finds it without `label`, and does not miss it where there are no labels."""
    features = columns(TRUE)
    named = {"id": [f"m{row}" for row in range(len(FRAME))], "species": features.pop("label")}
    rows, model, fast = (tmp_path / name for name in ("rows.csv", "model", "fast"))
    write(rows, {**named, **features})
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


# --- predictions

PROBABILITIES, TEST = model("iris_c_rbf_prob"), data("iris.test")
ACCURACY = b"Accuracy = 97.3333% (146/150) (classification)\n"


@pytest.fixture(scope="module")
def predicted():
    """The pipeline's own answers."""
    return fitted(PIPELINE).predict(FRAME).tolist()


@pytest.fixture(scope="module")
def flowers(tmp_path_factory):
    """A table with the names of the classes, and the pipeline's model."""
    folder = tmp_path_factory.mktemp("flowers")
    package.save_model(package.from_sklearn(fitted(PIPELINE)), folder / "model")
    return write(folder / "rows.parquet", {**COLUMNS, "species": TRUE}), folder / "model"


def named(folder, *names):
    """Return a model of iris whose classes have these names."""
    scaling = Scaling(np.zeros(4), np.ones(4), class_names=names)
    save_model(ScaledModel(load_model(PROBABILITIES), scaling), folder / "named")
    return folder / "named"


def test_text_has_labels_and_a_remark_explains_them_unless_names_are_chosen(flowers, predicted):
    words = ("predict", "--label", "species", *flowers, "-")
    done = ran(*words)
    assert done.stdout.decode().split() == [str(NAMES.index(name)) for name in predicted]
    assert done.stderr == ACCURACY + f"svmfast: {MEANING}; --names writes the names\n".encode()
    done = ran(*words, "--names")
    assert (done.stdout.decode().split("\n"), done.stderr) == ([*predicted, ""], ACCURACY)
    assert ran(*words, "--no-names").stderr == ACCURACY


@pytest.mark.parametrize("end", ["parquet", "csv"])
def test_tables_have_names(end, flowers, predicted, tmp_path):
    out = tmp_path / f"out.{end}"
    words = ("predict", "--label", "species", "--decision-values", *flowers, out)
    assert ran(*words).stderr == b""
    found = read(out)
    assert found.column_names == ["label", "setosa/versicolor", "setosa/virginica", "versicolor/virginica"]
    assert found["label"].to_pylist() == predicted
    ran(*words, "--no-names")
    assert read(out).column_names == ["label", "0/1", "0/2", "1/2"]
    assert read(out)["label"].type == pa.int64()


def test_probabilities_with_names(tmp_path):
    path, words = named(tmp_path, "se", "ve", "vi"), ("predict", "-q", "-b", "1", TEST)
    plain = ran(*words, PROBABILITIES).stdout.decode()
    labels = [f"{label:g}" for label in load_model(PROBABILITIES).head.labels]
    names = dict(zip(labels, ("se", "ve", "vi"), strict=True))
    lines = [line.split(" ", 1) for line in plain.splitlines()[1:]]
    expected = ["labels se ve vi", *(f"{names[label]} {rest}" for label, rest in lines), ""]
    assert ran(*words, "--names", path).stdout.decode().split("\n") == expected
    assert ran(*words, path).stdout.decode() == plain
    ran(*words, path, tmp_path / "out.parquet")
    columns = ["label", "probability se", "probability ve", "probability vi"]
    assert read(tmp_path / "out.parquet").column_names == columns


@pytest.mark.parametrize(
    ("names", "words", "message"),
    [
        ("a b,c,d", "--names --decision-values out", "--names: the class 'a b' is not a single word, and "),
        ("a/b,a,b/a", "--decision-values out.csv", "two columns would be called 'a/b/a'; write labels (--no"),
        ("a,\u200b,\\u200b", "--names out", "two classes would be written as '\\u200b'; write a table, or "),
    ],
)
def test_ambiguous_names_are_refused(names, words, message, tmp_path):
    path = named(tmp_path, *names.split(","))
    done = ran("predict", "-q", TEST, path, *words.split(), cwd=tmp_path, status=2)
    assert done.stderr.decode().startswith(f"svmfast: {message}")
    assert [one.name for one in tmp_path.iterdir()] == ["named"]


def test_names_of_any_characters(tmp_path):
    done = ran("predict", "-q", "--names", TEST, named(tmp_path, "New York", "100%", "a\u200bb"), "-")
    assert set(done.stdout.decode().splitlines()) == {"New York", "100%", "a\\u200bb"}
    ran("predict", "-q", "-b", "1", TEST, named(tmp_path, "a", "\u200b", "\\u200b"), tmp_path / "out.csv")
    assert len((tmp_path / "out.csv").read_text().splitlines()[0].split(",")) == 4


@pytest.mark.parametrize("kind", ["csv", "parquet", "dictionary"])
def test_labels_of_data_are_names(kind, flowers, tmp_path):
    classes = pa.array(TRUE).dictionary_encode() if kind == "dictionary" else pa.array(TRUE)
    rows = tmp_path / f"rows.{kind.replace('dictionary', 'parquet')}"
    words = ("predict", "--names", rows, flowers[1], tmp_path / "out")
    write(rows, {**COLUMNS, "label": classes})
    assert ran(*words).stdout == ACCURACY
    place = f"{rows}:3: column" if kind == "csv" else f"{rows}: row 2, column"
    expected = "expected one of the model's classes, 'setosa', 'versicolor', 'virginica'"
    unknown = f"not a class of the model ('rose'); {expected}\n"
    for wrong, message in (("rose", unknown), (None, "there is no value")):
        write(rows, {**COLUMNS, "label": [TRUE[0], wrong, *TRUE[2:]]})
        assert ran(*words, status=2).stderr.decode().startswith(f"{place} 'label': {message}")


def test_classes_that_are_numbers(tmp_path):
    """Labels may be the numbers that scikit-learn was given, in any spelling."""
    path = named(tmp_path, "0.5", "1.0", "3.0")
    numbers = dict(zip(load_model(PROBABILITIES).head.labels.tolist(), (0.5, 1.0, 3.0), strict=True))
    expected = ran("predict", TEST, PROBABILITIES, tmp_path / "x").stdout
    columns = columns_of("iris.test")
    mine = [numbers[label] for label in columns["label"]]
    for end, values in (("parquet", mine), ("csv", mine), ("csv", [f"{x:g}" for x in mine])):
        rows = write(tmp_path / f"rows.{end}", {**columns, "label": values})
        assert ran("predict", rows, path, tmp_path / "x").stdout == expected, (end, values)


def test_names_of_another_model_belong_to_its_labels(flowers):
    """With another model's scaling the labels keep their names, in any order; other labels have none."""

    def names(*labels):
        inner = load_model(PROBABILITIES)
        other = replace(inner, head=Head(inner.head.svm_type, np.array(labels)))
        return with_scaling(other, load_model(flowers[1]).scaling).names_of_labels

    assert names(2, 0, 1) == {2: "virginica", 0: "setosa", 1: "versicolor"}
    assert names(2, 0, 7) is None


def test_export_finds_columns_by_name_and_does_not_read_labels(flowers, tmp_path):
    """The rows are the same with class names, other words or no label column at all."""
    table = {name: COLUMNS[name] for name in reversed(COLUMNS)}
    classes = ({"label": TRUE}, {"label": [f"{name}?" for name in TRUE]}, {})
    given = [write(tmp_path / f"{i}.csv", {**one, **table}) for i, one in enumerate(classes)]
    made = [package.export(flowers[1], test=rows) for rows in (FRAME.to_numpy(), pa.table(table), *given)]
    assert len({one.data.partition(b"\n */\n")[2] for one in made}) == 1
    assert ran("export", flowers[1], "-o", tmp_path / "m.h", "--test", given[0], "-q").stderr == b""

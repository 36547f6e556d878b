"""The examples of README.md and docs/, and a folder with the files that they name."""

import gzip
import re
import shutil
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.csv
from program import ROOT, data, model
from pyarrow import parquet

import svmfast

PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
#: A fence opens with the language; in a list it is indented.
_FENCE = re.compile(r"^( *)```(\w+)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Example:
    """A fenced block of a page, with the number of the block on its page, from 1."""

    page: str
    number: int
    language: str
    text: str

    def commands(self):
        """Return the commands of a shell block, without comments; continued lines are one command."""
        lines = re.sub(r"\\\n\s*", "", self.text).splitlines()
        found = (re.sub(r"(^|\s+)#.*", "", line).strip() for line in lines)
        return [line for line in found if line]


def examples():
    """Return all fenced blocks of all pages."""
    found = []
    for page in PAGES:
        name = str(page.relative_to(ROOT))
        for number, (indent, language, text) in enumerate(_FENCE.findall(page.read_text()), 1):
            plain = "\n".join(line.removeprefix(indent) for line in text.splitlines())
            found.append(Example(name, number, language, plain + "\n"))
    return found


def make_files(folder):
    """Write the files that the examples name: small sets of rows of ours under the names of larger ones."""
    for name in ("fixtures", "scripts"):
        (folder / name).symlink_to(ROOT / name)
    train, test = (data(f"photos.{part}").read_text().splitlines(keepends=True) for part in ("train", "test"))
    for names, lines in (
        ("ijcnn1 a9a letter train photos.train train.txt", train[:1000]),
        ("ijcnn1.t other monday tuesday raw test photos.test test.txt", test[:1000]),
        ("day-1.txt day-2.txt", test[:50]),
        ("usual.txt", [line.partition(" ")[2] for line in train[:500]]),
        ("new.txt", [line.partition(" ")[2] for line in test[:500]]),
    ):
        for name in names.split():
            (folder / name).write_text("".join(lines))
    for source, names in (
        (model("photos_c_rbf"), "ijcnn1.model a9a.model letter.model photos.model a.model libsvm.model"),
        (model("digits_c_rbf_prob"), "digits.model"),
        (model("iris_c_rbf_prob"), "iris.model"),
        (model("diabetes_eps_rbf"), "houses.model diabetes.model"),
        (data("diabetes.train"), "cpusmall cadata houses.t diabetes.train"),
        *((data(name), name) for name in ("digits.train", "digits.test", "breast.train", "breast.test")),
        (data("diabetes.test"), "diabetes.test"),
        (ROOT / "fixtures/estimators/iris_pipeline.skops", "pipeline.skops MODEL.skops"),
    ):
        for name in names.split():
            shutil.copy(source, folder / name)
    exact, iris = (svmfast.load_model(folder / name) for name in ("photos.model", "iris.model"))
    svmfast.save_model(svmfast.approximate(exact, embed_exact=True).model, folder / "ijcnn1.fast")
    for name, one in (("scaled.model", exact), ("iris.fast", iris)):
        ones = np.ones(one.n_features)
        svmfast.save_model(svmfast.ScaledModel(one, svmfast.Scaling.from_ranges(-ones, ones)), folder / name)
    (folder / "logs" / "a").mkdir(parents=True)
    for number in (1, 2):
        (folder / "logs" / "a" / f"{number}.gz").write_bytes(gzip.compress("".join(test[:50]).encode()))
    _make_tables(folder, [f"f{j}" for j in range(1, exact.n_features + 1)])


def _make_tables(folder, names):
    dataset = svmfast.read_svmlight(data("photos.test"))
    values = dict(zip(names, dataset.rows.to_dense().T[:, :200], strict=True))
    day = pa.array(["2026-11-22", "2026-11-23"] * 100)
    for name in ("rows", "day-1", "day-2"):
        parquet.write_table(
            pa.table({"id": np.arange(200), "day": day, **values}), folder / f"{name}.parquet"
        )
    pa.csv.write_csv(pa.table({"target": dataset.labels[:200], **values}), folder / "rows.csv")
    people = {"age": values["f1"], "name": day, "weight": values["f2"], "height": values["f3"]}
    with gzip.open(folder / "people.csv.gz", "wb") as file:
        pa.csv.write_csv(pa.table({"target": dataset.labels[:200], **people}), file)

"""The examples of README.md and docs/, and a folder with the files that they name."""

from __future__ import annotations

import gzip
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

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

    def commands(self) -> list[str]:
        """Return the commands of a shell block, without comments; continued lines are one command."""
        lines = re.sub(r"\\\n\s*", "", self.text).splitlines()
        found = (re.sub(r"(^|\s+)#.*", "", line).strip() for line in lines)
        return [line for line in found if line]


def examples() -> list[Example]:
    """Return all fenced blocks of all pages."""
    found = []
    for page in PAGES:
        name = str(page.relative_to(ROOT))
        for number, (indent, language, text) in enumerate(_FENCE.findall(page.read_text()), 1):
            plain = "\n".join(line.removeprefix(indent) for line in text.splitlines())
            found.append(Example(name, number, language, plain + "\n"))
    return found


def make_files(folder: Path) -> None:
    """Write the files that the examples name: small sets of rows of ours under the names of larger ones."""
    (folder / "fixtures").symlink_to(ROOT / "fixtures")
    (folder / "scripts").symlink_to(ROOT / "scripts")
    train = data("photos.train").read_text().splitlines(keepends=True)
    test = data("photos.test").read_text().splitlines(keepends=True)
    for name in ("ijcnn1", "a9a", "letter", "train", "photos.train", "train.txt"):
        (folder / name).write_text("".join(train[:1000]))
    for name in ("ijcnn1.t", "other", "monday", "tuesday", "raw", "test", "photos.test", "test.txt"):
        (folder / name).write_text("".join(test[:1000]))
    for name in ("ijcnn1", "a9a", "letter", "photos", "a", "libsvm"):
        shutil.copy(model("photos_c_rbf"), folder / f"{name}.model")
    for name, source in (("digits", "digits_c_rbf_prob"), ("iris", "iris_c_rbf_prob")):
        shutil.copy(model(source), folder / f"{name}.model")
    for name in ("houses", "diabetes"):
        shutil.copy(model("diabetes_eps_rbf"), folder / f"{name}.model")
    for name in ("cpusmall", "cadata", "houses.t"):
        shutil.copy(data("diabetes.train"), folder / name)
    for name in ("digits", "breast", "diabetes"):
        shutil.copy(data(f"{name}.train"), folder)
        shutil.copy(data(f"{name}.test"), folder)
    for name, lines in (("usual", train), ("new", test)):
        (folder / f"{name}.txt").write_text("".join(line.partition(" ")[2] for line in lines[:500]))
    exact = svmfast.load_model(model("photos_c_rbf"))
    svmfast.save_model(svmfast.approximate(exact, embed_exact=True).model, folder / "ijcnn1.fast")
    names = [f"f{j}" for j in range(1, exact.n_features + 1)]
    _make_tables(folder, names)
    _make_scaled(folder)
    (folder / "logs" / "a").mkdir(parents=True)
    for number in (1, 2):
        (folder / f"day-{number}.txt").write_text("".join(test[:50]))
        (folder / "logs" / "a" / f"{number}.gz").write_bytes(gzip.compress("".join(test[:50]).encode()))
    for name in ("pipeline.skops", "MODEL.skops"):
        shutil.copy(ROOT / "fixtures" / "estimators" / "iris_pipeline.skops", folder / name)


def _make_tables(folder: Path, names: list[str]) -> None:
    dataset = svmfast.read_svmlight(data("photos.test"))
    values = dict(zip(names, dataset.rows.to_dense().T[:, :200], strict=True))
    day = pa.array(["2026-11-22", "2026-11-23"] * 100)
    unlabelled = pa.table({"id": np.arange(200), "day": day, **values})
    for name in ("rows", "day-1", "day-2"):
        parquet.write_table(unlabelled, folder / f"{name}.parquet")
    pa.csv.write_csv(pa.table({"target": dataset.labels[:200], **values}), folder / "rows.csv")
    people = {"age": values["f1"], "name": day, "weight": values["f2"], "height": values["f3"]}
    with gzip.open(folder / "people.csv.gz", "wb") as file:
        pa.csv.write_csv(pa.table({"target": dataset.labels[:200], **people}), file)


def _make_scaled(folder: Path) -> None:
    """Write LIBSVM models with a scaling, and a range file."""
    ranges = svmfast.Scaling.from_ranges(np.full(15, -1.0), np.full(15, 1.0))
    exact = svmfast.load_model(model("photos_c_rbf"))
    svmfast.save_model(svmfast.ScaledModel(exact, ranges), folder / "scaled.model")
    four = svmfast.Scaling.from_ranges(np.full(4, -1.0), np.full(4, 1.0))
    iris = svmfast.load_model(model("iris_c_rbf_prob"))
    svmfast.save_model(svmfast.ScaledModel(iris, four), folder / "iris.fast")


def environment(program: Path) -> dict[str, str]:
    """Return an environment in which the shell finds the program first."""
    return {**os.environ, "PATH": os.pathsep.join([str(program.parent), os.environ["PATH"]])}

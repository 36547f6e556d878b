"""``max_flash``: the tables fit, and the method with the smaller difference is used."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from program import data, model, svmfast

import svmfast as package
from svmfast.api import flash
from svmfast.errors import NegativeAnswerError, OptionError
from svmfast.exports import accuracy
from svmfast.models.scaled import ScaledModel
from svmfast.models.scaling import Scaling
from svmfast.progress import Listener


def test_a_model_that_fits_is_unchanged() -> None:
    made = package.export(model("iris_c_rbf_prob"), max_flash=1 << 15)
    assert made.report.method is None
    assert made.data == package.export(model("iris_c_rbf_prob")).data


def test_compress_fills_the_limit_where_no_order_fits() -> None:
    made = package.export(
        model("digits_c_rbf_prob"), max_flash=8192, data=data("digits.train"), test=data("digits.test")
    )
    assert made.report.method is not None
    assert made.report.method.startswith("compress, ")
    assert made.report.table_bytes is not None
    assert 0.8 * 8192 < made.report.table_bytes <= 8192
    found = made.report.accuracy
    assert found is not None
    assert found.labels_differing is not None
    # Of the exact model's labels, in the exported arithmetic.
    assert 0 < found.labels_differing < 0.25 * found.rows
    assert "made by: compress, " in made.text
    # Rows are left out of the test because of rounding, not because the model is an approximation.
    assert made.report.test_rows is not None
    assert made.report.test_rows > 150


def test_a_file_without_any_row_that_can_be_tested_has_no_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accuracy, "_LENIENCE", 1e12)
    heard: list[str] = []
    made = package.export(
        model("breast_c_rbf"), test=data("breast.test"), listener=Listener(on_note=heard.append)
    )
    assert heard == ["the file has no test, since rounding may give every row of it another label"]
    assert made.report.test_rows is None
    assert "MODEL_TEST" not in made.text


def test_the_code_of_a_device_counts() -> None:
    """The smallest devices have only 32 kB."""
    made = package.export(
        model("digits_c_rbf_prob"), max_flash=12288, device="avr", data=data("digits.train")
    )
    assert made.report.table_bytes is not None
    assert made.report.code_bytes == 2700
    assert 0.8 * 12288 < made.report.table_bytes + made.report.code_bytes <= 12288
    without = package.export(model("digits_c_rbf_prob"))
    assert without.report.code_bytes is None
    with pytest.raises(NegativeAnswerError, match="no model has tables and code of at most 3,000 bytes"):
        package.export(model("breast_c_rbf"), max_flash=3000, device="cortex-m0", data=data("breast.train"))
    with pytest.raises(OptionError, match="`device` counts the code of single precision"):
        package.export(model("breast_c_rbf"), device="avr", precision="double")
    with pytest.raises(OptionError, match="`device` is 'z80'; expected cortex-m4, cortex-m0 or avr"):
        package.export(model("breast_c_rbf"), device="z80")
    with pytest.raises(OptionError, match="`device` is only for `to` c"):
        package.export(model("breast_c_rbf"), "onnx", device="avr")


NAMES = ("Barolo", "Grignolino", "Barbera d'Asti")


def raw_wine() -> tuple[ScaledModel, np.ndarray]:
    """Return a model with a scaling and names of classes, and rows that are not scaled."""
    exact = package.load_model(model("wine_c_rbf_prob"))
    d = exact.n_features
    scaling = Scaling(np.full(d, -0.5), np.full(d, 2.0), class_names=NAMES)
    return ScaledModel(exact, scaling), package.read_svmlight(data("wine.train")).rows.to_dense(d) / 2 - 0.5


@pytest.mark.parametrize(("limit", "device"), [(1100, None), (1800, None), (3000, "cortex-m4")])
def test_the_tables_of_a_scaling_and_the_names_of_classes_count(limit: int, device: str | None) -> None:
    """In both models that are tried, and in the file."""
    exact, rows = raw_wine()
    heard: list[str] = []
    made = package.export(
        exact, max_flash=limit, device=device, data=rows, listener=Listener(on_note=heard.append)
    )
    assert made.report.method is not None
    assert made.report.table_bytes is not None
    size = made.report.table_bytes + (made.report.code_bytes or 0)
    found = dict(re.findall(r"^(\w+, .*): .*take ([0-9,]+) bytes", "\n".join(heard), re.MULTILINE))
    assert size <= limit
    bits = {"real": 32, "uint8_t": 8, "uint16_t": 16, "uint32_t": 32}
    tables = re.findall(r"^static const (?:model_)?(\w+) model_(\w+)\[(\d+)\] MODEL_TABLE", made.text, re.M)
    assert {("real", "minus_offsets", "13"), ("real", "factors", "13")} <= set(tables)
    names = sum(len(name) + 1 for name in NAMES)
    assert sum(int(n) * bits[kind] // 8 for kind, _, n in tables) + names == made.report.table_bytes
    assert f"#define MODEL_TABLE_BYTES {made.report.table_bytes}\n" in made.text
    assert found[made.report.method] == f"{size:,}"
    assert all(int(one.replace(",", "")) <= limit for one in found.values())


def test_a_file_over_the_limit_is_not_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flash, "table_bytes", lambda model, dtype: 0)
    with pytest.raises(NegativeAnswerError) as caught:
        package.export(model("breast_c_rbf"), max_flash=400)
    assert re.fullmatch(r"the file's tables take [0-9,]+ bytes, more than `max_flash` 400", str(caught.value))


def test_an_expansion_is_used_if_it_differs_less() -> None:
    made = package.export(model("wine_c_rbf_prob"), max_flash=1800, data=data("wine.train"))
    assert made.report.method is not None
    assert made.report.method.startswith("approximate, order ")


def test_impossible_limits_are_reported(tmp_path: Path) -> None:
    with pytest.raises(NegativeAnswerError, match="no model has tables of at most 40 bytes"):
        package.export(model("breast_c_rbf"), max_flash=40, data=data("breast.train"))
    with pytest.raises(OptionError) as caught:
        package.export(model("breast_c_rbf"), max_flash=4000)
    assert re.fullmatch(
        r"the tables take [0-9,]+ bytes, more than `max_flash` 4,000; give `data`, rows like those to "
        "predict, to make the model smaller",
        str(caught.value),
    )
    with pytest.raises(OptionError, match="`data` is only used with `max_flash`"):
        package.export(model("breast_c_rbf"), data=data("breast.train"))
    with pytest.raises(OptionError, match="`max_flash` is only for `to` c"):
        package.export(model("breast_c_rbf"), "onnx", max_flash=400)
    done = svmfast(
        "export",
        model("breast_c_rbf"),
        "-o",
        tmp_path / "m.h",
        "--max-flash",
        "40",
        "--data",
        data("breast.train"),
    )
    assert done.returncode == 1
    # Without advice about options that only `compress` has.
    assert re.fullmatch(
        r"svmfast: no model has tables of at most 40 bytes \(approximate: no expansion fits; compress: \d+ "
        r"dense support vectors? takes? [0-9,]+ bytes, more than 40\)",
        done.stderr.decode().splitlines()[-1],
    )
    assert not (tmp_path / "m.h").exists()

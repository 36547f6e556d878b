"""``max_flash``: the tables fit, and the method that differs less is taken."""

from __future__ import annotations

from pathlib import Path

import pytest
from program import data, model, svmfast

import svmfast as package
from svmfast.errors import NegativeAnswerError, OptionError


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
    assert made.report.labels_differing is not None
    # Of the exact model's labels, in the exported arithmetic.
    assert 0 < made.report.labels_differing < 0.25 * made.report.measured_rows
    assert "made by: compress, " in made.text


def test_the_code_of_a_device_counts() -> None:
    """32 kB is all that the smallest parts have."""
    made = package.export(
        model("digits_c_rbf_prob"), max_flash=12288, device="avr", data=data("digits.train")
    )
    assert made.report.table_bytes is not None
    assert made.report.code_bytes == 2700
    assert 0.8 * 12288 < made.report.table_bytes + made.report.code_bytes <= 12288
    without = package.export(model("digits_c_rbf_prob"))
    assert without.report.code_bytes is None
    with pytest.raises(NegativeAnswerError, match="nothing has tables and code of at most 3,000 bytes"):
        package.export(model("breast_c_rbf"), max_flash=3000, device="cortex-m0", data=data("breast.train"))
    with pytest.raises(OptionError, match="`device` counts the code of single precision"):
        package.export(model("breast_c_rbf"), device="avr", precision="double")
    with pytest.raises(OptionError, match="`device` 'z80' is not one of cortex-m4, cortex-m0, avr"):
        package.export(model("breast_c_rbf"), device="z80")
    with pytest.raises(OptionError, match="`to` json has no device to choose"):
        package.export(model("breast_c_rbf"), "json", device="avr")


def test_an_expansion_is_taken_where_it_differs_less() -> None:
    made = package.export(model("wine_c_rbf_prob"), max_flash=1800, data=data("wine.train"))
    assert made.report.method is not None
    assert made.report.method.startswith("approximate, order ")
    assert made.report.certified is not None


def test_impossible_limits_are_reported(tmp_path: Path) -> None:
    with pytest.raises(NegativeAnswerError, match="nothing has tables of at most 40 bytes"):
        package.export(model("breast_c_rbf"), max_flash=40, data=data("breast.train"))
    with pytest.raises(OptionError, match="more than `max_flash`; give `data`"):
        package.export(model("breast_c_rbf"), max_flash=400)
    with pytest.raises(OptionError, match="`data` is only used with `max_flash`"):
        package.export(model("breast_c_rbf"), data=data("breast.train"))
    with pytest.raises(OptionError, match="`to` onnx has no limit of flash to choose"):
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
    assert done.stderr.splitlines()[-1].startswith(b"svmfast: nothing has tables of at most 40 bytes")
    assert not (tmp_path / "m.h").exists()

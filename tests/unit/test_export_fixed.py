"""Exported integers: the file and its twin agree to the bit, and certain labels are right in 50 digits."""

import ctypes
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from approximations import approximate
from c_exports import WARNINGS, compile_together, compiled, needs_compiler, ran
from certain_conversions import CASES, exact_label, made
from program import model
from random_models import exact_sums, random_model

import svmfast
from svmfast.commands.exported import ranges_of
from svmfast.exports.computation import computation_of
from svmfast.exports.fixed import EXP_ERROR, powers
from svmfast.exports.fixed_plan import LARGEST, moved, planned, thresholds
from svmfast.models.scaled import ScaledModel
from svmfast.models.scaling import Scaling
from svmfast.monomials import coefficient_count, monomials
from svmfast.rows import Rows, as_rows

pytestmark = needs_compiler

SUMS = {
    "sums": "breast_c_rbf",
    "sums, three classes": "iris_c_rbf_prob",
    "sums, one class": "normal_one_rbf",
    "sums, regression": "diabetes_eps_rbf",
}
#: Sensors' bytes, and other whole numbers: the ends of four columns, and the size of the input.
WHOLE = {"uint8": (0, 256, 8), "int8": (-128, 128, 8), "int16": (-3000, 20000, 16)}
NAMES = [*(name for name in CASES if name != "two cells"), *SUMS, *WHOLE, "svm-scale"]


@cache
def models(name):
    """The model that labels are proven for, and the one that is exported."""
    if name in SUMS:
        return (svmfast.load_model(model(SUMS[name])),) * 2
    if name in CASES:
        return made(name)
    exact, fast = made("three classes")
    if name == "svm-scale":
        return exact, ScaledModel(fast, Scaling.from_ranges(np.full(4, -50), np.full(4, 90), -1, 1, digits=4))
    least, end, _ = WHOLE[name]
    scaling = Scaling(np.full(4, least + 9.3), np.array([2, -1.7, 1.1, 1.9]) / (end - least))
    return exact, ScaledModel(fast, scaling)


def rows_of(name, n, seed=0):
    """Rows before the scaling, (n, n_features)."""
    exact, fast = models(name)
    rng, width = np.random.default_rng(seed), computation_of(fast).n_features
    if name in WHOLE:
        return rng.integers(*WHOLE[name][:2], size=(n, width)).astype(float)
    if name == "svm-scale":
        return rng.uniform(-50, 90, size=(n, width))
    vectors = exact.sv.to_dense(width)
    some = (vectors[rng.integers(len(vectors), size=n)] - vectors.mean(axis=0)) * rng.random((n, 1))
    return vectors.mean(axis=0) + some + rng.normal(size=(n, width)) * vectors.std(axis=0) / 9


def options(name):
    return {
        "fixed": WHOLE.get(name, (0, 0, 16))[2],
        "data": None if name == "svm-scale" else rows_of(name, 400),
    }


@cache
def plan_of(name):
    asked, computation = options(name), computation_of(models(name)[1])
    rows = None if asked["data"] is None else as_rows(asked["data"])
    return planned(computation, ranges_of(computation, rows, "", asked["fixed"]))


def middle(plan, x):
    """The row in the middle of those that become x."""
    scale = plan.inputs.scale
    return np.divide(x, scale, out=np.zeros(x.shape), where=scale != 0) + plan.inputs.offset


def limits_of(plan, rows):
    """What each value must exceed to be certain, (n, p)."""
    _, inside, v = plan.inputs.variables(as_rows(rows))
    proven = thresholds(plan)
    s = (v * v).sum(axis=1) * (proven.of.shape[1] > 1)
    return np.where(inside[:, None], proven.of[:, proven.parts(s)].T, np.inf)


@pytest.mark.parametrize("name", NAMES)
def test_the_file_has_the_twins_bits_and_no_overflow(name, tmp_path):
    plan, flags = plan_of(name), ["-fsanitize=undefined", "-fno-sanitize-recover=all", *WARNINGS]
    asked, rng = options(name), np.random.default_rng(1)
    regression = plan.computation.head.is_regression
    file = compiled(svmfast.export(models(name)[1], **asked), tmp_path, *flags, regression=regression)
    low, high, kind = plan.inputs.low, plan.inputs.high, np.iinfo(plan.inputs.ranges.kind)
    ends = rng.random((2, 100, len(low))) < 0.5
    x = np.vstack(
        [
            plan.inputs.variables(as_rows(rows_of(name, 300, seed=2)))[0],
            rng.integers(low, high + 1, size=(200, len(low))),
            np.where(ends[0], low, high),
            np.where(ends[1], kind.min, kind.max),
            *np.array([low, high])[:, None],
        ]
    )
    rows = x if plan.inputs.ranges.whole else middle(plan, x)
    values = plan.values(as_rows(rows))
    assert np.array_equal(file.decisions(x), values)
    if not regression:
        assert np.array_equal(file.answers(x), plan.computation.head.predict(values.astype(float)))
        sure = np.abs(values) > limits_of(plan, rows)
        found = file.certain(x)
        assert np.array_equal(found, sure[:, 0]) if len(plan.rho) == 1 else not found[~sure.any(axis=1)].any()


@pytest.mark.parametrize("name", [name for name in NAMES if "regression" not in name])
def test_certain_labels_are_the_models_for_every_row_of_the_input(name, tmp_path):
    plan, rng, (exact, fast) = plan_of(name), np.random.default_rng(3), models(name)
    rows = rows_of(name, 3000, seed=4)
    nearest = np.argsort(np.abs(plan.values(as_rows(rows))).min(axis=1))
    rows = rows[[*nearest[:20], *nearest[20:600:60], *nearest[600::240]]]
    x = plan.inputs.variables(as_rows(rows))[0]
    if not plan.inputs.ranges.whole:  # to the corners of the cell, in the worst direction and in others
        center, used = middle(plan, x), plan.inputs.scale != 0
        step = np.divide(0.499, plan.inputs.scale, out=np.zeros(x.shape[1]), where=used)
        slopes = [plan.values(as_rows(center + 400 * one))[:, 0] for one in np.diag(step)]
        signs = np.sign(np.array(slopes).T - plan.values(as_rows(center))[:, :1])
        moved_by = [signs, -signs, rng.choice([-1.0, 1.0], size=x.shape)]
        rows, x = np.vstack([center + one * step for one in moved_by]), np.vstack([x, x, x])
    assert np.array_equal(plan.inputs.variables(as_rows(rows))[0], x)
    file = compiled(svmfast.export(fast, **options(name)), tmp_path)
    z = rows if fast.scaling is None else fast.scaling.apply(as_rows(rows)).to_dense(rows.shape[1])
    right = np.array([exact_label(exact, one) for one in z]) == file.answers(x)
    certain = file.certain(x)
    assert certain.any()
    assert not (certain & ~right).any()
    # No value is off by more than what it must exceed to be certain, unless it is larger itself.
    values = plan.values(as_rows(rows))
    exactly = np.array([[float(value) for value in exact_sums(exact, one[None])[0]] for one in z])
    off = np.abs(values - exactly / plan.unit)
    share = (off / np.maximum(limits_of(plan, rows), np.abs(values))).max()
    assert 1e-3 < share <= 1


def test_a_linear_value_is_off_by_nearly_its_bound():
    """In a corner, half a unit away in every column; weights have one size, and are rounded the same way."""
    weights, drawn = np.array([1.0, -1, 1, 1, -1, -1]), random_model(3, 1, 6, 2, 1.0, 1.0, 1.0, "linear")
    vectors = Rows.from_dense(np.vstack([weights, weights * 0]))
    exact = replace(drawn, sv=vectors, sv_coef=np.array([[1.0, 0]]), rho=np.array([0.25]))
    computation = computation_of(approximate(exact)[0])
    plan = planned(computation, ranges_of(computation, as_rows(np.outer([-0.9, 0.9], np.ones(6))), "", 16))
    x = np.where(np.array([weights, -weights]) > 0, plan.inputs.high, plan.inputs.low)
    step = 0.4999 / plan.inputs.scale * weights
    rows = np.vstack([middle(plan, x) + step, middle(plan, x) - step])
    off = np.abs(plan.values(as_rows(rows))[:, 0] * plan.unit - (rows @ weights - 0.25))
    limits = limits_of(plan, rows)[:, 0] * plan.unit
    assert np.array_equal(plan.inputs.variables(as_rows(rows))[0], np.vstack([x, x]))
    assert (off < limits).all()
    assert (off / limits).max() > 0.9


def test_every_fraction_of_a_power_of_two():
    s = np.arange(1 << 20)
    part, whole = powers(s, 18)
    found = (1 - part / 65536) / 2.0**whole
    for end in (0, 0.999):
        assert np.abs(found * 2.0 ** ((s + end) / 2**18) - 1).max() < EXP_ERROR
    assert (part.min(), part.max()) == (0, 32768)


@pytest.mark.parametrize("order", [1, 2, 4])
def test_polynomials_are_moved(order):
    rng, d = np.random.default_rng(order), 3
    packed, (step, w) = rng.normal(size=(2, coefficient_count(d, order))), rng.normal(size=(2, d))

    def at(z):
        return np.concatenate([monomials(z[:, None], m)[:, 0] for m in range(order + 1)])

    assert np.allclose(moved(packed, d, order, step) @ at(w), packed @ at(w + step), rtol=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_integers_of_any_sizes_fit_and_are_long(seed):
    """`planned` itself fails if a sum could leave 32 bits."""
    rng = np.random.default_rng(seed)
    d, gamma, size = int(rng.integers(1, 6)), 10 ** rng.uniform(-4, 0.5), 10 ** rng.uniform(-3, 3)
    exact = random_model(seed, 5, d, 2, gamma, 1.0, size)
    shown = as_rows(rng.normal(size=(50, d)) * 10 ** rng.uniform(-2, 1))
    for fast in (exact, approximate(exact, order=int(rng.integers(0, 5)))[0]):
        computation = computation_of(fast)
        plan = planned(computation, ranges_of(computation, shown, "", 16))
        assert plan.inputs.reach.max() <= LARGEST
        assert plan.largest < 2**32
        assert max(np.abs(one).max(initial=0) for one in (plan.lower, plan.top, plan.coef)) > 2**13


QUANTIZE = """
#include "model.h"
void quantized(const float *y, int n, model_input *x) {
    for (int i = 0; i < n; ++i) x[i] = model_quantize(y[i], i % MODEL_FEATURES);
}
"""


def test_rows_are_quantized_and_those_beyond_are_not_certain(tmp_path):
    plan, name = plan_of("order 2"), "order 2"
    file = compiled(svmfast.export(models(name)[1], **options(name)), tmp_path)
    (tmp_path / "q.c").write_text(QUANTIZE)
    words = ["-std=c99", "-shared", "-fPIC", *WARNINGS, "q.c", "-o", "q.so"]
    assert ran(tmp_path, "gcc", *words).returncode == 0
    rows = rows_of(name, 104).astype(np.float32)
    rows[100, 3], rows[101, 4], rows[102, 5], rows[103, 6] = np.nan, np.inf, -np.inf, 1e30
    x = np.empty(rows.shape, dtype=np.int16)
    ctypes.CDLL(str(tmp_path / "q.so")).quantized(rows.ctypes, rows.size, x.ctypes)
    apart = np.abs(x[:100] - plan.inputs.variables(as_rows(rows[:100].astype(float)))[0])
    assert apart.max() <= 1
    assert apart.mean() < 0.01
    assert file.certain(x)[:100].any()
    assert not file.certain(x)[100:].any()


def test_every_compiler_accepts_the_files(tmp_path):
    names = ["three classes", "one class", "polynomial kernel", *SUMS, *WHOLE]
    made = {}
    for i, name in enumerate(names):
        asked = {**options(name), "test": rows_of(name, 9), "prefix": f"m{i}"}
        made[f"m{i}"] = svmfast.export(models(name)[1], **asked)
    compile_together(made, tmp_path)


#: The advisory rules that docs/export.md lists.
ADVISORY = {"2.5", "2.7", "8.9", "12.1", "12.3", "15.5", "17.8", "18.4"}
USE = """
int use(const model_input *x);
int use(const model_input *x) { return model_predict(x) + model_certain(x, NULL); }
"""


@pytest.mark.parametrize("name", ["three classes", "sums, three classes", "uint8"])
def test_the_required_rules_of_misra_hold(name, tmp_path):
    (tmp_path / "m.c").write_text(svmfast.export(models(name)[1], **options(name)).text + USE)
    said = ran(tmp_path, "cppcheck", "--addon=misra", "--enable=all", "--std=c99", "m.c").stderr
    found = set(re.findall(r"misra-c2012-([\d.]+)", said))
    assert found
    assert found <= ADVISORY, said


ARDUINO = """
#include <stddef.h>
#define A0 14
struct Printer { void begin(long); void println(long); void println(double); void println(const char *); };
extern Printer Serial;
int analogRead(int);
void delay(unsigned long);
"""
COMPILERS = {"avr-g++": "-mmcu=atmega328p", "arm-none-eabi-g++": "-mcpu=cortex-m0plus", "g++": "-m64"}


@pytest.mark.parametrize("compiler", COMPILERS)
def test_the_library_for_arduino_compiles(compiler, tmp_path):
    (tmp_path / "Arduino.h").write_text(ARDUINO)
    flags = ["-std=gnu++11", "-Wall", "-Wextra", "-Werror", "-include", "Arduino.h", "-Ilib/src", "-c"]
    for name in ("uint8", "order 2", "sums, regression", "three classes"):
        asked = {} if name == "three classes" else options(name)
        made = svmfast.export(models(name)[1], **asked, prefix="plain")
        made.save(tmp_path / "plain.h", arduino=tmp_path / "lib")
        assert "name=plain\n" in (tmp_path / "lib/library.properties").read_text()
        done = ran(
            tmp_path, compiler, COMPILERS[compiler], *flags, "-x", "c++", "lib/examples/plain/plain.ino"
        )
        assert done.returncode == 0, done.stderr

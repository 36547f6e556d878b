"""Text from models, tables and file names stays text in every language of exported files."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from c_exports import WARNINGS, WAYS, needs_compiler
from hypothesis import given
from hypothesis import settings as how
from hypothesis import strategies as st
from program import FIXTURES

import svmfast
from svmfast.exports.accuracy import Accuracy, CheckedRows, Settings
from svmfast.exports.computation import computation_of
from svmfast.exports.languages import LANGUAGES

MODEL = svmfast.load_model(FIXTURES / "frozen" / "1.0" / "polynomial_three_classes.model")
COMPUTATION = computation_of(MODEL)
HARMLESS = "text"
INJECTED = [
    r"x *\ int injected = 1; \* y",
    "*/ int injected = 1; /*",
    "*??/\n/ int injected = 1; /*??/\n*",
    '"; int injected = 1; char rest[] = "',
    "\\",
    "$n $N_H ??/",
    "\r\n#define injected 1\n",
    "\N{RIGHT-TO-LEFT OVERRIDE}\u2028\x1b[2J\0é\udcff",
    '","injected":"1',
]
#: What means something in comments, strings, lines or templates.
PIECES = ["*", "/", "\\", "?", "$n", "$", '"', "'", "\n", "\r", "#", " ", "a", "é", "\u2028", "7"]
TEXTS = st.one_of(
    st.sampled_from(INJECTED),
    st.lists(st.sampled_from(PIECES), max_size=12).map("".join),
    st.text(max_size=20),
)


def names_of(text: str) -> list[str]:
    return [
        f"{text.encode('utf-8', 'replace').decode()}{i}" for i in range(4)
    ]  # only file names may not be UTF-8


def exported(text: str, language: str) -> bytes:
    """Export with this text in every place that takes text from outside."""
    names = names_of(text)
    settings = Settings(
        prefix="model",
        dtype=np.dtype(np.float32),
        origin={"parameters": text, f"key {text}": "value"},
        accuracy=Accuracy(
            rows=2, of=f"rows of {text}", labels_differing=0, max_abs_error=0.0, max_abs_value=1.0
        ),
        test=CheckedRows(np.zeros((2, 4)), np.array([1.0, 2.0])),
        feature_names=tuple(names),
    )
    computation = replace(COMPUTATION, class_names=tuple(names[:3]))
    data: bytes = LANGUAGES[language].module().write(computation, settings)[0]
    return data


#: Comments and literals, from the left as a compiler finds them.
LEXEMES = re.compile(r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL)


def code(text: str) -> str:
    """Return a file after C's translation phases for trigraphs and spliced lines, without the above."""
    for trigraph, character in zip("=/'()!<>-", "#\\^[]|{}~", strict=True):
        text = text.replace(f"??{trigraph}", character)
    text = LEXEMES.sub("", re.sub(r"\\\s*\n", "", text))
    return re.sub(r"#define MODEL_(TABLE_BYTES|X_\w+) \d+", "", text, flags=re.ASCII)


@how(max_examples=60, deadline=None)
@given(TEXTS)
def test_c_has_the_same_code_whatever_the_text(text: str) -> None:
    found = exported(text, "c").decode("ascii")
    assert code(found) == code(exported(HARMLESS, "c").decode())
    assert not set(found) - {"\n"} - set(map(chr, range(32, 127)))


@needs_compiler
@pytest.mark.parametrize("way", WAYS)
def test_compilers_see_no_code_in_text(way: str, tmp_path: Path) -> None:
    """All files in one program: whatever a text defines would be defined twice, or is not declared."""
    if shutil.which(WAYS[way][0]) is None:
        pytest.skip(f"no {way}")
    for number, text in enumerate(INJECTED):
        own = exported(text, "c").decode().replace("model_", f"m{number}_").replace("MODEL_", f"M{number}_")
        (tmp_path / f"{number}.h").write_text(own)
    main = "".join(f'#include "{number}.h"\n' for number in range(len(INJECTED)))
    (tmp_path / "main.c").write_text(f"{main}int injected(void);\nint injected(void) {{ return 0; }}\n")
    flags = ["-trigraphs", "-fsyntax-only", *(f"-DM{number}_TEST" for number in range(len(INJECTED)))]
    done = subprocess.run(
        [*WAYS[way], *WARNINGS, *flags, "main.c"], cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


@how(max_examples=60, deadline=None)
@given(TEXTS)
def test_onnx_gives_the_names_back(text: str) -> None:
    onnx = pytest.importorskip("onnx", reason="no onnx")
    found, plain = (onnx.load_from_string(exported(one, "onnx")) for one in (text, HARMLESS))
    about = {one.key: one.value for one in found.metadata_props}
    assert len(about) == len(found.metadata_props) == 4
    assert all(part.isprintable() for pair in about.items() for part in pair)
    names = json.loads(about["feature_names"])
    assert names == names_of(text)
    [strings] = [one for one in found.graph.initializer if one.string_data]
    assert [one.decode() for one in strings.string_data] == names[:3]
    assert [one.op_type for one in found.graph.node] == [one.op_type for one in plain.graph.node]

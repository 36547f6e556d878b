"""Messages for the tokenizer's errors: the rule, the line, the token, and what is expected."""

from __future__ import annotations

import math
import re

from svmfast.display import named_labels, shown
from svmfast.errors import DataFormatError
from svmfast.options import Reading

#: rule, line, text of the line, token, found, wanted (``_core/svmlight.hpp``: Fault)
Fault = tuple[str, int, bytes, bytes | None, int, int]

_SHOWN = 1 << 16  # maximum length of text for a message
_MAX_INDEX = (1 << 31) - 1
_LONGEST = 60  # maximum length of a corrected token in a message
_DECIMAL = re.compile(rb"[+-]?([0-9]+[.,]?[0-9]*|[.,][0-9]+)([eE][+-]?[0-9]+)?")

#: For each rule, what is wrong and what is expected.
_RULES = {
    "blank": ("blank line", "expected a label on every line; `lenient` skips blank lines"),
    "carriage_return": (
        "carriage return inside a line",
        r"expected \n or \r\n at line ends; fix with tr '\r' '\n'",
    ),
    "nul": ("NUL byte", "expected text, not a binary file"),
    "no_index": ("no index before ':'", "expected index:value without blanks"),
    "no_value": ("no value after ':'", "expected index:value without blanks"),
    "index": ("the index is not an integer", "expected index:value with an integer from 1"),
    "negative_index": ("negative index", "expected integers from 1"),
    "zero_index": ("index 0", "expected integers from 1; for indices from 0 use `zero_based`"),
    "large_index": ("index too large", f"expected at most {_MAX_INDEX}"),
    "duplicate": ("index twice in the row", "expected every index once"),
    "qid": ("the qid is not an integer", "expected qid:number"),
    "qid_place": ("qid: after an entry", "expected it directly after the label"),
    "no_serial": ("no 0:serial at the start of the row", "expected 0:serial 1:value 2:value ..."),
    "value": ("the value is not a number", "expected a decimal number"),
    "no_values": ("no values after the label", "expected label value value ..."),
    "empty_field": ("empty field", "expected a number between any two separators, 0 for zero"),
    "mixed_separators": (
        "commas and blanks both separate fields",
        "expected one of them, and a point in decimals",
    ),
}


def cut_out(buffer: bytes | bytearray, fault: tuple[str, int, int, int, int, int, int]) -> Fault:
    """A fault that the tokenizer found in this text, with the line and the token instead of their places."""
    rule, line, start, begin, end, found, wanted = fault
    text = bytes(buffer[start : min(buffer.index(b"\n", start), start + _SHOWN)])
    token = None if begin < 0 else bytes(buffer[begin : min(end, begin + _SHOWN)])
    return rule, line, text, token, found, wanted


def explain(path: str, fault: Fault, reading: Reading) -> DataFormatError:
    """The error for a fault that the tokenizer found."""
    _, line, text, token, _, _ = fault
    from svmfast.formats.detect import file_kind

    if line == 1 and file_kind(text) not in ("data", "empty", "pickle"):
        word = shown(text.split(None, 1)[0])
        return DataFormatError(path, line, "a model, not data", word, f"expected {_row_form(reading)}")
    what, expected = _broken_rule(fault, reading)
    shown_token = None if token is None else token.decode("utf-8", "surrogateescape")
    return DataFormatError(path, line, what, shown_token, expected)


def _broken_rule(fault: Fault, reading: Reading) -> tuple[str, str]:
    """What is wrong, and what is expected."""
    rule, _, text, token, found, wanted = fault
    raw = token or b""
    if b"\0" in raw:
        return _RULES["nul"]
    if rule == "entry":
        return _index_rule(raw, text, reading)
    if rule == "value":
        return _value_rule(raw)
    if rule == "label":
        return _label_rule(raw, text, reading)
    if rule == "field" and (number := _number_rule("the value", raw)):
        return number
    if rule == "field" and b":" in raw:
        return "index:value in a dense row", f"expected {_row_form(reading)}; drop `dense`"
    if rule == "field" and b";" in raw:
        return "fields separated by ';'", "expected blanks or commas between fields"
    if rule == "field":
        return _RULES["value"]
    if rule == "unsorted":
        return f"index {found} after {wanted}", "expected ascending indices; `lenient` sorts"
    if rule == "repeated":
        return f"index {found} twice in the row", "expected every index once"
    if rule == "gap":
        return f"index {found} in the row", f"expected {wanted} there, without gaps"
    if rule == "row_width":
        values = "1 value" if found == 1 else f"{found} values"
        return f"{values} in the row", f"expected {wanted} as in the first row"
    if rule == "blank" and reading.unlabelled:
        return "blank line", f"expected {_row_form(reading)} on every line; `lenient` skips blank lines"
    return _RULES[rule]


def _number_rule(what: str, word: bytes) -> tuple[str, str] | None:
    """The rule of a number that is not a finite decimal one; None for another word."""
    unsigned = word.removeprefix(b"-" if word[:1] == b"-" else b"+").lower()
    if unsigned.startswith(b"0x"):
        return f"{what} is hexadecimal", "expected a decimal number"
    if re.fullmatch(rb"nan(\(.*\))?|inf(inity)?", unsigned):
        return f"{what} is not finite", "expected a finite number"
    if _DECIMAL.fullmatch(word) and b"," not in word and math.isinf(float(word)):
        return f"{what} is out of the range of float64", "expected a magnitude below 1.8e308"
    return None


def _index_rule(token: bytes, text: bytes, reading: Reading) -> tuple[str, str]:
    """What is wrong with an entry whose index is wrong or missing."""
    index, colon, value = token.partition(b":")
    if not colon:
        return _colon_rule(token, text, reading)
    if index == b"qid":
        first = text.split(None, 2)[0 if reading.unlabelled else 1]
        return _RULES["qid" if token == first else "qid_place"]
    if not index or not value:
        return _RULES["no_value" if index else "no_index"]
    if not re.fullmatch(rb"[+-]?[0-9]+", index):
        hexadecimal = re.match(rb"[+-]?0[xX]", index)
        return (hexadecimal and _number_rule("the index", index)) or _RULES["index"]
    digits = index.lstrip(b"+-0")
    if digits:
        return _RULES["negative_index" if index.startswith(b"-") else "large_index"]
    return _RULES["zero_index"]


def _value_rule(token: bytes) -> tuple[str, str]:
    value = token.partition(b":")[2]
    if not value:
        return _RULES["no_value"]
    if _DECIMAL.fullmatch(value) and b"," in value:
        return "decimal comma", f"expected a point: {shown(token.replace(b',', b'.'), _LONGEST)}"
    return _number_rule("the value", value) or _RULES["value"]


def _label_rule(token: bytes, text: bytes, reading: Reading) -> tuple[str, str]:
    if token == b"":
        return _RULES["empty_field"]
    if number := _number_rule("the label", token):
        return number
    if b":" in token:
        return (
            "no label before the first entry",
            "expected label index:value ...; rows without labels need `unlabelled`, if the command has it",
        )
    if _DECIMAL.fullmatch(token) and re.search(rb"[ \t][^ \t#]+:", text):
        return "comma in the label", "expected one number, decimals with a point"
    for separator in (";", ","):
        if separator.encode() in token:
            expected = "expected label index:value ...; for dense rows use `dense`"
            return f"fields separated by '{separator}'", expected
    if token == b"?":
        return "unknown label", "expected a number; any number will do for rows that are only predicted"
    names = reading.class_names
    instead = "; map text labels to numbers first" if names is None else f": {named_labels(names)}"
    return "the label is not a number", f"expected a number{instead}"


def _colon_rule(token: bytes, text: bytes, reading: Reading) -> tuple[str, str]:
    # Split only at the tokenizer's blanks: bytes.split() would also split at \v and \f.
    tokens = re.findall(rb"[^ \t\r\n]+", text.split(b"#")[0])[0 if reading.unlabelled else 1 :]
    entries = [b":" in word for word in tokens]
    if reading.unlabelled and token == tokens[0] and all(entries[1:]):
        expected = "expected index:value; rows with labels are read without `unlabelled`"
        return "no ':' in the row's first entry", expected
    if not any(entries):
        return "no ':' in the row", "expected index:value; it looks dense: use `dense`"
    return "no ':' in the entry", "expected index:value"


def _row_form(reading: Reading) -> str:
    """The format of a row."""
    entries = "value value ..." if reading.dense else "index:value ..."
    return entries if reading.unlabelled else f"label {entries}"

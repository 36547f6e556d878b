"""The slow, obvious reader of LIBSVM data text, oracle of the native one: one line, one rule at a time."""

import math
import re

NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
INTEGER = re.compile(rb"[+-]?\d+")
MAX_INDEX = 2**31 - 1


class TwinError(Exception):
    def __init__(self, line, why):
        super().__init__(line, why)
        self.line = line


def number(token, line):
    if not NUMBER.fullmatch(token):
        raise TwinError(line, f"not a number: {token!r}")
    value = float(token)
    if math.isinf(value):
        raise TwinError(line, f"overflow: {token!r}")
    return value


def parse(text, *, zero_based=False, precomputed=False, dense=False, lenient=False, labelled=True):
    text = text.removeprefix(b"\xef\xbb\xbf")
    lines = text.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    labels, rows, width, row_width = [], [], 0, None
    least = 0 if zero_based or precomputed else 1
    for at, raw in enumerate(lines, start=1):
        line = raw.removesuffix(b"\r")
        body = re.split(rb"[#\r]", line, maxsplit=1)[0]
        if body.strip(b" \t") == b"":
            if b"\r" in line:
                raise TwinError(at, "carriage return")
            if b"#" in line or lenient:
                continue
            if labelled or dense or precomputed:
                raise TwinError(at, "blank")
        if dense:
            entries, columns = dense_row(body, at, labelled, labels)
        else:
            tokens = [t for t in re.split(rb"[ \t]+", body) if t]
            labels.append(number(tokens.pop(0), at) if labelled else math.nan)
            entries = sparse_row(tokens, at, least, lenient, precomputed, zero_based)
            columns = entries[-1][0] + 1 if entries else 0
            if precomputed and ([c for c, _ in entries] != list(range(len(entries))) or not entries):
                raise TwinError(at, "precomputed row")
        row_width = columns if row_width is None else row_width
        if (dense or precomputed) and columns != row_width:
            raise TwinError(at, "row width")
        if b"\r" in line:
            raise TwinError(at, "carriage return")
        rows.append(entries)
        width = max(width, columns)
    return labels, rows, width


def sparse_row(tokens, at, least, lenient, precomputed, zero_based):
    entries, seen, highest = [], set(), -1
    for place, token in enumerate(tokens):
        index_text, colon, value_text = token.partition(b":")
        if not colon:
            raise TwinError(at, "no colon")
        if index_text == b"qid":
            if place or not INTEGER.fullmatch(value_text) or not -(2**63) <= int(value_text) < 2**63:
                raise TwinError(at, "qid")
            continue
        if not INTEGER.fullmatch(index_text):
            raise TwinError(at, "index")
        index = int(index_text)
        if not least <= index <= MAX_INDEX - (1 if zero_based else 0):
            raise TwinError(at, "index range")
        value = 0.0 if precomputed and index == 0 and value_text == b"?" else number(value_text, at)
        if index in seen or (index < highest and not lenient):
            raise TwinError(at, "index order")
        seen.add(index)
        highest = max(highest, index)
        entries.append((index - least, value))
    return sorted(entries)


def dense_row(body, at, labelled, labels):
    stripped = body.strip(b" \t")
    fields = re.split(rb"[ \t]*,[ \t]*", stripped)
    if len(fields) == 1:
        fields = re.split(rb"[ \t]+", stripped)
    values = [number(f, at) for f in fields]
    labels.append(values.pop(0) if labelled else math.nan)
    if not values:
        raise TwinError(at, "no values")
    return [(c, v) for c, v in enumerate(values) if v != 0], len(values)

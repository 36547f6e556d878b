"""svmfast's model files taken apart and put together again, by docs/model-format.md, without any check."""

import hashlib
import json
import math

import numpy as np

START = b"svmfast-model 1.0 "


def resealed(text):
    """Return `text` with the right size and hash in its first line; unchanged if it is not a model."""
    first, _, content = text.partition(b"\n")
    words = first.split(b" ")
    if len(words) < 2 or words[0] + b" " != START[: len(words[0]) + 1]:
        return text
    digest = hashlib.sha256(content).hexdigest().encode()
    return b"%s %s %d sha256:%s\n%s" % (*words[:2], len(content), digest, content)


def unpacked(text):
    """Return the tree of a file: arrays are NumPy's, LIBSVM's models are bytes."""
    _, header, rest = text.split(b"\n", 2)
    at = 0

    def read(one):
        nonlocal at
        if isinstance(one, dict) and one.keys() == {"dtype", "shape"}:
            dtype, begin = np.dtype(one["dtype"]).newbyteorder("<"), at
            at += math.prod(one["shape"]) * dtype.itemsize
            return np.frombuffer(rest[begin:at], dtype).reshape(one["shape"]).astype(one["dtype"])
        if isinstance(one, dict) and one.keys() == {"kind", "bytes"}:
            at += one["bytes"]
            return rest[at - one["bytes"] : at]
        return {name: read(part) for name, part in one.items()} if isinstance(one, dict) else one

    tree = read(json.loads(header))
    assert at == len(rest)
    return tree


def packed(tree):
    """Return the file of a tree, whatever it holds."""
    parts = []

    def described(one):
        if isinstance(one, np.ndarray):
            parts.append(one.astype(one.dtype.newbyteorder("<")).tobytes())
            return {"dtype": one.dtype.name, "shape": list(one.shape)}
        if isinstance(one, bytes):
            parts.append(one)
            return {"kind": "libsvm", "bytes": len(one)}
        return {name: described(part) for name, part in one.items()} if isinstance(one, dict) else one

    header = json.dumps(described(tree), separators=(",", ":")).encode()
    return resealed(START + b"\n" + header + b"\n" + b"".join(parts))

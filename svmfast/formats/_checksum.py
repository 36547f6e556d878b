"""The checksum of a container file, computed from its content, not from its text: docs/model-format.md."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from svmfast.models.base import PROVENANCE, Record, model_class


def content_checksum(record: Record, embedded: Mapping[str, bytes]) -> str:
    """Return the hash of a record, as ``sha256:...``; `embedded` has the text of each embedded model.

    Numbers are hashed in binary, so that neither their decimal form nor the line ends matter. Each part is
    hashed with its name and size, so that no part can be mistaken for another.
    """
    import hashlib

    schema = model_class(record.kind).schema
    digest = hashlib.sha256(f"kind {record.kind}\n".encode())

    def text(name: str, value: str) -> None:
        content = value.encode()
        digest.update(f"text {name} {len(content)}\n".encode() + content + b"\n")

    for key in PROVENANCE:
        if key in record.provenance:
            text(key, record.provenance[key])
    for scalar in schema.scalars:
        if scalar.name not in record.scalars:
            continue
        value = record.scalars[scalar.name]
        if scalar.type == "text":
            text(scalar.name, str(value))
        else:
            number = int(value) if scalar.type == "int" else float(value)
            digest.update(f"{scalar.type} {scalar.name}\n".encode())
            digest.update(np.array(number, dtype="<i8" if scalar.type == "int" else "<f8").tobytes())
    for declared in schema.arrays:
        if declared.name in record.arrays:
            array = record.arrays[declared.name]
            digest.update(f"{declared.dtype} {declared.name} {' '.join(map(str, array.shape))}\n".encode())
            little = np.ascontiguousarray(array, dtype=np.dtype(declared.dtype).newbyteorder("<"))
            digest.update(little.reshape(-1).view(np.uint8).data)
    for name in schema.embedded:
        if name in embedded:
            digest.update(f"embedded {name} {len(embedded[name])}\n".encode())
            digest.update(embedded[name])
    return f"sha256:{digest.hexdigest()}"

"""Mutations of svmfast's model text that know its schema: what scripts/fuzz --only schema feeds the reader.

Sizes, starts, counts and scalars are set to the edges of 31, 32 and 63 bits and their negatives, several
counts at once so that their sum wraps around to the right one, floats to the ends of their range; sections
are swapped, dropped and taken from other models; an embedded model is replaced by any other, truly sized.
"""

from __future__ import annotations

import random
import re
from itertools import pairwise

EDGES = [s * v for v in (0, 1, 2, 3, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**62, 2**63 - 1) for s in (1, -1)]
EDGES += [-(2**63), 2**63, 2**64 - 1]
FLOATS = ["0", "-0.0", "1e308", "-1e308", "1.7e308", "5e-324", "1e-160", "-1", "1e154", "nan", "inf"]
_SECTION = re.compile(rb"^(array|embedded) ", re.MULTILINE)
_INT64 = 2**64


def sections(text: bytes) -> list[bytes]:
    """Return the head of a model, each array with its numbers, and the rest from an embedded model on."""
    outer = text.find(b"\nembedded ")
    stop = text.rfind(b"end\n") if outer < 0 else outer + 1
    starts = [m.start() for m in _SECTION.finditer(text, 0, stop)]
    bounds = [0, *starts, stop, len(text)]
    return [text[a:b] for a, b in pairwise(bounds)]


def mutate(text: bytes, seeds: list[bytes], chance: random.Random) -> bytes:
    """Return `text` with one to three mutations."""
    for _ in range(chance.choice((1, 1, 2, 3))):
        parts = sections(text)
        arrays = range(1, len(parts) - 1)
        how = chance.randrange(10)
        if how == 9 or not arrays:
            text = _embedded(text, seeds, chance)
            continue
        at = chance.choice(arrays)
        if how == 0:
            parts[at] = _heading(parts[at], chance)
        elif how in (1, 2, 3):
            parts[at] = _numbers(parts[at], chance)
        elif how == 4:
            parts[at] = _wrapped(parts[at], chance)
        elif how == 5:
            parts[0] = _scalars(parts[0], chance)
        elif how == 6:
            other = chance.choice(arrays)
            parts[at], parts[other] = parts[other], parts[at]
        elif how == 7:
            del parts[at]
        else:  # the same section of another model, or another one
            theirs = [p for p in sections(chance.choice(seeds))[1:-1] if p.split()[1] == parts[at].split()[1]]
            parts[at] = chance.choice(theirs) if theirs else parts[at]
        text = b"".join(parts)
    return text


def _heading(part: bytes, chance: random.Random) -> bytes:
    heading, _, numbers = part.partition(b"\n")
    words = heading.split(b" ")
    words[chance.randrange(3, len(words))] = str(chance.choice(EDGES)).encode()
    return b" ".join(words) + b"\n" + numbers


def _numbers(part: bytes, chance: random.Random) -> bytes:
    heading, _, rest = part.partition(b"\n")
    numbers = rest.split()
    if numbers:
        whole = b"int" in heading
        for _ in range(chance.choice((1, 1, 2, len(numbers)))):
            value = str(chance.choice(EDGES)) if whole else chance.choice(FLOATS)
            numbers[chance.randrange(len(numbers))] = value.encode()
    return heading + b"\n" + b" ".join(numbers) + b"\n"


def _wrapped(part: bytes, chance: random.Random) -> bytes:
    """Three numbers changed so that their sum, modulo 2^64, stays."""
    heading, _, rest = part.partition(b"\n")
    numbers = rest.split()
    if b"int64" not in heading or len(numbers) < 3:
        return _numbers(part, chance)
    a, b, c = chance.sample(range(len(numbers)), 3)
    total = sum(int(numbers[i]) for i in (a, b, c))
    big = [chance.choice((2**63 - 1, 2**62, 2**32, -(2**63), 2**31)) for _ in range(2)]
    last = (total - sum(big) + 2**63) % _INT64 - 2**63
    for i, value in zip((a, b, c), (*big, last), strict=True):
        numbers[i] = str(value).encode()
    return heading + b"\n" + b" ".join(numbers) + b"\n"


def _scalars(head: bytes, chance: random.Random) -> bytes:
    lines = head.split(b"\n")
    known = [i for i, line in enumerate(lines) if re.match(rb"[\w]+ -?[\d.e+-]+$", line)]
    if known:
        i = chance.choice(known)
        name = lines[i].split()[0]
        value = str(chance.choice(EDGES)) if chance.random() < 0.5 else chance.choice(FLOATS)
        lines[i] = name + b" " + value.encode()
    return b"\n".join(lines)


def _embedded(text: bytes, seeds: list[bytes], chance: random.Random) -> bytes:
    """Exchange an embedded model, or put one in, with its true size."""
    found = re.search(rb"^embedded (\w+) bytes (\d+)\n", text, re.MULTILINE)
    new = chance.choice(seeds)
    if found is None:
        return text.removesuffix(b"end\n") + b"embedded exact bytes %d\n" % len(new) + new + b"end\n"
    start, size = found.end(), int(found[2])
    if chance.random() < 0.5:
        new = mutate(text[start : start + size], seeds, chance) if size < 6000 else new
    heading = b"embedded %s bytes %d\n" % (found[1], len(new))
    return text[: found.start()] + heading + new + text[start + size :]

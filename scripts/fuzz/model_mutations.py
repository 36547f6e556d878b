"""Mutations of svmfast's model text that know its schema, for scripts/fuzz/inputs --only schema.

Sizes, starts, counts and scalars are set to the edges of 31, 32 and 63 bits and their negatives, several
counts at once so that their sum wraps around to the right one, floats to the ends of their range; sections
are swapped, dropped and taken from other models; an embedded model is replaced by any other, truly sized.
In addition there are mild changes, which may leave a model valid: they reach the code after the checks.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from itertools import pairwise, product

EDGES = [s * v for v in (0, 1, 2, 3, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**62, 2**63 - 1) for s in (1, -1)]
EDGES += [-(2**63), 2**63, 2**64 - 1]
FLOATS = ["0", "-0.0", "1e308", "-1e308", "1.7e308", "5e-324", "1e-160", "-1", "1e154", "nan", "inf"]
#: Plausible numbers, to get past the range checks.
PLAUSIBLE = [
    "0",
    "1",
    "-1",
    "0.5",
    "1e-9",
    "-3.25",
    "17",
    "1e5",
    "-1e20",
    "1e100",
    "1e-300",
    "1e150",
    "1e307",
]
_SECTION = re.compile(rb"^(array|embedded) ", re.MULTILINE)
_INT64 = 2**64
_GREAT = (2**63 - 1, 2**62, 2**32, -(2**63), 2**31)


def sections(text: bytes) -> list[bytes]:
    """Return the head of a model, each array with its numbers, and the rest from an embedded model on."""
    outer = text.find(b"\nembedded ")
    stop = _tail(text) if outer < 0 else outer + 1
    starts = [m.start() for m in _SECTION.finditer(text, 0, stop)]
    bounds = [0, *starts, stop, len(text)]
    return [text[a:b] for a, b in pairwise(bounds)]


def _tail(text: bytes) -> int:
    """Return where the last lines of a model begin: its checksum, if it has one, and its end."""
    found = re.search(rb"(?:^checksum .*\n)?(?:^end\n)?\Z", text, re.MULTILINE)
    return len(text) if found is None else found.start()


def mutate(text: bytes, seeds: list[bytes], chance: random.Random) -> bytes:
    """Return `text` with one to three mutations."""
    for _ in range(chance.choice((1, 1, 2, 3))):
        parts = sections(text)
        arrays = range(1, len(parts) - 1)
        how = chance.randrange(14)
        if how == 13 or not arrays:
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
        elif how in (8, 9):
            parts[at] = _plausible(parts[at], chance)
        elif how == 10:
            parts[at] = _moved(parts[at], chance)
        elif how == 11:
            parts[at] = _reshaped(parts[at], chance)
        else:  # the same section of another model, or another one
            theirs = [p for p in sections(chance.choice(seeds))[1:-1] if p.split()[1] == parts[at].split()[1]]
            parts[at] = chance.choice(theirs) if theirs else parts[at]
        text = b"".join(parts)
    return text


def every_edge(text: bytes) -> Iterator[bytes]:
    """Yield `text` with each of its sizes, counts, starts and scalars set to each edge value, one at a time.

    In arrays of floats, which are long, the first, middle and last number are changed. Three counts of
    each array are also set so that their sum wraps around to the right one, in every way with two large
    ones. An embedded model is changed in the same way, with its size corrected.
    """
    for found in re.finditer(rb"^embedded (\w+) bytes (\d+)\n", text, re.MULTILINE):
        inner = text[found.end() : found.end() + int(found[2])]
        for changed in every_edge(inner) if inner.startswith(b"svmfast-model") else ():
            heading = b"embedded %s bytes %d\n" % (found[1], len(changed))
            yield text[: found.start()] + heading + changed + text[found.end() + len(inner) :]
    parts = sections(text)
    heads = [(0, i, j, w) for i, j, w in _words(parts[0])]
    places = [*heads, *((at, i, j, w) for at in range(1, len(parts) - 1) for i, j, w in _words(parts[at]))]
    for at, start, stop, whole in places:
        for value in map(str, EDGES) if whole else FLOATS:
            changed = parts[at][:start] + value.encode() + parts[at][stop:]
            yield b"".join([*parts[:at], changed, *parts[at + 1 :]])
        if not at and not whole:  # a scalar that is whole in the schema
            for edge in EDGES:
                yield parts[0][:start] + str(edge).encode() + parts[0][stop:] + b"".join(parts[1:])
    for at in range(1, len(parts) - 1):
        heading, _, rest = parts[at].partition(b"\n")
        numbers = rest.split()
        if b"int64" in heading and len(numbers) >= 3:
            for places3 in {(0, 1, 2), (0, len(numbers) // 2, len(numbers) - 1), (1, 2, 0)}:
                if len(set(places3)) == 3:
                    for big in product(_GREAT, _GREAT):
                        changed = heading + b"\n" + b" ".join(_wrap(numbers, places3, big)) + b"\n"
                        yield b"".join([*parts[:at], changed, *parts[at + 1 :]])


def _words(part: bytes) -> Iterator[tuple[int, int, bool]]:
    """Yield the positions at which to change the numbers of a section, and whether they are integers."""
    heading = part.split(b"\n", 1)[0]
    if not part.startswith(b"array "):
        for found in re.finditer(rb"^\w+ (-?[\d.e+-]+)$", part, re.MULTILINE):
            yield found.start(1), found.end(1), False
        return
    for found in list(re.finditer(rb"\S+", heading))[3:]:
        yield found.start(), found.end(), True
    whole = b"int" in heading
    numbers = [(m.start(), m.end()) for m in re.finditer(rb"\S+", part[len(heading) :])]
    if not whole and len(numbers) > 3:
        numbers = [numbers[0], numbers[len(numbers) // 2], numbers[-1]]
    for start, stop in numbers:
        yield len(heading) + start, len(heading) + stop, whole


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


def _plausible(part: bytes, chance: random.Random) -> bytes:
    """Some numbers replaced by plausible others of their kind."""
    heading, _, rest = part.partition(b"\n")
    numbers = rest.split()
    whole = b"int" in heading
    for _ in range(chance.choice((1, 1, 2, len(numbers))) if numbers else 0):
        i = chance.randrange(len(numbers))
        if not whole:
            value = chance.choice(PLAUSIBLE) if chance.random() < 0.8 else repr(chance.gauss(0, 10))
        else:
            near = [numbers[i], *numbers[max(i - 1, 0) : i + 2]]
            value = str(int(chance.choice(near)) + chance.choice((-1, 0, 1)))
        numbers[i] = value.encode()
    return heading + b"\n" + b" ".join(numbers) + b"\n"


def _moved(part: bytes, chance: random.Random) -> bytes:
    """A small amount moved from one number to another: sums and counts remain right."""
    heading, _, rest = part.partition(b"\n")
    numbers = rest.split()
    if b"int" not in heading or len(numbers) < 2:
        return _plausible(part, chance)
    a, b = chance.sample(range(len(numbers)), 2)
    step = chance.choice((1, 1, 2, int(numbers[a])))
    numbers[a], numbers[b] = str(int(numbers[a]) - step).encode(), str(int(numbers[b]) + step).encode()
    return heading + b"\n" + b" ".join(numbers) + b"\n"


def _reshaped(part: bytes, chance: random.Random) -> bytes:
    """The same numbers in another shape of the same size, in the same or another order."""
    heading, _, rest = part.partition(b"\n")
    words, numbers = heading.split(b" "), rest.split()
    if len(words) > 4:
        total, shape = len(numbers), []
        for _ in words[4:]:
            shape.append(chance.choice([d for d in range(1, total + 1) if total % d == 0] or [0]))
            total //= shape[-1] or 1
        shape.append(total)
        words[3:] = [str(n).encode() for n in shape]
    if chance.random() < 0.3:
        chance.shuffle(numbers)
    return b" ".join(words) + b"\n" + b" ".join(numbers) + b"\n"


def _wrapped(part: bytes, chance: random.Random) -> bytes:
    """Three numbers changed so that their sum modulo 2^64 is the same."""
    heading, _, rest = part.partition(b"\n")
    numbers = rest.split()
    if b"int64" not in heading or len(numbers) < 3:
        return _numbers(part, chance)
    a, b, c = chance.sample(range(len(numbers)), 3)
    numbers = _wrap(numbers, (a, b, c), (chance.choice(_GREAT), chance.choice(_GREAT)))
    return heading + b"\n" + b" ".join(numbers) + b"\n"


def _wrap(numbers: list[bytes], at: tuple[int, int, int], big: tuple[int, int]) -> list[bytes]:
    total = sum(int(numbers[i]) for i in at)
    last = (total - sum(big) + 2**63) % _INT64 - 2**63
    out = list(numbers)
    for i, value in zip(at, (*big, last), strict=True):
        out[i] = str(value).encode()
    return out


def _scalars(head: bytes, chance: random.Random) -> bytes:
    lines = head.split(b"\n")
    known = [i for i, line in enumerate(lines) if re.match(rb"[\w]+ -?[\d.e+-]+$", line)]
    if known:
        i = chance.choice(known)
        name = lines[i].split()[0]
        value = chance.choice((str(chance.choice(EDGES)), chance.choice(FLOATS), chance.choice(PLAUSIBLE)))
        lines[i] = name + b" " + value.encode()
    return b"\n".join(lines)


def _embedded(text: bytes, seeds: list[bytes], chance: random.Random) -> bytes:
    """Exchange or insert an embedded model, with its true size."""
    found = re.search(rb"^embedded (\w+) bytes (\d+)\n", text, re.MULTILINE)
    new = chance.choice(seeds)
    if found is None:
        stop = _tail(text)
        return text[:stop] + b"embedded exact bytes %d\n" % len(new) + new + text[stop:]
    start, size = found.end(), int(found[2])
    if chance.random() < 0.5:
        new = mutate(text[start : start + size], seeds, chance) if size < 6000 else new
    heading = b"embedded %s bytes %d\n" % (found[1], len(new))
    return text[: found.start()] + heading + new + text[start + size :]

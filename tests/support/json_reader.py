"""An exported JSON file evaluated in plain Python, as docs/export.md describes it."""

from __future__ import annotations

import math
from itertools import combinations_with_replacement
from typing import Any


def nearest(route: dict[str, Any] | None, v: list[float]) -> int:
    if route is None:
        return 0
    children, node, first = route["children"], 0, [1]
    for count in children:
        first.append(first[-1] + count)
    while children[node]:
        options = range(first[node], first[node] + children[node])
        node = min(
            options, key=lambda n: sum((a - b) ** 2 for a, b in zip(v, route["centers"][n - 1], strict=True))
        )
    return sum(1 for n in range(node) if not children[n])


def answer(document: dict[str, Any], x: list[float]) -> tuple[list[float], Any]:
    """Follow docs/export.md, section JSON, row by row in plain Python."""
    scaling, values = document["scaling"], document["values"]
    if scaling is not None:
        x = [(a - o) * f for a, o, f in zip(x, scaling["offset"], scaling["factor"], strict=True)]
        if scaling["clip"] is not None:
            x = [min(max(a, scaling["clip"][0]), scaling["clip"][1]) for a in x]
    v = [x[j] for j in document["variables"]]
    others = [a for j, a in enumerate(x) if j not in document["variables"]]
    cell = nearest(document["route"], v)
    functions = document["answer"]["functions"]
    out = sums(values, cell, v, others, functions) if functions else []
    return out, label(document["answer"], out)


def sums(values: dict[str, Any], cell: int, v: list[float], others: list[float], p: int) -> list[float]:
    if values["form"] == "polynomials":
        w = [a - b for a, b in zip(v, values["centers"][cell], strict=True)]
        s = sum(a * a for a in w) + sum(a * a for a in others)
        w = w if values["centered"] else v
        at = sum(math.comb(len(v) + order, order) for orders in values["orders"][:cell] for order in orders)
        out = []
        for order, rho in zip(values["orders"][cell], values["rho"], strict=True):
            total = 0.0
            for m in range(order + 1):
                for chosen in combinations_with_replacement(range(len(v)), m):
                    total += values["coefficients"][at] * math.prod(w[j] for j in chosen)
                    at += 1
            out.append(math.exp(-values["gamma"] * s) * total - rho)
        return out
    begin = sum(values["sizes"][:cell])
    end = begin + values["sizes"][cell]
    gamma = values["gamma"][cell]
    kernels, distances = [], []
    for u in values["vectors"][begin:end]:
        dot = sum(a * b for a, b in zip(v, u, strict=True))
        squared = sum((a - b) ** 2 for a, b in zip(v, u, strict=True)) + sum(a * a for a in others)
        apart = sum(abs(a - b) for a, b in zip(v, u, strict=True)) + sum(map(abs, others))
        inner = gamma * dot + values["coef0"]
        distances.append(math.sqrt(squared))
        kernels.append(
            {
                "rbf": lambda s=squared: math.exp(-gamma * s),
                "laplacian": lambda s=apart: math.exp(-gamma * s),
                "linear": lambda s=dot: s,
                "polynomial": lambda s=inner: s ** values["degree"],
                "sigmoid": lambda s=inner: math.tanh(s),
            }[values["kernel"]]()
        )
    out = [-rho for rho in values["rho"][cell]]
    if values["class_sizes"] is None:
        for f in range(p):
            out[f] += sum(c * k for c, k in zip(values["coefficients"][f][begin:end], kernels, strict=True))
    else:
        sizes = values["class_sizes"][cell]
        owner = [c for c, size in enumerate(sizes) for _ in range(size)]
        pairs = [(i, j) for i in range(len(sizes)) for j in range(i + 1, len(sizes))]
        for n, (c, k) in enumerate(zip(owner, kernels, strict=True)):
            for f, (i, j) in enumerate(pairs):
                if c in (i, j):
                    out[f] += values["coefficients"][j - 1 if c == i else i][begin + n] * k
    pseudo = values["pseudo_landmarks"]
    if pseudo is not None:
        start = sum(pseudo["sizes"][:cell])
        place = sum(a * b for a, b in zip(pseudo["sizes"][:cell], values["sizes"][:cell], strict=True))
        m = end - begin
        for q in range(start, start + pseudo["sizes"][cell]):
            if pseudo["kind"] == "poly":
                a, b = pseudo["pairs"][q]
                extra = kernels[a] * kernels[b]
            else:
                theirs = pseudo["distances"][place + (q - start) * m : place + (q - start + 1) * m]
                extra = math.exp(
                    -gamma * max(abs(a - b) for a, b in zip(distances, theirs, strict=True)) ** 2
                )
            for f in range(p):
                out[f] += pseudo["coefficients"][f][q] * extra
    return out


def label(rule: dict[str, Any], out: list[float]) -> Any:
    labels = rule["labels"]
    if rule["rule"] == "value":
        return out[0]
    if rule["rule"] == "sign":
        return labels[0] if out[0] > 0 else labels[1]
    if rule["rule"] == "largest":
        return labels[out.index(max(out))]
    votes, pairs = [0] * len(labels), iter(out)
    for i in range(len(labels)):
        for j in range(i + 1, len(labels)):
            votes[i if next(pairs) > 0 else j] += 1
    return labels[votes.index(max(votes))]

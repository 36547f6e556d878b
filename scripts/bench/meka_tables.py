"""The results of meka.py as Markdown, and its figure."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import numpy as np
from figures import save, svg_pyplot
from pages import _table

Record = dict[str, Any]
NAMES = {
    "nystrom": "Nystrom",
    "randomized-nystrom": "Nystrom, randomized SVD",
    "kmeans-nystrom": "Nystrom, k-means",
    "ensemble-nystrom": "Nystrom, ensemble",
    "random-fourier": "random Fourier features",
    "fastfood": "Fastfood",
}
MIB = 2**20


def markdown(results: dict[str, Any]) -> str:
    """Return the tables of all parts that were made."""
    out: list[str] = []
    where: dict[str, list[str]] = {}
    for part, (title, make) in TABLES.items():
        if part in results:
            out += [f"### {title}", "", *make(results[part]), ""]
            where.setdefault(results.get("machines", {}).get(part, ""), []).append(part)
    out += [f"Measured ({', '.join(parts)}) on {name}.\n" for name, parts in where.items() if name]
    return "\n".join(out)


def _text(*lines: str) -> list[str]:
    return textwrap.wrap(" ".join(lines), 110, break_long_words=False, break_on_hyphens=False)


def _error(found: Record) -> list[str]:
    rows = [["", "rank", "error", "the paper's", "build", "MiB"]]
    for data, entry in found.items():
        meka = entry["meka"]
        title = f"**{data}**, {meka['rows']:,} rows, gamma {meka['gamma']:g}, {meka['clusters']} clusters"
        rows.append([title, "", "", "", "", ""])
        paper = entry["paper"]
        rows.append(_error_line("MEKA", max(meka["ranks"]), meka, paper["meka"]))
        rows += [_error_line(NAMES[b["name"]], b["rank"], b, None) for b in meka["baselines"]]
        rows += [_error_line(NAMES[b["name"]], b["rank"], b, paper[b["name"]]) for b in entry["same_rank"]]
    return [
        *_text(
            "`||G - Gt||_F / ||G||_F` on 20,000 sampled rows (all, if there are fewer). Baselines at",
            "MEKA's memory,",
            "and below them at MEKA's own rank k, which is what the paper's table 7 shows.",
        ),
        "",
        *_table(*rows),
    ]


def _error_line(name: str, rank: int, entry: Record, paper: float | None) -> list[str]:
    return [
        name,
        str(rank) if rank else "",
        f"{entry['relative_error']:.4f}",
        "" if paper is None else f"{paper:.4f}",
        f"{entry['seconds']:.2f} s",
        f"{entry['bytes'] / MIB:.1f}",
    ]


def _sweep(points: list[Record]) -> list[str]:
    worse = [p for p in points if p["meka"] > 1.01 * p["block_diagonal"]]
    whole = [p for p in points if p["meka"] > 1.01 * p["exact_blocks"]]
    nystrom = [p for p in points if p["meka"] > 1.01 * min(p["nystrom"], p["kmeans-nystrom"])]
    total = len(points)
    small = max((p["meka"] for p in nystrom), default=0.0)
    middle = float(np.median([p["meka"] for p in nystrom])) if nystrom else 0.0
    return [
        "![error against gamma](figures/meka_sweep.svg)",
        "",
        *_text(
            "3,000 rows of each data set, 5 clusters, rank 64; gamma from 2^-6 to 2^6 (the paper's",
            "figure 1c,",
            f"for three data sets and three scalings, {total} points).",
        ),
        "",
        *_table(
            ["worse by more than 1 % than", "points"],
            ["low-rank blocks without links, same rank", f"{len(worse)} of {total}"],
            ["Nystrom and k-means Nystrom, same memory", f"{len(nystrom)} of {total}"],
            ["exact blocks of the same clusters, more memory", f"{len(whole)} of {total}"],
        ),
        "",
        *_text(
            "For a large gamma the kernel decays so fast that exact blocks (`--block-only`, perhaps of more",
            "clusters) are closer. Where Nystrom is closer,",
            f"gamma is small, the whole matrix is of low rank, and MEKA's error is at most {small:.4f}",
            f"(median {middle:.4f}).",
        ),
    ]


def _ridge(found: Record) -> list[str]:
    names = list(next(iter(found.values()))["methods"])
    rows = [["test RMSE, 5 splits", *(f"{d} (rank {e['rank']})" for d, e in found.items())]]
    best = {d: min(e["methods"].items(), key=lambda m: m[1]["rmse"])[0] for d, e in found.items()}
    for m in names:
        line = ["MEKA" if m == "meka" else NAMES[m]]
        for d, e in found.items():
            text = f"{e['methods'][m]['rmse']:.4f} ± {e['methods'][m]['spread']:.4f}"
            line.append(f"**{text}**" if best[d] == m else text)
        rows.append(line)
    rows.append(["rank of the baselines", *(str(e["equal_memory_rank"]) for e in found.values())])
    rows.append(
        ["standard deviation of the targets", *(f"{e['standard_deviation']:.3f}" for e in found.values())]
    )
    lines = [
        *_text(
            "4/5 of the rows train, 1/5 test; gamma (2^-4 to 2^2) and lambda (2^-10 to 1) of each",
            "method by 3-fold",
            "cross validation on the first split. 5 clusters.",
        ),
        "",
        *_table(*rows),
        "",
    ]
    for data, entry in found.items():
        other = min((m for m in names if m != "meka"), key=lambda m: entry["methods"][m]["rmse"])
        a, b = entry["methods"]["meka"], entry["methods"][other]
        ratio = 100 * (a["rmse"] / b["rmse"] - 1)
        text = f"- {data}: MEKA {ratio:+.2f} % against the best other ({NAMES[other]})"
        if "splits" in a:
            gaps = np.array(a["splits"]) - np.array(b["splits"])
            lower = int(np.count_nonzero(gaps < 0))
            text += (
                f"; lower in {lower} of {len(gaps)} splits, mean gap {gaps.mean():+.4f} ± {gaps.std():.4f}"
            )
        lines.append(text + ".")
    return lines


def _bka(found: Record) -> list[str]:
    rows = [["ijcnn1, C 32, gamma 2", "accuracy, %", "time"]]
    rows += [
        [f"64 local models, seed {r['seed']}", f"{r['accuracy']:.3f}", f"{r['seconds']:.1f} s"]
        for r in found["runs"]
    ]
    whole, paper = found["train"], found["paper"]
    rows.append(
        ["`svmfast train`, LIBSVM on all rows", f"{whole['accuracy']:.3f}", f"{whole['seconds']:.1f} s"]
    )
    return [
        *_table(*rows),
        "",
        "The first run also loads the libraries. "
        f"{found['faster']:.1f} times faster (median of the seeds; the paper: {paper['faster']} times, "
        f"{paper['bka']} % for {paper['libsvm']} %).",
    ]


def _svc(found: list[Record]) -> list[str]:
    rows = [["", "gamma", "C", "rank", "accuracy, %", "exact SVM, %", "choosing", "training", "counted cost"]]
    rows += [
        [
            s["data"].partition(".")[0],
            f"{s['gamma']:g}",
            f"{s['C']:g}",
            f"{s['clusters']} x {s['rank']}",
            f"{s['accuracy']:.2f}",
            f"{s['exact_svm']:.2f}",
            f"{s['choosing_seconds']:.0f} s",
            f"{s['seconds']:.0f} s",
            f"{s['counted_cost']:.0f}",
        ]
        for s in found
    ]
    return [
        *_text(
            "gamma and C by 3-fold cross validation on 6,000 training rows, then one model of all. Cost:",
            "multiply-adds of a prediction over those of a linear model.",
        ),
        "",
        *_table(*rows),
    ]


def _speed(found: list[Record]) -> list[str]:
    rows = [["", "rows", "build", "process", "peak", "error"]]
    for s in found:
        rows.append(
            [
                s["data"].split()[0],
                f"{s['rows']:,}",
                f"{s['seconds']:.2f} s",
                f"{s['process_seconds']:.1f} s",
                f"{s['peak_bytes'] / MIB:.0f} MiB",
                f"{s['error']:.4f}",
            ]
        )
    skin = [s for s in found if s["data"].startswith("skin")]
    n = np.log([s["rows"] for s in skin])
    total = np.polyfit(n, np.log([s["seconds"] for s in skin]), 1)[0]
    return [
        *_text(
            "`svmfast meka DATA --task error --sample 2000`, each in its own process. ijcnn1:",
            "rank 128, 10",
            "clusters; covtype: 256, 15; skin: 64, 10.",
        ),
        "",
        *_table(*rows),
        "",
        *_text(
            f"From {skin[0]['rows']:,} to {skin[-1]['rows']:,} rows of skin the build grows as",
            f"n^{total:.2f}.",
        ),
    ]


TABLES = {
    "error": ("Kernel error", _error),
    "sweep": ("Any gamma, any scaling", _sweep),
    "ridge": ("Ridge regression", _ridge),
    "bka": ("One LIBSVM model per cluster (BKA-SVM)", _bka),
    "svc": ("Classification on the approximation", _svc),
    "speed": ("Time and memory", _speed),
}


def draw(sweep: list[Record], path: Path) -> None:
    """The paper's figure 1c, for every data set and scaling."""
    pyplot = svg_pyplot("meka")
    lines = {
        "meka": "MEKA",
        "block_diagonal": "  without links",
        "nystrom": "Nystrom, same memory",
        "kmeans-nystrom": "k-means Nystrom, same memory",
    }
    data, scalings = ("pendigits", "ijcnn1", "covtype"), ("[0,1]", "[-1,1]", "standard")
    figure, axes = pyplot.subplots(3, 3, figsize=(12, 10), sharex=True, sharey=True)
    for i, name in enumerate(data):
        for j, how in enumerate(scalings):
            points = sorted(
                (p for p in sweep if p["data"] == name and p["scaling"] == how),
                key=lambda p: int(p["log2_gamma"]),
            )
            for method, label in lines.items():
                axes[i][j].plot(
                    [p["log2_gamma"] for p in points],
                    [p[method] for p in points],
                    marker="o" if method == "meka" else "",
                    linestyle=":" if method == "block_diagonal" else "-",
                    linewidth=2 if method == "meka" else 1,
                    label=label,
                )
            axes[i][j].set_title(f"{name} {how}")
            axes[i][j].set_yscale("log")
            axes[i][j].set_ylim(1e-6, 2)
    axes[0][0].legend(fontsize=8)
    figure.supxlabel("log2 gamma")
    figure.supylabel("relative error")
    figure.tight_layout()
    save(figure, path)

"""The results of dcpred.py as a section of a page, and figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from figures import save, svg_pyplot


def table(results: dict[str, Any]) -> list[str]:
    """Accuracy and cost of the entries of table 1, with the baselines below ours."""
    out = ["### Accuracy at a cost (the paper's table 1)", ""]
    out += [
        "| data | method | accuracy, % | counted cost | wall cost | us per row (1 thread) | training, s |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, entry in results.items():
        ours = entry["ours"]
        shape = " ".join(f"--{key} {value}" for key, value in ours["settings"].items())
        out.append(
            f"| {name} | **dcpred** `{shape} -g {ours['gamma']:.8g} -c {ours['C']:g}` "
            f"| **{ours['accuracy']:.2f}** | {ours['counted']:.1f}x | {ours['wall']:.1f}x "
            f"| {ours['microseconds_one_thread']:.3f} | {ours['seconds']:.1f} |"
        )
        for base in entry["baselines"]:
            out.append(
                f"| | {base['method']}, {base['features']} features, linear SVM | {base['accuracy']:.2f} | "
                f"{base['counted']:.1f}x | | | {base['seconds']:.1f} |"
            )
        if entry["exact"]:
            exact = entry["exact"]
            out.append(
                f"| | exact SVM, {exact['vectors']:,} vectors, all threads | {exact['accuracy']:.2f} | "
                f"| | {exact['microseconds']:.1f} | |"
            )
        for method, (cost, accuracy) in entry["paper"].items():
            out.append(f"| | {method}, the paper's own | {accuracy:.2f} | | {cost:g}x | | |")
    return [*out, ""]


def curves(results: dict[str, Any]) -> list[str]:
    """The contribution of each part, at each size."""
    out = [
        "### The contribution of each part (the paper's figure 2)",
        "",
        "![Accuracy against cost](figures/dcpred_curves.svg)",
        "",
    ]
    for name, points in results.items():
        variants = list(dict.fromkeys(p["variant"] for p in points))
        sizes = list(dict.fromkeys(p["landmarks"] for p in points))
        out += [
            f"{name}: accuracy, % (counted cost), by landmarks of a leaf. Pseudo landmarks: two for each.",
            "",
            "| | " + " | ".join(f"{m}" for m in sizes) + " |",
            "| --- |" + " ---: |" * len(sizes),
        ]
        for variant in variants:
            row = {p["landmarks"]: p for p in points if p["variant"] == variant}
            cells = [
                f"{row[m]['accuracy']:.2f} ({row[m]['counted']:.1f}x)" if m in row else "" for m in sizes
            ]
            out.append(f"| {variant} | " + " | ".join(cells) + " |")
        out.append("")
    return out


def ridge(results: dict[str, Any]) -> list[str]:
    """RMSE against cost."""
    out = [
        "### Ridge regression (the paper's figure 3)",
        "",
        "![RMSE against cost](figures/dcpred_ridge.svg)",
        "",
    ]
    for name, entry in results.items():
        points = entry["points"]
        variants = list(dict.fromkeys(p["variant"] for p in points))
        out += [
            f"{name}: test RMSE (counted cost); the values' standard deviation is "
            f"{entry['standard_deviation']:.4g}. Baselines have no clusters.",
            "",
            "| | smallest | | | largest |",
            "| --- | ---: | ---: | ---: | ---: |",
        ]
        for variant in variants:
            row = [p for p in points if p["variant"] == variant]
            out.append(
                f"| {variant} | " + " | ".join(f"{p['rmse']:.4g} ({p['counted']:.0f}x)" for p in row) + " |"
            )
        out.append("")
    return out


def convert(results: dict[str, Any]) -> list[str]:
    """Conversions of exact models."""
    out = [
        "### Conversion, `--from EXACT`",
        "",
        "Unlabelled training rows; `svmfast compare` on test rows. Held out: a tenth of the rows; the exact "
        "models were trained on them too, so unseen rows agree less.",
        "",
        "| exact model | fitted | labels differing | accuracy, % (exact) | speed-up | counted "
        "| bytes (exact) | held out: agreement, 99 % of differences | seconds |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, entry in results.items():
        for fit, e in entry["fits"].items():
            shape = ", ".join(f"{key} {value}" for key, value in entry["shape"].items())
            held = f"{e['held_out']['label_agreement']:.2%}"
            if e["held_out"].get("abs_error_99") is not None:
                held += f", {e['held_out']['abs_error_99']:.3g}"
            share = e["labels_differing"] / e["rows"]
            out.append(
                f"| {name}, {entry['vectors']:,} vectors; {shape} | {fit} "
                f"| {e['labels_differing']:,} of {e['rows']:,} ({share:.2%}) "
                f"| {e['accuracy']:.2f} ({e['exact_accuracy']:.2f}) | {e['speedup']:.0f}x "
                f"| {e['counted']:.1f}x | {e['bytes']:,} ({e['exact_bytes']:,}) | {held} "
                f"| {e['seconds']:.1f} |"
            )
    return [*out, ""]


def timed(results: dict[str, Any]) -> dict[str, Any]:
    """Return the table's entries with the times that the part cost measured."""
    out = {}
    for name, entry in results["table"].items():
        again = results.get("cost", {}).get(name, {})
        out[name] = {**entry, "ours": {**entry["ours"], **again}}
    return out


SECTIONS = {"table": table, "curves": curves, "ridge": ridge, "convert": convert}


def page(results: dict[str, Any]) -> str:
    """Return the tables, with the machine and the command."""
    machine = results["machine"]
    out = [
        f"Measured on {machine['processor']}, {machine['threads']} threads, {machine['date']}, "
        f"load average {machine['load']}:",
        "",
        "    python scripts/bench/dcpred.py FOLDER table cost curves ridge convert \\",
        "        --page docs/papers.md --json scripts/bench/results/dcpred.json --figures docs/figures",
        "",
        *(
            line
            for name, make in SECTIONS.items()
            if name in results
            for line in make(timed(results) if name == "table" else results[name])
        ),
    ]
    return "\n".join(out).rstrip() + "\n"


def draw(results: dict[str, Any], folder: Path) -> None:
    """The paper's figures 2 and 3."""
    pyplot = svg_pyplot("dcpred")
    folder.mkdir(parents=True, exist_ok=True)
    wanted = (
        ("curves", "accuracy", "accuracy, %", lambda entry: entry),
        ("ridge", "rmse", "test RMSE", lambda entry: entry["points"]),
    )
    for part, key, label, points_of in wanted:
        if part not in results:
            continue
        figure, axes = pyplot.subplots(
            1, len(results[part]), figsize=(5 * len(results[part]), 4), squeeze=False
        )
        for axis, (name, entry) in zip(axes[0], results[part].items(), strict=True):
            points = points_of(entry)
            for variant in dict.fromkeys(p["variant"] for p in points):
                row = sorted((p["counted"], p[key]) for p in points if p["variant"] == variant)
                axis.plot([c for c, _ in row], [v for _, v in row], marker=".", label=variant)
            if part == "curves":
                axis.set_ylim(max(70, min(p[key] for p in points)), 100)
            axis.set_title(name)
            axis.set_xlabel("counted cost, times a linear model")
        axes[0][0].set_ylabel(label)
        axes[0][-1].legend(fontsize="small")
        figure.tight_layout()
        save(figure, folder / f"dcpred_{part}.svg")
        pyplot.close(figure)

"""The README's chart and table: seconds to score a test set, and labels that change, on three models.

    python scripts/bench/readme.py --data DIR --models DIR [--repeats 3]

svm-predict and svmfast are timed as whole processes, reading and start-up included; scikit-learn and
scikit-learn-intelex by their predict call alone, with rows and model in memory, which is in their favour.
All run in turn. They fit the model's training rows with its options. Labels are compared with svm-predict's,
row by row. Results go to scripts/bench/results/readme.json, the chart to docs/figures/speed.svg, the table
and the gain that the first paragraph states into README.md. With --draw these are made of the last results.
"""

import json
import math
import re
import statistics
import tempfile
from html import escape
from pathlib import Path

import numpy as np
from harness import PROGRAM, ROOT, Bench, in_turn, machine, options, peers, place, process, put_into, timed

from svmfast.formats.model_files import load_model

RESULTS = ROOT / "scripts/bench/results/readme.json"
CHART = ROOT / "docs/figures/speed.svg"
#: Programs in the order of the chart; the last three are ours.
WAYS = ("svm-predict", "scikit-learn", "scikit-learn-intelex",
        "svmfast, exact", "svmfast, certified", "svmfast, compressed")  # fmt: skip
#: Options of approximate and of compress for each model; None: not made.
WORK = {
    "a9a_g0.01": ("--order 2", "--ratio 2%"),
    "ijcnn1_c250": ("--order 3", "--ratio 4%"),
    "letter_c16_g2": (None, "--ratio 20%"),
}


def measured(bench, name):
    """Return the seconds and the number of changed labels of every program."""
    model, train, test = bench.model(name), bench.train(name), bench.test(name)
    fast, small = bench.folder / f"{name}.fast", bench.folder / f"{name}.small"
    certified, compressed = WORK[name]
    bench.svmfast("compress", model, *compressed.split(), "--data", train, "-o", small)
    predict = [PROGRAM, "predict", "-j", bench.threads]
    commands = {
        "svm-predict": [bench.tool(), test, model],
        "svmfast, exact": [*predict, test, model],
        "svmfast, compressed": [*predict, test, small],
    }
    if certified is not None:
        bench.svmfast("approximate", model, *certified.split(), "--data", train, "-o", fast)
        commands["svmfast, certified"] = [*predict, "--exact", model, test, fast]
    outputs = {way: bench.folder / f"{way}.out" for way in commands}
    calls = peers(bench, name, bench.read(test)[0])
    actions = {way: process(*words, outputs[way]) for way, words in commands.items()}
    actions |= {way: timed(call) for way, call in calls.items()}
    taken = in_turn({way: actions[way] for way in WAYS if way in actions}, bench.repeats)
    labels = {way: np.loadtxt(path) for way, path in outputs.items()}
    labels |= {way: np.asarray(call(), np.float64) for way, call in calls.items()}
    own = labels["svm-predict"]
    ways = {}
    for way, seconds in taken.items():
        changed = int((labels[way] != own).sum())
        ways[way] = {"seconds": np.round(seconds, 6).tolist(), "labels_changed": changed}
    vectors = len(load_model(model).sv)
    return {"model": name, "rows": len(own), "support_vectors": vectors, "ways": ways}


def shown(seconds):
    return f"{seconds:.2f} s" if seconds < 1 else f"{seconds:.3g} s"


def table(records):
    heads = [f"{one['model']}: {one['rows']:,} rows, {one['support_vectors']:,} SVs" for one in records]
    out = ["| | " + " | ".join(heads) + " |", "| --- |" + " --- |" * len(heads)]
    for way in WAYS:
        cells = [_cell(one, way) if way in one["ways"] else "-" for one in records]
        out.append(f"| {way} | " + " | ".join(cells) + " |")
    return out


def _cell(record, way):
    taken, changed = record["ways"][way]["median"], record["ways"][way]["labels_changed"]
    gain = "" if way == "svm-predict" else f" ({record['ways']['svm-predict']['median'] / taken:.3g}x)"
    return f"{shown(taken)}{gain}, {changed:,} changed"


def claim(records):
    """Return the README's first paragraph: the least and the greatest gain of ways that change no label."""
    gains = []
    for one in records:
        ours = [known for way, known in one["ways"].items() if "svmfast" in way]
        fastest = min(known["median"] for known in ours if not known["labels_changed"])
        gains.append(math.floor(one["ways"]["svm-predict"]["median"] / fastest))
    return [
        "RBF-kernel SVMs predict slowly, since every row is compared with every support vector. **svmfast",
        "scores with an existing LIBSVM or scikit-learn model:",
        f"three public ones {min(gains)} to {max(gains)} times as fast as svm-predict,",
        "with every label unchanged** (whole processes, measured below). Where a certificate covers a row,",
        "its label is proven to be the exact model's; other rows go to that model.",
    ]


_STYLE = """
text { font: 14px system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif; fill: #1a1c20; }
.head { font-weight: 600; font-size: 15px; } .soft { fill: #5a606b; }
.other { fill: #9aa1ab; } .ours { fill: #0b57d0; } .small { fill: #d55e00; }
@media (prefers-color-scheme: dark) {
  text { fill: #e8eaed; } .soft { fill: #a9b0bb; } .other { fill: #737b87; }
  .ours { fill: #8ab4f8; } .small { fill: #f0a060; } }
"""


def chart(records):
    """Return the bars: a group for each model, each on its own scale."""
    left, room, y, out = 190, 420, 34, []
    for one in records:
        words = f"{one['model']}: {one['rows']:,} rows, {one['support_vectors']:,} support vectors"
        out.append(f'<text class="head" x="8" y="{y}">{escape(words)}</text>')
        y += 12
        longest = max(way["median"] for way in one["ways"].values())
        for name, way in one["ways"].items():
            changed, width = way["labels_changed"], max(2.0, room * way["median"] / longest)
            kind = "other" if "svmfast" not in name else "small" if changed else "ours"
            out.append(f'<text x="{left - 10}" y="{y + 16}" text-anchor="end">{escape(name)}</text>')
            box = f'x="{left}" y="{y + 3}" width="{width:.1f}" height="17"'
            out.append(f'<rect class="{kind}" {box} rx="2"/>')
            share = f"{changed:,} labels changed ({100 * changed / one['rows']:.2g}%)"
            note = f'<tspan class="soft">, {share if changed else "no label changed"}</tspan>'
            out.append(f'<text x="{left + width + 8:.1f}" y="{y + 16}">{shown(way["median"])}{note}</text>')
            y += 24
        y += 34
    title = "Seconds to score a test set, and how many labels change"
    box = f'viewBox="0 0 900 {y - 20}" role="img" aria-label="{title}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {box}>'
    return "\n".join([head, f"<title>{title}</title>", f"<style>{_STYLE}</style>", *out, "</svg>"]) + "\n"


def main():
    parser = options(__doc__)
    parser.add_argument("--draw", action="store_true", help="only draw again what was measured")
    asked = parser.parse_args()
    if not asked.draw and not (asked.data and asked.models):
        parser.error("give --data and --models, or --draw")
    if not asked.draw:
        with tempfile.TemporaryDirectory() as name:
            records = [measured(Bench(asked, Path(name)), model) for model in WORK]
        found = {"machine": machine(asked.threads, asked.svm_predict), "records": records}
        # One line for each program.
        text = re.sub(r"\{[^{}]*\}", lambda m: " ".join(m[0].split()), json.dumps(found, indent=1))
        RESULTS.write_text(text + "\n")
    found = json.loads(RESULTS.read_text())
    for one in found["records"]:
        for way in one["ways"].values():
            way["median"] = statistics.median(way["seconds"])
    CHART.write_text(chart(found["records"]))
    versions = ("svm-predict", "scikit-learn", "scikit-learn-intelex")
    where = f"Measured on {place(found['machine'], versions)}; medians, in turn."
    put_into(ROOT / "README.md", [*table(found["records"]), "", where], "speed")
    put_into(ROOT / "README.md", claim(found["records"]), "claim")


if __name__ == "__main__":
    main()

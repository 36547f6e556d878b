"""Whether what ``svmfast frontier`` recommends is what a careful user would choose.

    python scripts/bench/recommendations.py --data DIR [--models DIR] [--sets a,b] [--seeds N] [--seconds S]
                                            [--limits default,32k,0%] [--again N] [--busy N] [--work DIR]

DIR holds LIBSVM data sets under their usual names, plain or as .xz. A model that is not in --models is
trained on some of the rows with svm-train. For each seed, half of the rows that the model was not trained on
are given to frontier as TEST; the others are kept apart, and show whether the recommended model is within its
limit. Afterwards, with nothing else running, the models that meet all requirements are timed on these rows,
each against the exact one. --again repeats the first limit of so many seeds in an empty folder, to show
whether two runs of one command recommend models of the same quality. --busy starts so many busy processes
during frontier.
"""

from __future__ import annotations

import argparse
import json
import random
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from harness import PROGRAM, plain_file

from svmfast.evaluation.timing import race
from svmfast.formats.model_files import load_model
from svmfast.formats.svmlight import Dataset, read_svmlight
from svmfast.models.answer import answer
from svmfast.models.base import Model
from svmfast.rows import FloatArray

#: Rows kept apart that are timed and compared.
MOST_APART = 20_000
#: Fewer rows are repeated for timing.
LEAST_TIMED = 20_000


@dataclass(frozen=True)
class Pair:
    """A data set and its model.

    `model` was trained on the first file; without it, `rows` rows train one with `options` of svm-train.
    `rare` is a label, and the share of the rows to which its rows are reduced.
    """

    name: str
    files: tuple[str, ...]
    options: str = ""
    rows: int = 5000
    model: str | None = None
    rare: tuple[str, float] | None = None


@dataclass(frozen=True, eq=False)
class Split:
    """A model and rows, divided with a seed: those kept `apart`, and the exact model's labels of them.

    `folder` has frontier's models and reports, for all limits.
    """

    name: str
    seed: int
    model: Path
    train: Path
    test: Path
    folder: Path
    exact: Model
    apart: Dataset
    theirs: FloatArray


PAIRS = [
    Pair("ijcnn1", ("ijcnn1", "ijcnn1.t"), "-c 32 -g 2", 15_000, "ijcnn1_c32_g2.model"),
    Pair("w8a", ("w8a.s80", "w8a.s20"), "-c 8 -g 0.05", 8000),
    Pair("page-blocks", ("page-blocks_scale.s80", "page-blocks_scale.s20"), "-c 100 -g 1", 1500),
    Pair("satimage", ("satimage.scale", "satimage.scale.t"), "-c 8 -g 0.5", 2500),
    Pair("letter", ("letter.scale", "letter.scale.t"), "-c 16 -g 2", 6000),
    Pair("usps", ("usps", "usps.t"), "-c 10 -g 0.0078", 3000),
    Pair("cadata", ("cadata_scale.s80", "cadata_scale.s20"), "-s 3 -c 1 -g 1 -p 0.05", 4000),
    Pair("covtype", ("covtype20k.scale01.s80", "covtype20k.scale01.s20"), "-c 10 -g 2", 6000),
    Pair("magic04-rare", ("magic04_scale.s80", "magic04_scale.s20"), "-c 10 -g 1", 5000, rare=("-1", 0.015)),
    Pair("skin-rare", ("skin_nonskin.s80", "skin_nonskin.s20"), "-c 10 -g 0.001", 8000, rare=("1", 0.01)),
    Pair("phishing-rare", ("phishing.s80", "phishing.s20"), "-c 10 -g 0.1", 3000, rare=("0", 0.018)),
    Pair("phishing", ("phishing.s80", "phishing.s20"), "-c 10 -g 0.1", 3000),
    Pair("magic04", ("magic04_scale.s80", "magic04_scale.s20"), "-c 10 -g 1", 5000),
]
LIMITS = {"default": (), "32k": ("--max-bytes", "32k"), "0%": ("--max-diff", "0%")}


def lines_of(pair: Pair, path: Path) -> list[str]:
    """Return the lines of a file, of the rare class only some."""
    lines = path.read_text().splitlines(keepends=True)
    if pair.rare is None:
        return lines
    label, share = pair.rare
    few = [line for line in lines if float(line.split(None, 1)[0]) == float(label)]
    others = [line for line in lines if float(line.split(None, 1)[0]) != float(label)]
    kept = random.Random(0).sample(few, min(len(few), round(share / (1 - share) * len(others))))
    return [*others, *kept]


def prepared(pair: Pair, data: Path, models: Path, work: Path) -> tuple[Path, Path, list[str]]:
    """Return the model, its training rows, and lines of rows that it was not trained on."""
    paths = [plain_file(data, name, work) for name in pair.files]
    if pair.model is not None and any((models / f"{pair.model}{end}").exists() for end in ("", ".xz")):
        return plain_file(models, pair.model, work), paths[0], lines_of(pair, paths[1])
    lines = [line for path in paths for line in lines_of(pair, path)]
    random.Random(1).shuffle(lines)
    train, model = work / f"{pair.name}.train", work / f"{pair.name}.model"
    train.write_text("".join(lines[: pair.rows]))
    if not model.exists():
        subprocess.run(["svm-train", "-q", *pair.options.split(), train, model], check=True, timeout=120)
    return model, train, lines[pair.rows :]


@contextmanager
def busy(n: int) -> Iterator[None]:
    """Keep n processes busy."""
    started = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(n)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def qualifies(point: dict[str, Any], rows: str, limits: dict[str, Any]) -> bool:
    """Return whether a model's report shows, on these rows, that it is within the limits."""
    figures = point[rows]
    for name, limit in (
        (("labels_differing_percent", "values_differing_percent"), limits["max_diff_percent"]),
        (("accuracy_lost_percent", "mse_increase_percent"), limits["max_loss_percent"]),
    ):
        end = next((figures[f"{n}_interval"][1] for n in name if f"{n}_interval" in figures), None)
        if limit is not None and (end is None or end > limit):
            return False
    fits = limits["max_bytes"] is None or point["bytes"] <= limits["max_bytes"]
    return fits and point["skilled"] and not point["lost_classes"]


def is_faster(point: dict[str, Any]) -> bool:
    """Whether a model is faster than the exact one, as far as its samples tell: too few give no interval."""
    low, high = point["speedup_interval"]
    return bool(point["speedup"] >= 1.5 and (high is None or low > 1))


def by_the_rule(report: dict[str, Any]) -> str | None:
    """Apply the printed rule to the figures of a report, where the confirming rows refused nothing twice."""
    limits, exact = report["limits"], report["models"][0]
    beyond = limits["max_bytes"] is not None and exact["bytes"] > limits["max_bytes"]
    found = [p for p in report["models"][1:] if qualifies(p, "choosing", limits)]
    found = [p for p in found if beyond or is_faster(p)]
    sized = limits["max_diff_percent"] is None and limits["max_loss_percent"] is None
    refused = {one["name"] for one in report["refused"]}
    found = [p for p in found if p["name"] not in refused]
    if not found:
        return None
    fast = 0.9 * max(p["speedup"] for p in found)
    # Where timing did not decide, more models count as fast.
    perhaps = {*report["undecided"], *([report["recommended"]["name"]] if report["undecided"] else [])}

    def key(point: dict[str, Any]) -> tuple[float, float]:
        one = point["choosing"]
        return one.get("labels_differing_percent", one.get("values_differing_percent")), -point["speedup"]

    return str(
        min((p for p in found if sized or p["speedup"] >= fast or p["name"] in perhaps), key=key)["name"]
    )


def measured(report: dict[str, Any], at: Split) -> dict[str, Any]:
    """Return whether the limit holds on the rows kept apart, and the speed relative to the best model's."""
    best, limits = report["recommended"], report["limits"]
    data, exact, theirs, folder = at.apart, at.exact, at.theirs, at.folder
    good = [p for p in report["models"][1:] if qualifies(p, "choosing", limits)]
    good = [p for p in good if qualifies(p, "confirming", limits)]
    top = max([p["speedup"] for p in good], default=0.0)
    # As frontier does: with few rows the start of threads takes most of the time.
    timed = data.rows.take(np.resize(np.arange(len(data.rows)), max(len(data.rows), LEAST_TIMED)))
    calls: dict[str, Any] = {"exact": lambda: answer(exact, timed)}
    files: dict[str, Any] = {}
    for point in good:
        if point["speedup"] >= 0.6 * top or (best and point["name"] == best["name"]):
            path = folder / "models" / point["name"]
            if best and point["name"] == best["name"]:
                path = folder / "recommended"
            elif " + exact" in point["name"]:
                path = folder / "models" / point["name"].replace(" + ", "+")
                subprocess.run(point["command"].replace("svmfast", str(PROGRAM)), shell=True, check=True,
                               capture_output=True)  # fmt: skip
            files[point["name"]] = load_model(path)
            inside = getattr(files[point["name"]], "embedded_exact", None)
            calls[point["name"]] = lambda m=files[point["name"]], e=inside: answer(m, timed, exact=e)
    speeds = race(calls, limit_seconds=4.0)
    fastest = max((speed.ratio for name, speed in speeds.items() if name != "exact"), default=1.0)
    found: dict[str, Any] = {"fastest": fastest, "held": True, "figure": None, "speed": None, "of_best": None}
    if best is not None:
        labels = calls[best["name"]]().predicted[: len(data.rows)]
        if report["task"] == "regression":
            errors = [float(np.mean((values - data.labels) ** 2)) for values in (labels, theirs)]
            figure, limit = 100 * (errors[0] / errors[1] - 1), limits["max_loss_percent"]
        else:
            figure, limit = 100 * float(np.mean(labels != theirs)), limits["max_diff_percent"]
        found |= {"figure": figure, "held": limit is None or figure <= limit}
        ratio = speeds[best["name"]].ratio
        found |= {"speed": ratio, "stated": [best["speedup"], *best["speedup_interval"]]}
        found["clock"] = best["speedup_clock"]
        if limits["max_diff_percent"] is not None or limits["max_loss_percent"] is not None:
            found["of_best"] = ratio / fastest
    elif good:
        found["of_best"] = 1 / fastest if fastest >= 1.5 else 1.0
    return found


@contextmanager
def split(pair: Pair, seed: int, args: argparse.Namespace, work: Path) -> Iterator[Split]:
    """Divide the rows that the model was not trained on; the folder is removed at the end."""
    model, train, lines = prepared(pair, args.data, args.models, work)
    random.Random(seed).shuffle(lines)
    lines = lines[: 4 * MOST_APART]
    half = max(len(lines) // 2, len(lines) - MOST_APART)
    with tempfile.TemporaryDirectory(dir=work) as scratch:
        test, apart = Path(scratch) / "test", Path(scratch) / "apart"
        test.write_text("".join(lines[:half]))
        apart.write_text("".join(lines[half:]))
        rows = read_svmlight(apart)
        exact = load_model(model)
        theirs = answer(exact, rows.rows).predicted
        yield Split(pair.name, seed, model, train, test, Path(scratch) / "out", exact, rows, theirs)


def one_run(at: Split, limit: str, args: argparse.Namespace) -> dict[str, Any]:
    """Run frontier once, and measure what it recommends.

    All limits share a folder, so that later runs only make what earlier ones have not made.
    """
    words = ["frontier", at.model, "--data", at.train, "--test", at.test, "-o", at.folder]
    command = [PROGRAM, *words, "--seed", at.seed, "--time-limit", str(args.seconds), "-q", *LIMITS[limit]]
    with busy(args.busy):
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{shlex.join(map(str, command))}: {done.stderr}")
    report = json.loads((at.folder / "report.json").read_text())
    found = measured(report, at)
    name = report["recommended"] and report["recommended"]["name"]
    return {
        "set": at.name, "seed": at.seed, "limit": limit,
        "recommended": name, "by_the_rule": by_the_rule(report),
        "undecided": len(report["undecided"]), "refused": len(report["refused"]),
        "candidates": len(report["models"]) - 1, **found,
    }  # fmt: skip


def alike(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two runs recommend models within 15 % in speed and 0.1 points in differences."""
    if (one["speed"] is None) != (other["speed"] is None):
        return False
    if one["speed"] is None:
        return True
    speeds = sorted(run["speed"] for run in (one, other))
    return speeds[1] <= 1.15 * speeds[0] and abs(one["figure"] - other["figure"]) <= 0.1


def shown(run: dict[str, Any]) -> str:
    """Return a run as a line."""
    figure = "" if run["figure"] is None else f", {run['figure']:.3f}% on rows apart"
    speed = ""
    if run["speed"] is not None:
        ratio, *ends = run["stated"]
        between = " to ".join("-" if end is None else f"{end:.3g}" for end in ends)
        speed = f", {ratio:.3g}x stated ({between}, {run['clock']}), {run['speed']:.3g}x measured"
    share = "" if run["of_best"] is None else f", {run['of_best']:.2f} of the best ({run['fastest']:.3g}x)"
    rule = "" if run["recommended"] == run["by_the_rule"] else f", by the rule {run['by_the_rule']}"
    more = f", {run['refused']} refused, {run['undecided']} undecided of {run['candidates']}"
    if "again" in run:
        other = run["again"]
        more += f"; the second run: {other['recommended'] or 'exact'}"
        if other["speed"] is not None:
            more += (
                f", {other['figure']:.3f}%, {other['stated'][0]:.3g}x stated, {other['speed']:.3g}x measured"
            )
        more += "" if run["alike"] else ", NOT ALIKE"
    held = "" if run["held"] else " BEYOND THE LIMIT"
    name = run["recommended"] or "exact"
    return f"{run['set']} {run['seed']} {run['limit']}: {name}{figure}{held}{speed}{share}{rule}{more}"


def summary(runs: Sequence[dict[str, Any]]) -> list[str]:
    """Return the shares of the runs that a careful user would have wanted, as lines."""
    rated = [run["of_best"] for run in runs if run["of_best"] is not None]
    stated = [run["speed"] / run["stated"][0] for run in runs if run["speed"] is not None]

    def share(good: Sequence[bool]) -> str:
        return f"{sum(good)} of {len(good)} ({100 * sum(good) / max(1, len(good)):.0f}%)"

    return [
        f"within the limit on the rows kept apart: {share([run['held'] for run in runs])}",
        f"best by the printed rule: {share([run['recommended'] == run['by_the_rule'] for run in runs])}",
        f"at least 0.85 of the speed of the best qualifying model: {share([one >= 0.85 for one in rated])}",
        f"speed at least 1 / 1.5 of the stated one: {share([1.5 * one >= 1 for one in stated])}",
        f"two runs of one command agree: {share([run['alike'] for run in runs if 'again' in run])}",
    ]


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--models", type=Path, default=Path())
    parser.add_argument("--sets", default=",".join(pair.name for pair in PAIRS[:11]))
    parser.add_argument("--limits", default=",".join(LIMITS))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=120.0, help="frontier's time limit")
    parser.add_argument("--again", type=int, default=0)
    parser.add_argument("--busy", type=int, default=0)
    parser.add_argument("--work", type=Path, help="keeps unpacked files and trained models")
    args = parser.parse_args(argv)
    runs = []
    with tempfile.TemporaryDirectory() as scratch:
        work = args.work or Path(scratch)
        work.mkdir(exist_ok=True)
        for pair in [one for one in PAIRS if one.name in args.sets.split(",")]:
            for seed in range(args.seeds):
                with split(pair, seed, args, work) as at:
                    regression = at.exact.head.is_regression  # for which 0% is refused
                    limits = [one for one in args.limits.split(",") if not (regression and one == "0%")]
                    for limit in limits:
                        run = one_run(at, limit, args)
                        if seed < args.again and limit == limits[0]:
                            other = one_run(replace(at, folder=at.folder.with_name("again")), limit, args)
                            run |= {"again": other, "alike": alike(run, other)}
                        runs.append(run)
                        print(shown(run), flush=True)
    for line in summary(runs):
        print(line)


if __name__ == "__main__":
    main()

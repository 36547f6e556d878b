"""Measure svmfast against its peers: whole processes, the prediction step, parsing and start-up.

    python scripts/bench/speed.py                                    # on fixtures/
    python scripts/bench/speed.py --data DIR --models DIR            # on the large public sets (plain or .xz)
    python scripts/bench/speed.py ... --json raw.json --readme docs/benchmarks.md
    python scripts/bench/speed.py ... --against scripts/bench/results/bench.json [--tolerance 1.5]

Both sides of every comparison run in turn within one call; the tables show medians and, with every time,
how many labels differ from svm-predict's. `--readme` puts the tables between the markers ``<!-- bench -->``
and ``<!-- /bench -->``. `--against` compares with results of an earlier --json run and exits with 1 where a
gain over a peer of the same run fell by more than the tolerance: ratios within a run, since machines differ.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import peers
from measuring import PROGRAM, ROOT, Samples, in_turn, machine, plain_file, run, timed

from svmfast.formats.model_files import load_model
from svmfast.formats.svmlight import read_svmlight

SLOW = 10.0  # a call that takes longer is its own warm-up and is made once


@dataclass(frozen=True)
class Work:
    """A model, the rows it predicts, its training data and C."""

    model: str
    test: str
    train: str
    cost: float
    one_against_rest: int | None = None


SMALL = [
    Work("photos_c_rbf", "photos.test", "photos.train", 100),
    Work("odd_c_rbf", "odd.test", "odd.train", 10),
    Work("digits_c_rbf_prob", "digits.test", "digits.train", 10),
    Work("onehot_c_rbf", "onehot.test", "onehot.train", 5),
]
LARGE = [
    Work("a9a_g0.01", "a9a.t", "a9a", 1),
    Work("ijcnn1_c250", "ijcnn1.t", "ijcnn1", 250),
    Work("mnist1vr_c10_g1e-4", "mnist.scale.t", "mnist.scale", 10, one_against_rest=1),
    Work("usps_c10", "usps.t", "usps", 10),
    Work("letter_c16_g2", "letter.scale.t", "letter.scale", 16),
]


class Bench:
    """The measurements, one method each; each appends records to `results`."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.options, self.folder = options, folder
        self.results: dict[str, list[dict[str, Any]]] = {}

    def record(self, section: str, **values: Any) -> None:
        self.results.setdefault(section, []).append(values)
        print(f"{section}: {values}", file=sys.stderr)

    def file(self, where: Path, name: str, one_against_rest: int | None = None) -> Path:
        """Return a plain copy of a data set or model."""
        return plain_file(where, name, self.folder, one_against_rest)

    def whole_process(self, work: Work, model: Path, test: Path) -> Path | None:
        """svm-predict against svmfast predict, exact and approximated; return the approximated model."""
        options = self.options
        small = self.folder / f"{work.model}.approx.txt"
        try:
            run([PROGRAM, "approximate", model, "-o", small, "--force"])
        except RuntimeError as refusal:
            print(refusal, file=sys.stderr)
        outputs = {name: self.folder / f"{name}.out" for name in ("svm-predict", "exact", "approximate")}
        predict = [PROGRAM, "predict", "-q", "-j", options.threads, test]
        commands = {
            "svm-predict": [options.svm_predict, "-q", test, model, outputs["svm-predict"]],
            "exact": [*predict, model, outputs["exact"]],
        }
        if small.exists():
            commands["approximate"] = [*predict, small, outputs["approximate"]]
        cpu = Samples()  # with other work on the machine these are more reliable than the clock

        def action(name: str) -> float:
            finished = run(commands[name])
            cpu.add(name, finished.cpu)
            return finished.wall

        samples = in_turn({name: lambda name=name: action(name) for name in commands}, options.repeats)
        labels = {name: np.loadtxt(outputs[name]) for name in commands}
        loaded: Any = load_model(str(model))
        self.record(
            "whole process",
            model=work.model,
            rows=len(labels["exact"]),
            svs=len(loaded.sv),
            bytes_exact=model.stat().st_size,
            bytes_approximate=small.stat().st_size if small.exists() else None,
            differing={name: int((labels[name] != labels["svm-predict"]).sum()) for name in commands},
            identical_bytes=outputs["exact"].read_bytes() == outputs["svm-predict"].read_bytes(),
            seconds=samples.seconds,
            cpu_seconds=cpu.seconds,
        )
        return small if small.exists() else None

    def prediction_step(self, work: Work, model: Path, test: Path, train: Path, small: Path | None) -> None:
        """Rows in memory to labels in memory, against scikit-learn and scikit-learn-intelex."""
        exact: Any = load_model(str(model))
        rows = read_svmlight(test, threads=self.options.threads).rows

        def ours(loaded: Any, threads: int) -> peers.Predict:
            return lambda: loaded.head.predict(loaded.decision_values(rows, threads=threads))

        calls = {"exact": ours(exact, self.options.threads)}
        if small:
            approximate = load_model(str(small))
            calls["approximate, 1 thread"] = ours(approximate, 1)
        form = rows.density < 0.3
        calls["scikit-learn"] = peers.scikit_learn(exact, rows, form)

        def training() -> tuple[Any, np.ndarray]:
            data = read_svmlight(train, threads=self.options.threads)
            return data.rows, data.labels

        try:
            for sparse in (False, True):
                name = f"scikit-learn-intelex, {'CSR' if sparse else 'dense'}"
                calls[name] = peers.scikit_learn_intelex(exact, rows, sparse, training, work.cost)
        except ImportError:
            print("scikit-learn-intelex is not installed", file=sys.stderr)
        labels, first = {}, {}
        for name, call in calls.items():
            start = time.perf_counter()
            labels[name] = np.asarray(call(), dtype=np.float64)
            first[name] = time.perf_counter() - start
        quick = {name: timed(call) for name, call in calls.items() if first[name] < SLOW}
        samples = in_turn(quick, self.options.repeats)
        for name in calls.keys() - quick.keys():
            samples.add(name, first[name])
        self.record(
            "prediction step",
            model=work.model,
            rows=len(rows),
            svs=len(exact.sv),
            differing={name: int((labels[name] != labels["exact"]).sum()) for name in calls},
            seconds=samples.seconds,
        )

    def parsing(self, data: Path) -> None:
        """Text to arrays, against scikit-learn's reader."""
        from sklearn.datasets import load_svmlight_file

        readers: dict[str, Callable[[], Any]] = {
            "svmfast, 1 thread": lambda: read_svmlight(data, threads=1),
            f"svmfast, {self.options.threads} threads": lambda: read_svmlight(
                data, threads=self.options.threads
            ),
            "scikit-learn": lambda: load_svmlight_file(str(data), zero_based=False),
        }
        ours = read_svmlight(data)
        theirs, labels = load_svmlight_file(str(data), zero_based=False)
        difference = abs(ours.rows.to_scipy() - theirs).max() if theirs.nnz else 0.0
        samples = in_turn({name: timed(call) for name, call in readers.items()}, self.options.repeats)
        self.record(
            "parsing",
            data=data.name,
            bytes=data.stat().st_size,
            largest_difference=float(difference),
            labels_differing=int((ours.labels != labels).sum()),
            seconds=samples.seconds,
        )

    def start_up(self) -> None:
        """Start-up of programs that do nothing else."""
        commands = {
            "svmfast --version": [PROGRAM, "--version"],
            "svmfast --help": [PROGRAM, "--help"],
            'python -c "import numpy"': [sys.executable, "-c", "import numpy"],
        }
        actions = {name: lambda command=command: run(command).wall for name, command in commands.items()}
        samples = in_turn(actions, 2 * self.options.repeats + 1)
        self.record("start-up", seconds=samples.seconds)

    def busy_neighbour(self, work: Work, model: Path, test: Path) -> None:
        """Exact prediction while another process keeps one core busy."""
        command = [
            PROGRAM,
            "predict",
            "-q",
            "-j",
            self.options.threads,
            test,
            model,
            self.folder / "busy.out",
        ]

        def beside() -> float:
            other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            try:
                return run(command).wall
            finally:
                other.kill()
                other.wait()

        samples = in_turn({"alone": lambda: run(command).wall, "beside": beside}, self.options.repeats)
        self.record("busy neighbour", model=work.model, seconds=samples.seconds)

    def streaming(self, work: Work, model: Path, test: Path) -> None:
        """Peak memory while predicting many megabytes from a pipe."""
        text = test.read_bytes()
        copies = -(-self.options.stream_megabytes * 10**6 // len(text))
        feed = f"import sys\ntext = open(sys.argv[1], 'rb').read()\nfor _ in range({copies}):\n"
        feed += "    sys.stdout.buffer.write(text)\n"
        source = subprocess.Popen([sys.executable, "-c", feed, test], stdout=subprocess.PIPE)
        output = self.folder / "stream.out"
        finished = run(
            [PROGRAM, "predict", "-q", "-j", self.options.threads, "-", model, output], source.stdout
        )
        source.wait()
        with output.open("rb") as lines:
            written = sum(1 for _ in lines)
        rows = copies * text.count(b"\n")
        self.record(
            "streaming", model=work.model, bytes=copies * len(text), rows=rows, rows_written=written,
            peak_memory=finished.peak, seconds={"predict": [finished.wall]},
        )  # fmt: skip


def main() -> None:
    from pages import markdown, put_into
    from regressions import regressions

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with a9a.t, ijcnn1.t, ... (default: fixtures)")
    parser.add_argument("--models", type=Path, help="folder with a9a_g0.01.model, ...")
    parser.add_argument(
        "--only", action="append", metavar="MODEL", help="measure only this model (repeatable)"
    )
    parser.add_argument("--svm-predict", default="svm-predict", help="LIBSVM's program (default: on PATH)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--skip", action="append", default=[], metavar="SECTION", help="leave a section out")
    parser.add_argument("--stream-megabytes", type=int, default=0, help="also stream this much text (1000)")
    parser.add_argument("--busy", action="store_true", help="also measure next to a busy process")
    parser.add_argument("--json", type=Path, help="write every sample here")
    parser.add_argument("--against", type=Path, metavar="JSON", help="compare gains with these results")
    parser.add_argument("--tolerance", type=float, default=1.5, help="factor a gain may fall by")
    parser.add_argument("--readme", type=Path, help="replace the tables in this file")
    options = parser.parse_args()
    found = shutil.which(options.svm_predict)
    if found is None:
        parser.error(f"{options.svm_predict}: not found; install libsvm-tools or name it with --svm-predict")
    options.svm_predict = found
    if bool(options.data) != bool(options.models):
        parser.error("--data and --models need each other")
    data = options.data or ROOT / "fixtures/data"
    models = options.models or ROOT / "fixtures/models"
    works = [w for w in (LARGE if options.data else SMALL) if not options.only or w.model in options.only]
    with tempfile.TemporaryDirectory(prefix="svmfast-bench-") as name:
        bench = Bench(options, Path(name))
        if "start-up" not in options.skip:
            bench.start_up()
        for work in works:
            model = bench.file(models, f"{work.model}.model")
            test = bench.file(data, work.test, work.one_against_rest)
            small = bench.whole_process(work, model, test) if "whole process" not in options.skip else None
            if "prediction step" not in options.skip:
                train = bench.file(data, work.train, work.one_against_rest)
                bench.prediction_step(work, model, test, train, small)
            if options.busy:
                bench.busy_neighbour(work, model, test)
            if work.test in ("ijcnn1.t", "photos.test"):
                if "parsing" not in options.skip:
                    bench.parsing(test)
                if options.stream_megabytes:
                    bench.streaming(work, small or model, test)
        found_machine = machine(options.threads, options.svm_predict)
        if options.json:
            text = json.dumps({"machine": found_machine, "results": bench.results}, indent=1)
            options.json.write_text(text + "\n")
        tables = markdown(found_machine, bench.results)
        if options.readme:
            put_into(options.readme, tables)
        print(tables, end="")
        if options.against:
            lines, worse = regressions(
                bench.results, json.loads(options.against.read_text())["results"], options.tolerance
            )
            print("\n".join(lines))
            if worse:
                sys.exit(1)


if __name__ == "__main__":
    main()

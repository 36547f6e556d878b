"""Kill approximate, compress, budget-train and predict at random moments and check what is left.

    scripts/fuzz/faults [--kills 200] [--seed 0] [--scale 1]

Every run starts with or without an old output, and is ended by SIGKILL, SIGTERM, SIGINT or SIGHUP between
its start and a little after its end. Afterwards the output must be the old one or the whole new one, a
temporary file may be left by SIGKILL alone, and status and message must be right. Prints the counts; ends
with 1 if anything was wrong.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "support"))

from killing import SIGNALS, Tally, jobs, kill_once, measure
from program import heed_signals


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scale", type=int, default=1, help="times the work of a job")
    options = parser.parse_args()
    heed_signals()
    chance, tally = random.Random(options.seed), Tally()
    with tempfile.TemporaryDirectory(prefix="svmfast-faults-") as name:
        work = list(jobs(Path(name), options.scale).values())
        for job in work:
            measure(job, Path(name))
        for i in range(options.kills):
            number = SIGNALS[i // len(work) % len(SIGNALS)]
            kill_once(work[i % len(work)], Path(name), number, chance, tally)
    print(*tally.faults, sep="\n", end="\n" * bool(tally.faults))
    left = ", ".join(f"{what} {n}" for what, n in sorted(tally.left.items()))
    print(f"{tally.runs} kills, {len(tally.faults)} wrong; left: {left}")
    return 1 if tally.faults else 0


if __name__ == "__main__":
    sys.exit(main())

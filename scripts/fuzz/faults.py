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

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from killing import SIGNALS, Tally, jobs, kill_once, measure  # noqa: E402
from program import heed_signals  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scale", type=int, default=1, help="times the work of a job")
    options = parser.parse_args()
    heed_signals()
    chance, wrong = random.Random(options.seed), 0
    whole = Tally()
    with tempfile.TemporaryDirectory(prefix="svmfast-faults-") as name:
        folder = Path(name)
        work = jobs(folder, options.scale)
        for job in work.values():
            measure(job, folder)
        tallies = {command: Tally() for command in work}
        for i in range(options.kills):
            command = list(work)[i % len(work)]
            number = SIGNALS[i // len(work) % len(SIGNALS)]
            kill_once(work[command], folder, number, chance, tallies[command])
        for command, tally in tallies.items():
            print(
                f"{command}: {tally.runs} kills within {1.1 * work[command].seconds:.1f} s, "
                f"old output {tally.left['old']}, new output {tally.left['new']}, "
                f"temporary files left by SIGKILL {tally.left['litter of SIGKILL']}, "
                f"wrong {len(tally.faults)}"
            )
            whole.runs += tally.runs
            for fault in tally.faults:
                print(f"  {fault}")
            wrong += len(tally.faults)
    print(f"{whole.runs} kills, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

"""Show the power of the tests: change the code in many places and see whether a test notices.

Each mutant has one change: a term dropped, `<` for `<=`, an argument ignored, a constant changed. Changes
are drawn from all Python and C++ files, more often from those that compute (changes.py), or are listed in
telling.tsv. Only tests that reach the changed line run, quick ones near it first, until one fails. The
table on stdout has a line for each mutant: killed, with the test; survived, with the number of tests that
passed; or not reached by any test. C++ mutants that do not compile, or only to the same machine code, are
replaced by others.

    scripts/mutants --work /tmp/mutants >mutants.tsv                      # hours
    scripts/mutants --work /tmp/mutants --python 20 --cpp 0 --only svmfast/certificate.py
    scripts/mutants --list                                                # the mutants alone

The folder --work keeps copies of the repository, which itself does not change, and a record of one run of
the tests: the lines that each test reaches and its time, by coverage.py, which is installed there. Test
files that have changed are recorded again, and all of them if svmfast has. cpp_tests.tsv lists the tests
of each C++ file.

Existing tools do not fit: mutmut 3 leaves out decorated functions and all that is outside of functions,
cosmic-ray runs all tests for each mutant, and Mull expects tests in C++.
"""

import argparse
import os
import pickle
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from queue import Queue

from changes import all_changes, drawn, telling
from place import HERE, Place
from record import Record, content_hash

ROOT = HERE.parents[1]
#: Of C++ mutants that are replaced by others.
REPLACED = ("does not compile", "same code")


def mutants(root, seed, only):
    """The listed changes, and those of Python and of C++ in the order in which they are drawn."""
    listed = telling(HERE / "telling.tsv", root)
    found = [[one for one in all_changes(root, cpp=cpp) if only in (None, one.file)] for cpp in (False, True)]
    return [one for one in listed if only in (None, one.file)], drawn(found[0], seed), drawn(found[1], seed)


def row(change, *more):
    texts = (" ".join(text.split()) for text in (change.old, change.new))
    return "\t".join(map(str, (*more[:1], f"{change.file}:{change.line}", change.kind, *texts, *more[1:])))


def arguments():
    parser = argparse.ArgumentParser(
        prog="mutants", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    option = parser.add_argument
    option("--work", type=Path, metavar="FOLDER", help="where copies and the record are kept")
    option("--python", type=int, default=120, metavar="N", help="mutants drawn from Python files [120]")
    option("--cpp", type=int, default=40, metavar="N", help="mutants drawn from C++ files [40]")
    option("--seed", type=int, default=0, help="of the drawing [0]")
    option("--only", metavar="FILE", help="mutants of this file alone, such as svmfast/rows.py")
    option("--seconds", type=float, default=60.0, help="time for the tests of a mutant [60]")
    option("-j", type=int, default=1, dest="jobs", help="mutants at a time, each with its copy [1]")
    option("--list", action="store_true", help="print the mutants and end")
    found = parser.parse_args()
    if not found.list and found.work is None:
        parser.error("--work is needed")
    if not found.list and os.geteuid() == 0:
        parser.error("run it as an ordinary user: as root a changed program may overwrite even /dev/null")
    return found


def recorded(place, asked):
    """The record of the tests, read and brought up to date."""
    save = asked.work / "record.pickle"
    code = content_hash(*sorted((place.tree / "svmfast").rglob("*.py")))
    record = Record(code)
    if save.exists() and (kept := pickle.loads(save.read_bytes())).code == code:
        record = kept
    place.record(record, save, asked.jobs)
    return record


def main():
    asked = arguments()
    listed, python, cpp = mutants(ROOT, asked.seed, asked.only)
    fixed = [one for one in listed if (asked.python if one.file.endswith(".py") else asked.cpp)]
    fixed += islice(python, asked.python)
    if asked.list:
        print(*(row(one) for one in (*fixed, *islice(cpp, asked.cpp))), sep="\n")
        return
    asked.work = asked.work.resolve()
    places = Queue()
    for i in range(asked.jobs):
        places.put(Place(asked.work / f"copy-{i}", ROOT))
    if asked.cpp:
        for place in places.queue:
            place.build()
    record = recorded(places.queue[0], asked)
    lock, count = threading.Lock(), Counter[str]()

    def judged(change):
        place, begin = places.get(), time.perf_counter()
        try:
            status, detail = place.judge(change, record, asked.seconds)
        finally:
            places.put(place)
        with lock:
            count[status] += 1
            print(row(change, status, f"{time.perf_counter() - begin:.0f}", detail), flush=True)
        return status

    def next_cpp():
        status = REPLACED[0]
        while status in REPLACED:
            with lock:
                change = next(cpp, None)
            if change is None:
                return
            status = judged(change)

    print("status\tplace\tkind\told\tnew\tseconds\ttests", flush=True)
    jobs = [lambda one=one: judged(one) for one in fixed]
    jobs += [next_cpp] * asked.cpp
    with ThreadPoolExecutor(asked.jobs) as pool:
        for done in [pool.submit(job) for job in jobs]:
            done.result()
    tested = count.total() - sum(count[status] for status in REPLACED)
    print(f"{count['killed']} of {tested} mutants killed", dict(count), file=sys.stderr)


if __name__ == "__main__":
    main()

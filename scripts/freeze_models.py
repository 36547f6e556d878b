"""Keep one file of every kind of model as this version writes it, under fixtures/frozen/.

    python scripts/freeze_models.py NAME [MODEL...]

NAME is a folder, usually the format's version (1.1); of the models below those named are kept, or all. Later
versions have to read the files: tests/test_frozen.py. Nothing that exists is overwritten. `NAME/MODEL.values`
holds what the frozen version predicted, label and decision values, for the test file that NAME/COMMANDS.tsv
lists; MANIFEST.tsv gets a line for each file.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent / "fixtures"
PROGRAM = Path(sysconfig.get_path("scripts")) / "svmfast"

# model, data it is predicted on, command that makes it (OUT: the model's path)
MODELS = [
    ("polynomial_three_classes", "iris", "approximate models/iris_c_rbf_prob.model --embed-exact -o OUT"),
    ("polynomial_origin", "wine", "approximate models/wine_c_rbf_prob.model --center origin -o OUT"),
    (
        "polynomial_no_certificate",
        "iris",
        "approximate models/iris_nu_rbf_prob.model --order 3 --certificate none -o OUT",
    ),
    ("polynomial_one_class", "normal", "approximate models/normal_one_rbf_prob.model --order 3 -o OUT"),
    ("polynomial_regression", "diabetes", "approximate models/diabetes_eps_rbf_prob.model -o OUT"),
    ("polynomial_kernel", "diabetes", "approximate models/diabetes_eps_poly2.model -o OUT"),
    (
        "routed_ridge",
        "diabetes",
        "dcpred data/diabetes.train -o OUT --task ridge"
        " --clusters 3 --landmarks 4 --iterations 5",
    ),
    (
        "routed_two_levels",
        "iris",
        "dcpred data/iris.train -o OUT --task svc -g 0.5"
        " --clusters 6 --levels 2 --landmarks 4 --iterations 5",
    ),
    (
        "routed_pseudo_poly",
        "iris",
        "dcpred data/iris.train -o OUT --from models/iris_c_rbf_prob.model"
        " --clusters 3 --landmarks 4 --iterations 5"
        " --pseudo poly",
    ),
    (
        "routed_pseudo_triangle",
        "normal",
        "dcpred data/normal.train -o OUT --from models/normal_one_rbf.model"
        " --clusters 2 --landmarks 4 --iterations 5"
        " --pseudo triangle",
    ),
    (
        "routed_meka",
        "iris",
        "meka data/iris.train -o OUT --task ridge -g 0.5 --clusters 3 --rank 4",
    ),
    (
        "routed_laplacian",
        "diabetes",
        "meka data/diabetes.train -o OUT --task ridge --laplacian --clusters 3 --rank 4",
    ),
    (
        "routed_libsvm_cells",
        "iris",
        "meka data/iris.train -o OUT --task svc -g 0.5 --clusters 2 --block-only",
    ),
    (
        "libsvm_compressed",
        "iris",
        "compress models/iris_c_rbf_prob.model --sv 6 --data data/iris.train -o OUT",
    ),
    ("libsvm_budget", "iris", "budget-train data/iris.train OUT -g 0.5 -B 5 --passes 2 -b 1"),
    (
        "cascade_of_expansions",
        "iris",
        "cascade frozen/1.1/libsvm_compressed.model models/iris_c_rbf_prob.model --data data/iris.train"
        " --max-diff 10% -o OUT",
    ),
    (
        "cascade_of_one_against_the_rest",
        "iris",
        "cascade frozen/1.1/routed_pseudo_poly.model models/iris_c_rbf_prob.model --data data/iris.train"
        " --max-diff 10% -o OUT",
    ),
    (
        "cascade_of_a_polynomial",
        "wine",
        "cascade frozen/1.1/polynomial_origin.model models/wine_c_rbf_prob.model --data data/wine.train"
        " --max-diff 10% -o OUT",
    ),
]  # fmt: skip


def run(*arguments: str) -> bytes:
    done = subprocess.run([PROGRAM, *arguments], cwd=ROOT, capture_output=True, check=False)
    if done.returncode:
        sys.exit(f"svmfast {' '.join(arguments)}: exit {done.returncode}: {done.stderr.decode()}")
    return done.stdout


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    name, *chosen = f"frozen/{sys.argv[1]}", *sys.argv[2:]
    folder = ROOT / name
    folder.mkdir(parents=True)
    tool = run("--version").decode().strip()
    listing = ["model\tdata\tcommand"]
    made: list[tuple[str, str]] = []
    for model, data, command in MODELS:
        if chosen and model not in chosen:
            continue
        place = f"{name}/{model}.model"
        words = command.replace("OUT", place)
        run(*words.split(), "-q")
        made.append((place, f"svmfast {words} -q"))
        arguments = (
            f"predict -q --decision-values --no-fallback data/{data}.test {place} {name}/{model}.values"
        )
        run(*arguments.split())
        made.append((f"{name}/{model}.values", f"svmfast {arguments}"))
        listing.append(f"{model}\tdata/{data}.test\tsvmfast {words} -q")
    (folder / "COMMANDS.tsv").write_text("\n".join(listing) + "\n")
    made.append((f"{name}/COMMANDS.tsv", f"scripts/freeze_models.py {' '.join(sys.argv[1:])}"))
    head, *lines = (ROOT / "MANIFEST.tsv").read_text().splitlines()
    for file, command in made:
        content = (ROOT / file).read_bytes()
        lines.append(f"{file}\t{len(content)}\t{hashlib.sha256(content).hexdigest()}\t{tool}\t{command}")
    (ROOT / "MANIFEST.tsv").write_text("\n".join([head, *sorted(lines)]) + "\n")
    size = sum(path.stat().st_size for path in folder.iterdir())
    print(f"{len(made)} files, {size:,} bytes under {folder}", file=sys.stderr)


if __name__ == "__main__":
    main()

# Sourced by scripts/demo, scripts/docs, scripts/test and others: makes .venv and installs svmfast into it, once.
# Sets `root`, the repository, and `bin`, the folder of the environment's programs.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
bin="$root/.venv/bin"

fail() {
    printf '%s\n' "$*" >&2
    exit 2
}

# The files on which an install depends: a change of one installs again; the editable install picks up all others.
sources_hash() {
    (cd "$root" && {
        echo "$PWD"
        find pyproject.toml svmfast/_core -type f \
            \( -name '*.toml' -o -name '*.cpp' -o -name '*.hpp' -o -name '*.inl' -o -name '*.txt' -o -name '*.nb' \) -print0 |
            LC_ALL=C sort -z | xargs -0 cat
    } | "$bin/python" -c 'import hashlib, sys; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())')
}

make_venv() {
    if [ -x "$bin/python" ] && "$bin/python" -m pip --version >/dev/null 2>&1; then
        return
    fi
    local python=${PYTHON:-python3}
    command -v "$python" >/dev/null || fail "no $python; svmfast needs Python 3.10 or later (set PYTHON to its path)"
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
        fail "$("$python" --version) is too old; svmfast needs Python 3.10 or later (set PYTHON to its path)"
    "$python" -c 'import ensurepip, venv' 2>/dev/null ||
        fail "$python cannot make virtual environments; install its venv package (Debian, Ubuntu: apt install python3-venv)"
    printf 'making %s\n' "$root/.venv" >&2
    "$python" -m venv --clear "$root/.venv"
}

# install EXTRA: '', 'test' or 'docs'.
install() {
    make_venv
    local stamp="$root/.venv/.svmfast-installed" now one
    now=$(sources_hash)
    for one in "" -test -docs; do
        if [ "$(cat "$stamp$one" 2>/dev/null)" != "$now" ]; then
            rm -f "$stamp$one"
        elif [ -z "$1" ] || [ "$one" = "-$1" ] || [ "$one" = -test ]; then
            # An environment with an extra serves the demo as well; the test extra has the packages of docs.
            return
        fi
    done
    command -v "${CXX:-c++}" >/dev/null ||
        fail "no C++ compiler (${CXX:-c++}); install one (Debian, Ubuntu: apt install g++) or set CXX"
    printf 'installing svmfast%s (a few minutes the first time)\n' "${1:+ with the $1 extra}" >&2
    "$bin/python" -m pip install --quiet --disable-pip-version-check --editable "$root${1:+[$1]}"
    # An editable install leaves byte-compiling to the first run, or with PYTHONDONTWRITEBYTECODE to every
    # run: half of the start-up time.
    "$bin/python" -m compileall -q "$root/svmfast"
    printf '%s\n' "$now" >"$stamp${1:+-$1}"
}

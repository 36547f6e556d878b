"""scripts/fuzz/options tries every option; scripts/nightly runs what it makes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from program import ROOT

from svmfast.commands import command, commands

SCRIPT = ROOT / "scripts" / "fuzz" / "options.py"
pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the script needs Linux")


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, SCRIPT, *words], capture_output=True, text=True, timeout=300)


def test_every_option_has_values_and_a_number_means_the_same_set() -> None:
    result = [run("--list", "--sets", "400", "--seed", "2") for _ in range(2)]
    assert result[0].returncode == 0, result[0].stderr
    assert result[0].stdout == result[1].stdout
    made = result[0].stdout.splitlines()
    assert len(made) == 400
    for name in commands():
        mine = "\n".join(line for line in made if line.startswith(f"svmfast {name} "))
        assert mine or name == "frontier"
        known = {one for option in command(name).params for flag in option.flags for one in flag.split("/")}
        if name != "frontier":  # a tenth as often as the others
            assert len({word for word in re.findall(r"(?<= )--?[a-zA-Z][\w-]*", mine)} & known) > 4

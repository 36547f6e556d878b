"""No message about bad rows names an option that its command does not have."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from every_command import COMMAND_OF, RUNS, words

from svmfast.cli import main
from svmfast.commands import command as declared

#: Rows that are refused, by what is wrong with them: the file's name and its text.
BAD = {
    "a table without labels": ("rows.csv", "a,b,c,d\n" + "0.1,0.2,0.3,0.4\n" * 9),
    "text without labels": ("rows", "1:0.1 2:0.2 3:0.3 4:0.4\n" * 9),
    "dense rows": ("rows", "1 0.1 0.2 0.3 0.4\n" * 9),
    "a table with words": ("rows.csv", "label,a,b,c,d\n" + "1,0.1,x,0.3,0.4\n" * 9),
    "names as labels": ("rows", "cat 1:0.1 2:0.2\n" * 9),
}
READ = [name for name in RUNS if {"TRAIN", "TEST"} & set(RUNS[name])]


@pytest.mark.parametrize("wrong", BAD)
def test_a_message_names_only_options_of_its_command(
    wrong: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    name, text = BAD[wrong]
    rows, others = tmp_path / name, tmp_path / f"other-{name}"
    rows.write_text(text)
    others.write_text(text + text.splitlines()[-1] + "\n")
    refused = 0
    for one in READ:
        places = {"TRAIN": rows, "TEST": others, "OUT": tmp_path / "out", "SAVED": tmp_path / "saved"}
        refused += main.run(words(one, places)) == 2
        # Other commands' options follow their names: "(svmfast predict --unlabelled)".
        said = re.sub(r"svmfast [a-z-]+ [^;)]*", "", capfd.readouterr().err.removeprefix("svmfast"))
        named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", said))
        command = declared(COMMAND_OF[one])
        assert command is not None
        known = {flag for one in command.params for flags in one.flags for flag in flags.split("/")}
        assert named <= known, (one, said)
    assert refused >= len(READ) - 5


@pytest.mark.parametrize("name", ["a table without labels", "text without labels"])
def test_training_says_where_labels_come_from(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    rows = tmp_path / BAD[name][0]
    rows.write_text(BAD[name][1])
    assert main.run(words("linear", {"TRAIN": rows, "OUT": tmp_path / "out"})) == 2
    assert capfd.readouterr().err.endswith(
        "; all rows need labels, such as a model's (svmfast predict --unlabelled --keep FEATURES)\n"
    )

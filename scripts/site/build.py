"""Build docs/ as a site: the pages themselves, and the reference generated from the program.

    python scripts/site/build.py FOLDER

FOLDER/source contains Sphinx's input: copies of the pages, so that nothing is generated into docs/, and the
reference: Python's from docstrings, commands' from their help, and the keys of reports from their schema.
FOLDER/html is the site. A warning of Sphinx, such as a broken link or a page that is in no table of contents,
is an error.
"""

import json
import os
import re
import shutil
import sys
from pathlib import Path

import click
from sphinx.cmd.build import build_main

from svmfast.cli import main as program
from svmfast.cli.report_schema import schema as schema_of_reports
from svmfast.commands import commands
from svmfast.methods.registry import methods

HERE, ROOT = Path(__file__).resolve().parent, Path(__file__).resolve().parents[2]
#: Pages from the top of the repository, where readers expect them.
ALSO = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md", "SECURITY.md": "security.md"}
#: Pages that only the site has, listed in the index's section Reference.
GENERATED = {
    "reference/commands.md": "Commands, with all options",
    "reference/python.md": "Python functions and classes",
    "reference/report-keys.md": "Keys of the JSON reports",
}


def with_contents(index):
    """Return the index with Sphinx's tables of contents: for each section, the pages that it links.

    The page in the repository has links only, which work wherever it is read.
    """
    for name, page in ALSO.items():
        index = index.replace(f"(../{name})", f"({page})")
    top, *sections = re.split(r"^## ", index, flags=re.MULTILINE)
    parts = [top]
    for section in sections:
        title = section.split("\n", 1)[0]
        own = GENERATED if title == "Reference" else {}
        more = "".join(f"- [{text}]({page})\n" for page, text in own.items())
        pages = "\n".join(re.findall(r"^- .*?\[[^]]*\]\(([\w/-]+)\.md\)", section + more, re.MULTILINE))
        hidden = f"```{{toctree}}\n:caption: {title}\n:hidden:\n:maxdepth: 1\n\n{pages}\n```\n"
        parts.append(f"## {section.rstrip()}\n{more}\n{hidden}\n")
    return "".join(parts)


def command_pages():
    """Return the help of every command."""
    root = click.Context(program.program, info_name="svmfast", obj=program.Settings())
    parts = ["# Commands\n\n[Command line](../command-line.md) has what holds for all of them.\n"]
    for name in commands():
        command = program.program.get_command(root, name)
        assert command is not None
        text = command.get_help(click.Context(command, info_name=name, parent=root, terminal_width=100))
        parts.append(f"## svmfast {name}\n\n```\n{text}\n```\n")
    return "\n".join(parts)


def report_keys(schema):
    """Return the keys of the reports of every command."""
    parts = [
        "# Keys of the JSON reports\n",
        "The schema is {download}`report.schema.json <../report.schema.json>`; "
        "[Command line](../command-line.md#json-reports) has the rules.\n\n## every command\n",
        *_keys(schema),
    ]
    for rule in schema["allOf"]:
        parts += [f"## {rule['if']['properties']['command']['const']}\n", *_keys(rule["then"])]
    return "\n".join(parts)


def _keys(rule):
    for key, one in rule["properties"].items():
        yield f"`{key}`\n: " + re.sub(r"([\\*_{}\[\]<>#|~$])", r"\\\1", one["description"]) + "\n"


def stage(source):
    """Write Sphinx's input to the folder `source`."""
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(ROOT / "docs", source)
    shutil.copytree(HERE / "reference", source / "reference")
    index, schema = source / "index.md", schema_of_reports()
    index.write_text(with_contents(index.read_text()))
    for name, page in ALSO.items():
        text = re.sub(r"`?\bdocs/([\w-]+)\.md`?", r"[\1](\1.md)", (ROOT / name).read_text())
        (source / page).write_text(text)
    (source / "report.schema.json").write_text(json.dumps(schema, indent=2) + "\n")
    python = source / "reference/python.md"
    listed = "\n".join(f".. autofunction:: svmfast.{method.function_name}" for method in methods())
    python.write_text(python.read_text().replace("METHODS", listed))
    (source / "reference/commands.md").write_text(command_pages())
    (source / "reference/report-keys.md").write_text(report_keys(schema))


def main(folder):
    """Build the site in `folder` and return the exit status."""
    source, html = folder / "source", folder / "html"
    # The generated help must not depend on the terminal.
    os.environ["COLUMNS"] = "100"
    stage(source)
    options = ["-b", "html", "-E", "-W", "--keep-going", "-q", "-c", str(HERE)]
    status = build_main([*options, "-d", str(folder / "doctrees"), str(source), str(html)])
    if status == 0:
        print(html / "index.html")
    return status


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))

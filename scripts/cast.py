"""Draw the README's session as an SVG of a terminal, docs/figures/session.svg: python scripts/cast.py

tests/contract/test_docs.py runs the session and compares what it prints, and the picture, with the README.
"""

import re
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
#: Rich's window, without fonts from elsewhere; dark on both light and dark pages.
FORMAT = """<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img">
<style>
.{unique_id}-matrix {{ font: {char_height}px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; }}
{styles}
</style>
<defs>{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def main():
    console = Console(record=True, width=116, file=StringIO(), force_terminal=True)
    for block in re.findall(r"^```console\n(.*?)^```", (ROOT / "README.md").read_text(), re.S | re.M):
        for line in block.splitlines():
            console.print(Text(line, "bold white" if line.startswith("$ ") else "default"))
    picture = console.export_svg(title="", code_format=FORMAT, unique_id="session")
    (ROOT / "docs/figures/session.svg").write_text(picture)


if __name__ == "__main__":
    main()

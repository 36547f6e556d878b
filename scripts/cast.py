"""Draw the README's session as an animated SVG of a terminal in which commands are typed and answered.

    python scripts/cast.py [--output docs/figures/session.svg]

The commands are those of the README. They run on the fixtures, in a separate folder, and must print what
the README shows, except for times and speeds, which are taken from the README. The animation
uses only CSS: viewers without it, and people who prefer reduced motion, see the whole session.
The window is dark on both light and dark pages.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sysconfig
import tempfile
from dataclasses import dataclass
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs/figures/session.svg"
PROGRAM = Path(sysconfig.get_path("scripts")) / "svmfast"

#: Text that differs from run to run.
CLOCK = re.compile(r"[\d.]+(?=x( |$))|\d+ threads?", re.M)
#: Pixels of a character, of a line, and around the text.
ACROSS, DOWN, MARGIN, BAR = 8.0, 19, 16, 30
#: Seconds for a typed character, before an answer, after it, and at the end.
TYPED, ANSWERED, READ, END = 0.03, 0.4, 1.0, 6.0
#: Approximate number of characters in a line.
WIDTH = 100


@dataclass(frozen=True)
class Line:
    """A line of the terminal, and the seconds at which it starts and finishes appearing."""

    text: str
    typed: bool
    begin: float
    end: float


def session() -> tuple[list[str], list[str]]:
    """Return the commands of the README's session, each with its output."""
    commands, printed = [], []
    for block in re.findall(r"^```console\n(.*?)^```", (ROOT / "README.md").read_text(), re.S | re.M):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            line, _, answer = part.partition("\n")
            commands.append(line)
            printed.append(answer)
    return commands, printed


def answers(lines: list[str]) -> list[str]:
    """Run the commands one after the other, and return their outputs."""
    folder = Path(tempfile.mkdtemp())
    try:
        shutil.copy(ROOT / "fixtures/models/photos_c_rbf.model", folder / "photos.model")
        for name in ("photos.train", "photos.test"):
            shutil.copy(ROOT / "fixtures/data" / name, folder)
        environment = {**os.environ, "PATH": f"{PROGRAM.parent}{os.pathsep}{os.environ['PATH']}"}
        printed = []
        for line in lines:
            words = ["bash", "-c", f"({line}) 2>&1"]
            done = subprocess.run(
                words, cwd=folder, env=environment, capture_output=True, text=True, check=True
            )
            printed.append(done.stdout)
        return printed
    finally:
        shutil.rmtree(folder)


def wrapped(line: str) -> list[str]:
    """Return a command as lines of the terminal, broken after &&, where a shell continues by itself."""
    out, rest = [], f"$ {line}"
    while len(rest) > WIDTH and (cut := rest.rfind("&& ", 0, WIDTH)) > 0:
        out.append(rest[: cut + 2])
        rest = f"> {rest[cut + 3 :]}"
    return [*out, rest]


def played(lines: list[str], printed: list[str]) -> list[Line]:
    """Return the lines of the terminal with their times."""
    out, now = [], 0.5
    for command, answer in zip(lines, printed, strict=True):
        for text in wrapped(command):
            end = now + TYPED * len(text)
            out.append(Line(text, True, now, end))
            now = end
        now += ANSWERED
        out += [Line(text, False, now, now) for text in answer.splitlines() if text]
        now += READ
    return out


def svg(lines: list[Line], spoken: str) -> str:
    """Return the picture; `spoken` is its description."""
    columns = max(len(line.text) for line in lines)
    width, height = 2 * MARGIN + ACROSS * columns, BAR + 2 * MARGIN + DOWN * len(lines)
    whole = lines[-1].end + END
    style, body = [], []
    for number, line in enumerate(lines):
        y = BAR + MARGIN + DOWN * (number + 0.75)
        kind = "typed" if line.typed else "answer"
        words = escape(line.text)
        if line.typed:
            words = f'<tspan class="prompt">{escape(line.text[0])}</tspan>{escape(line.text[1:])}'
        # Columns of tables stay aligned in any font.
        place = f'x="{MARGIN}" y="{y:g}" textLength="{ACROSS * len(line.text):g}" xml:space="preserve"'
        body.append(f'<text class="{kind} l{number}" {place}>{words}</text>')
        begin, end = 100 * line.begin / whole, 100 * line.end / whole
        shown, hidden = "clip-path:inset(-4px 0 -4px 0)", "clip-path:inset(-4px 100% -4px 0)"
        frames = f"0%,{begin:.3f}%{{{hidden}}}{max(end, begin + 0.01):.3f}%,100%{{{shown}}}"
        timing = f"steps({len(line.text)})" if line.typed else "step-end"
        style.append(f"@keyframes k{number}{{{frames}}}")
        style.append(f".l{number}{{animation:k{number} {whole:.2f}s {timing} infinite}}")
    dots = "".join(
        f'<circle cx="{20 + 18 * i}" cy="{BAR / 2 + 2:g}" r="5.5" fill="{color}"/>'
        for i, color in enumerate(("#e0605a", "#dfb03f", "#5fae4f"))
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
            f'height="{height:g}" role="img" aria-label="{escape(spoken)}">',
            "<style>",
            "text{font:13.3px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace}",
            ".typed{fill:#f2f5f7}.answer{fill:#b4bec7}.prompt{fill:#6cc48c}",
            "@media (prefers-reduced-motion:no-preference){",
            *style,
            "}</style>",
            f'<rect x="0.5" y="0.5" width="{width - 1:g}" height="{height - 1:g}" rx="9" fill="#1b1f24" '
            'stroke="#59636e"/>',
            dots,
            *body,
            "</svg>",
            "",
        ]
    )


def main() -> None:
    """Run the session and write the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--output", type=Path, default=PICTURE)
    args = parser.parse_args()
    lines, printed = session()
    for line, said, found in zip(lines, printed, answers(lines), strict=True):
        if CLOCK.sub("#", said).split() != CLOCK.sub("#", found).split():
            raise SystemExit(f"the README is out of date: {line}\n{found}")
    spoken = f"A terminal session: {'; '.join(lines)}"
    args.output.write_text(svg(played(lines, printed), spoken))
    print(f"written: {args.output}")


if __name__ == "__main__":
    main()

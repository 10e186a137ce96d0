"""Draw docs/demo.svg, the picture of the README, from what `contextive-mcp demo` prints.

.venv/bin/python tools/demo_picture.py
"""

from __future__ import annotations

import subprocess
import sys
from html import escape
from pathlib import Path

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "demo.svg"
SHOWN_TOOLS = ("list_uncited_requirements", "km-search", "list_invalid_citations")
_CHARACTER, _LINE, _MARGIN, _BAR = 7.5, 20, 22, 34
_STYLE = (
    "text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#e6edf3;white-space:pre}"
    ".call{fill:#79c0ff}.head{fill:#9198a1}"
)


def demo_output() -> str:
    """What the demo prints when its output is not a terminal."""
    command = [sys.executable, "-m", "contextive", "demo"]
    return subprocess.run(command, capture_output=True, encoding="utf-8", timeout=300, check=True).stdout


def shown_lines(output: str) -> list[str]:
    """The first call of each tool in SHOWN_TOOLS with its answer, and an empty line between them."""
    lines: list[str] = []
    waiting, inside = list(SHOWN_TOOLS), False
    for line in output.splitlines():
        if line.startswith(("> ", "─")):
            inside = bool(waiting) and line.split()[:2] == [">", waiting[0]]
            if inside:
                lines += [""] if lines else []
                waiting.pop(0)
        if inside:
            lines.append(line.rstrip())
    assert not waiting, f"the demo does not call {waiting[0]}"
    return lines


def picture(lines: list[str]) -> str:
    """The lines as a terminal window, with fixed colours that are readable on light and dark pages."""
    width = round(max(map(len, lines)) * _CHARACTER) + 2 * _MARGIN
    height = _BAR + len(lines) * _LINE + _MARGIN
    title = "What an agent sees: uncited requirements, search results and an invalid citation"
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">',
        f"<title>{title}</title>",
        f"<style>{_STYLE}</style>",
        f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8" fill="#0d1117" stroke="#3d444d"/>',
        '<g fill="#3d444d"><circle cx="20" cy="18" r="5"/><circle cx="38" cy="18" r="5"/><circle cx="56" cy="18" r="5"/></g>',
    ]
    for number, line in enumerate(lines):
        kind = (
            ' class="call"'
            if line.startswith("> ")
            else ' class="head"'
            if line.startswith(("level ", "location "))
            else ""
        )
        if line:
            drawn.append(
                f'<text x="{_MARGIN}" y="{_BAR + 16 + number * _LINE}"{kind} xml:space="preserve">{escape(line)}</text>'
            )
    return "\n".join([*drawn, "</svg>", ""])


if __name__ == "__main__":
    PICTURE.write_text(picture(shown_lines(demo_output())), encoding="utf-8")

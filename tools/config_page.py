"""`make schema`: update the tables of docs/configuration.md from the settings."""

from __future__ import annotations

import re
from pathlib import Path

from contextive.config.environment import env_aliases
from contextive.config.settings import Setting, list_settings

PAGE = Path(__file__).resolve().parents[1] / "docs" / "configuration.md"


def main() -> None:
    text = PAGE.read_text(encoding="utf-8")
    sections: dict[str, list[Setting]] = {}
    for setting in list_settings():
        sections.setdefault(setting.key.split(".")[0], []).append(setting)
    for name, settings in sections.items():
        rows = "".join(map(_row, settings))
        text, count = _replaced(rf"(?m)(?:^\| `{re.escape(name)}[.`\[][^\n]*\n)+", rows, text)
        if not count:
            print(f"docs/configuration.md has no table for {name}")
    aliases = "".join(f"| `{name}` | `{key}` |\n" for name, key in env_aliases().items())
    text, _ = _replaced(r"(?m)(?:^\| `KM_[^\n]*\n)+", aliases, text)
    PAGE.write_text(text, encoding="utf-8")


def _replaced(pattern: str, replacement: str, text: str) -> tuple[str, int]:
    """`re.subn` with a literal replacement, in which escapes mean nothing."""

    def constant(_found: re.Match[str]) -> str:
        return replacement

    return re.subn(pattern, constant, text, count=1)


def _row(setting: Setting) -> str:
    default = "required" if setting.default == "required" else f"`{setting.default}`"
    return f"| `{setting.key}` | {setting.type} | {default} | {setting.description} |\n"


if __name__ == "__main__":
    main()

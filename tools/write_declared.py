"""Write declared.json, the declarations of the built-in packs: `python tools/write_declared.py`."""

from __future__ import annotations

from contextive.packs import DECLARED, declared_text

if __name__ == "__main__":
    DECLARED.write_text(declared_text(), encoding="utf-8")

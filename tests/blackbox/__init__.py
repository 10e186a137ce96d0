"""Cases taken from real systems. They are not part of this project: BLACKBOX_CASES names the directory that has them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_NAMED = os.environ.get("BLACKBOX_CASES", "")
FOLDER = Path(_NAMED or "no-black-box-cases").resolve()
if _NAMED and not FOLDER.is_dir():
    raise FileNotFoundError("BLACKBOX_CASES does not name a directory.")
skip_without_cases = pytest.mark.skipif(not _NAMED, reason="BLACKBOX_CASES does not name the black-box cases")

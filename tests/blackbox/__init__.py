"""Cases taken from real systems. They are not part of this project; BLACKBOX_CASES is the directory that contains them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_CONFIGURED = os.environ.get("BLACKBOX_CASES", "")
FOLDER = Path(_CONFIGURED or "no-black-box-cases").resolve()
if _CONFIGURED and not FOLDER.is_dir():
    raise FileNotFoundError("BLACKBOX_CASES is not a directory.")
skip_without_cases = pytest.mark.skipif(not _CONFIGURED, reason="BLACKBOX_CASES is not set")

from __future__ import annotations

import gc

import pytest

from contextive.ingest.collecting import ALLOCATIONS, collected_less_often


def test_cycles_are_looked_for_less_often_in_a_run_and_as_before_behind_it() -> None:
    before, enabled = gc.get_threshold(), gc.isenabled()
    with collected_less_often():
        assert gc.get_threshold() == (ALLOCATIONS, *before[1:])
        with pytest.raises(ValueError, match="stop"), collected_less_often():
            raise ValueError("stop")
        assert gc.get_threshold()[0] == ALLOCATIONS
    assert gc.get_threshold() == before
    assert gc.isenabled() == enabled

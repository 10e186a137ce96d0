from __future__ import annotations

import gc

import pytest

from contextive.ingest.gc_tuning import GC_THRESHOLD, less_frequent_gc


def test_the_gc_threshold_is_raised_in_a_run_and_restored_after_it() -> None:
    before, enabled = gc.get_threshold(), gc.isenabled()
    with less_frequent_gc():
        assert gc.get_threshold() == (GC_THRESHOLD, *before[1:])
        with pytest.raises(ValueError, match="stop"), less_frequent_gc():
            raise ValueError("stop")
        assert gc.get_threshold()[0] == GC_THRESHOLD
    assert gc.get_threshold() == before
    assert gc.isenabled() == enabled

"""Settings of property tests: no deadline, because machines are busy and the first example builds tables."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

property_test = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

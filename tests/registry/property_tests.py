"""How property tests run here: as long as they need, for machines are busy and the first draw builds tables."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

property_test = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

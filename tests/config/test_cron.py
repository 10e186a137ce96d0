"""Cron expressions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextive.config.cron import Cron, CronError
from contextive.errors import ConfigError

from .conftest import Project

MONDAY = datetime(2024, 1, 1, 12, 30, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("* * * * *", "2024-01-01T12:31"),
        ("*/15 * * * *", "2024-01-01T12:45"),
        ("30 12 * * *", "2024-01-02T12:30"),
        ("0 0 1 * *", "2024-02-01T00:00"),
        ("0 9-17/4 * * *", "2024-01-01T13:00"),
        ("5,10 3 * * *", "2024-01-02T03:05"),
        ("0 0 * * sun", "2024-01-07T00:00"),
        ("0 0 * * 7", "2024-01-07T00:00"),
        ("0 0 * * MON-WED", "2024-01-02T00:00"),
        ("0 0 29 feb *", "2024-02-29T00:00"),
        ("0 0 13 * fri", "2024-01-05T00:00"),  # either day is enough
        ("0 0 */2 * mon", "2024-01-15T00:00"),  # a star with a step does not restrict the day, so both must match
        ("@hourly", "2024-01-01T13:00"),
        ("@daily", "2024-01-02T00:00"),
        ("@Weekly", "2024-01-07T00:00"),
        ("@monthly", "2024-02-01T00:00"),
        ("@yearly", "2025-01-01T00:00"),
    ],
)
def test_the_next_time(text: str, expected: str) -> None:
    assert Cron.parse(text).next_after(MONDAY).strftime("%Y-%m-%dT%H:%M") == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "* * * *",
        "* * * * * *",
        "60 * * * *",
        "* 24 * * *",
        "* * 0 * *",
        "* * * 13 *",
        "* * * * 8",
        "5-1 * * * *",
        "*/0 * * * *",
        "a * * * *",
        "* * * * foo",
        "1,,2 * * * *",
        "*-5 * * * *",
        "0 0 30 feb *",
        "@reboot",
        "-1 * * * *",
    ],
)
def test_an_invalid_expression_is_refused(text: str) -> None:
    with pytest.raises(CronError):
        Cron.parse(text)


FIELDS = st.tuples(
    st.sampled_from(["*", "0", "*/7", "10-20", "59"]),
    st.sampled_from(["*", "0", "23", "8-18/5"]),
    st.sampled_from(["*", "1", "31", "28-30"]),
    st.sampled_from(["*", "jan,jul", "2"]),
    st.sampled_from(["*", "0", "mon-fri", "7"]),
)
MOMENTS = st.datetimes(datetime(2023, 1, 1), datetime(2027, 1, 1)).map(lambda moment: moment.replace(tzinfo=UTC))  # noqa: DTZ001


@given(FIELDS, MOMENTS)
def test_the_next_time_is_in_the_future_and_the_earliest(fields: tuple[str, ...], moment: datetime) -> None:
    try:
        cron = Cron.parse(" ".join(fields))
    except CronError:
        return
    found = cron.next_after(moment)
    assert found > moment
    assert cron.next_after(found - timedelta(seconds=1)) == found
    assert (found.minute in cron.minutes, found.hour in cron.hours, found.month in cron.months) == (True, True, True)


def test_a_configuration_with_an_invalid_cron_expression_is_refused(project: Project) -> None:
    message = project.error_of("a.json", {"knowledge": {"schedule": {"ingest": {"cron": "every day"}}}}, {})
    assert "knowledge.schedule.ingest.cron" in message
    assert "five fields" in message
    with pytest.raises(ConfigError):
        project.load(environ={"KM_BACKUP_CRON": "61 * * * *"})

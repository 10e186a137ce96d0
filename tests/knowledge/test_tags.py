from __future__ import annotations

from contextive.knowledge.subsystems import Subsystem
from contextive.knowledge.tags import find_messages, find_telemetry, tags_of


def test_messages_and_telemetry_are_found_by_their_names() -> None:
    text = "send(FooMessage, BarMessage) # a Message, fooMessage, FooMessages; TelemetryLag Telemetry telemetryX"
    assert find_messages(text) == ("BarMessage", "FooMessage")
    assert find_telemetry(text) == ("TelemetryLag",)


def test_tags_come_from_text_file_and_subsystem_without_duplicates() -> None:
    subsystem = Subsystem("S", tags=("core", "a"), labels=("tier1",))
    assert tags_of("FooMessage TelemetryLag", ("core", "zeta"), subsystem) == (
        "FooMessage", "TelemetryLag", "a", "core", "tier1", "zeta",
    )  # fmt: skip
    assert tags_of("nothing") == ()

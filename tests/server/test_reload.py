"""A configuration that changes while the server runs: it is applied or refused, and clients are notified."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.plugins.packages import install, python_path, write_config
from tests.raw_clients import StdioClient, envelope, rpc, wait_until
from tests.server.conftest import ServerFactory

SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId"
WITH_ODD: dict[str, Any] = {"toolPacks": {"odd": {}}}
WITHOUT_ODD: dict[str, Any] = {"toolPacks": {"odd": {"enabled": False}}}


class ReloadableServer:
    """A server whose configuration a test rewrites. At the start of every test, the pack `odd` is enabled.

    It does not watch its file: each test sends a signal to apply the new one.
    """

    def __init__(self, server_factory: ServerFactory) -> None:
        self.file = server_factory.config({**WITH_ODD, "server": {"reload": False}})
        self.pipe = server_factory.pipe_with(self.file)

    def rewrite(self, values: dict[str, Any]) -> None:
        """Make the server apply a configuration. Afterwards all its announcements are in `pipe.notifications`.

        A call may already use the new configuration before all clients are notified. So wait for the line that the
        server logs after the last announcement, then for one more response, which comes after all notifications.
        """
        adopted = self.pipe.log_text.count('"configuration adopted"')
        write_config(self.file, values)
        self.pipe.signal(signal.SIGHUP)
        wait_until(
            lambda: self.pipe.log_text.count('"configuration adopted"') > adopted, "the new configuration is adopted"
        )
        self.pipe.result("ping")

    @property
    def generation(self) -> int:
        return int(self.pipe.call("contextive_server_info")["_meta"]["contextive/as_of"]["generation"])

    @property
    def tools(self) -> list[str]:
        return [tool["name"] for tool in self.pipe.result("tools/list")["tools"]]


@pytest.fixture(scope="module")
def served(shared_server_factory: ServerFactory) -> Iterator[ReloadableServer]:
    live = ReloadableServer(shared_server_factory)
    with live.pipe:
        yield live


@pytest.fixture
def live(served: ReloadableServer) -> ReloadableServer:
    served.pipe.initialize()
    if "odd_echo" not in served.tools:
        served.rewrite(WITH_ODD)
    served.pipe.notifications.clear()
    return served


##= docs/spec/host.md#reload
##% On SIGHUP, the server MUST read its configuration again.
##= docs/spec/host.md#discovery
##% A disabled pack MUST offer nothing.
def test_a_changed_file_is_applied_and_the_client_is_notified(live: ReloadableServer) -> None:
    live.rewrite(WITHOUT_ODD)
    for kind in ("tools", "resources", "prompts"):
        live.pipe.notification(f"notifications/{kind}/list_changed")
    assert "km-search" in live.tools
    assert "odd_echo" not in live.tools
    assert live.pipe.error("tools/call", {"name": "odd_echo"})["code"] == -32602
    live.rewrite(WITH_ODD)
    live.pipe.notification("notifications/tools/list_changed")
    assert "odd_echo" in live.tools


##= docs/spec/host.md#reload
##% When a reload changes a list that clients see, the server MUST notify every client whose list changed.
def test_only_the_lists_that_changed_are_announced(live: ReloadableServer) -> None:
    live.rewrite({**WITH_ODD, "server": {"logLevel": "debug"}})
    assert [n["method"] for n in live.pipe.notifications if n["method"].endswith("list_changed")] == []
    live.rewrite({"toolPacks": {"odd": {"blockedTools": ["odd_echo"]}}})
    changed = {n["method"] for n in live.pipe.notifications if n["method"].endswith("list_changed")}
    assert "notifications/tools/list_changed" in changed
    assert "notifications/prompts/list_changed" not in changed


##= docs/spec/host.md#capabilities
##% The instructions MUST be generated from what the caller is offered at that moment.
##= docs/spec/spexus.md#instructions
##% The instructions MUST change when the server changes what it offers.
def test_the_instructions_follow_the_registry(live: ReloadableServer) -> None:
    assert "odd_echo" in live.pipe.initialize()["instructions"]
    assert "odd_echo" in live.pipe.modern("server/discover")["result"]["instructions"]
    live.rewrite(WITHOUT_ODD)
    assert "odd" not in live.pipe.initialize()["instructions"]
    assert "odd" not in live.pipe.modern("server/discover")["result"]["instructions"]


##= docs/spec/host.md#capabilities
##% A handshake client that has subscribed to a resource MUST be notified when that resource changes.
@pytest.mark.parametrize("spelling", ["contextive:///server", "/server"])
def test_a_subscriber_is_notified_with_the_uri_as_it_wrote_it(live: ReloadableServer, spelling: str) -> None:
    assert live.pipe.result("resources/subscribe", {"uri": spelling}) == {}
    live.rewrite(WITHOUT_ODD)
    assert live.pipe.notification("notifications/resources/updated")["params"]["uri"] == spelling
    assert live.pipe.result("resources/unsubscribe", {"uri": "contextive:///server"}) == {}
    live.pipe.notifications.clear()
    live.rewrite(WITH_ODD)
    assert not [n for n in live.pipe.notifications if n["method"] == "notifications/resources/updated"]


def test_subscribing_to_an_unknown_resource_is_refused(live: ReloadableServer) -> None:
    assert live.pipe.error("resources/subscribe", {"uri": "odd:///nothing"})["code"] == -32002


##= docs/spec/host.md#capabilities
##% A stateless client MUST be able to receive change notifications through `subscriptions/listen`.
def test_a_stateless_client_receives_tagged_notifications(live: ReloadableServer) -> None:
    wanted = {"toolsListChanged": True, "resourceSubscriptions": ["contextive:///server"]}
    live.pipe.send(rpc("subscriptions/listen", envelope({"notifications": wanted}), "ear"))
    first = live.pipe.receive()
    assert first["method"] == "notifications/subscriptions/acknowledged"
    assert first["params"]["_meta"][SUBSCRIPTION_ID] == "ear"
    live.rewrite(WITHOUT_ODD)
    tagged = [
        n for n in live.pipe.notifications if (n.get("params") or {}).get("_meta", {}).get(SUBSCRIPTION_ID) == "ear"
    ]
    assert [n["method"] for n in tagged] == ["notifications/tools/list_changed", "notifications/resources/updated"]
    live.pipe.notify("notifications/cancelled", {"requestId": "ear"})
    live.pipe.notifications.clear()
    live.rewrite(WITH_ODD)
    assert not [n for n in live.pipe.notifications if SUBSCRIPTION_ID in (n.get("params") or {}).get("_meta", {})]


##= docs/spec/host.md#reload
##% When a changed configuration is invalid, the server MUST refuse it and keep the old one.
@pytest.mark.parametrize(
    "bad",
    [
        "{",
        '{"server": {"logLevel": "loud"}}',
        '{"nonsense": 1}',
        '{"toolPacks": {"introspect": {"blockedTools": ["no_such_tool"]}}}',
    ],
    ids=["syntax", "value", "key", "tool"],
)
def test_an_invalid_new_configuration_is_refused_and_the_old_one_stays(live: ReloadableServer, bad: str) -> None:
    before, seen = live.generation, live.pipe.log_text.count("the old one stays")
    live.file.write_text(bad, encoding="utf-8")
    live.pipe.signal(signal.SIGHUP)
    wait_until(lambda: live.pipe.log_text.count("the old one stays") > seen, "the refusal is logged")
    assert live.generation == before
    assert "odd_echo" in live.tools
    live.rewrite(WITHOUT_ODD)
    assert "odd_echo" not in live.tools


##= docs/spec/host.md#reload
##% When the configuration file changes, the server MUST apply the change without a restart, unless `server.reload` is
##% false.
def test_a_configuration_file_given_by_option_is_watched(server_factory: ServerFactory) -> None:
    file = server_factory.config(WITH_ODD)
    with server_factory.pipe_with(file) as pipe:
        pipe.initialize()
        write_config(file, WITHOUT_ODD)
        pipe.notification("notifications/tools/list_changed")
        names = [tool["name"] for tool in pipe.result("tools/list")["tools"]]
        assert "km-search" in names
        assert "odd_echo" not in names
        seen = pipe.log_text.count("the old one stays")
        file.write_text("{", encoding="utf-8")
        wait_until(lambda: pipe.log_text.count("the old one stays") > seen, "the bad file is refused")
        write_config(file, WITH_ODD)
        pipe.notification("notifications/tools/list_changed")
        assert "odd_echo" in [tool["name"] for tool in pipe.result("tools/list")["tools"]]


def test_an_added_or_removed_project_file_is_noticed(server_factory: ServerFactory) -> None:
    with StdioClient("serve", "--stdio", cwd=server_factory.folder) as pipe:
        pipe.initialize()
        blocked = {"toolPacks": {"knowledge": {"blockedTools": ["km-search"]}}}
        file = write_config(server_factory.folder / "contextive.config.json", blocked)
        pipe.notification("notifications/tools/list_changed")
        assert "km-search" not in [tool["name"] for tool in pipe.result("tools/list")["tools"]]
        file.unlink()
        pipe.notification("notifications/tools/list_changed")
        assert "km-search" in [tool["name"] for tool in pipe.result("tools/list")["tools"]]


def test_a_hanging_plugin_in_the_new_configuration_delays_no_call(
    server_factory: ServerFactory, tmp_path: Path
) -> None:
    install(tmp_path / "site", "sleeper", "import time\ntime.sleep(60)\n")
    file = server_factory.config({"toolPacks": {}, "limits": {"pluginLoadSeconds": 2.5}})
    with server_factory.pipe_with(file, env=python_path(tmp_path / "site")) as pipe:
        pipe.initialize()
        write_config(file, {"toolPacks": {"sleeper": {}}, "limits": {"pluginLoadSeconds": 2.5}})
        slowest = 0.0
        while not any("sleeper" in line["event"] for line in pipe.log_lines()):
            started = time.monotonic()
            assert pipe.result("ping") == {}
            slowest = max(slowest, time.monotonic() - started)
        assert slowest < 1.5
        assert pipe.call("contextive_health")["structuredContent"]["status"] == "degraded"


def test_open_calls_finish_under_the_configuration_they_started_with(live: ReloadableServer) -> None:
    live.pipe.send(rpc("tools/call", {"name": "odd_slow", "arguments": {"seconds": 1.0}}, "across"))
    write_config(live.file, WITHOUT_ODD)
    live.pipe.signal(signal.SIGHUP)
    live.pipe.notification("notifications/tools/list_changed")
    assert live.pipe.reply_to("across")["result"]["structuredContent"] == {"done": True}
    assert json.dumps(live.tools).count("odd_") == 0

"""Sessions of the site: how they end."""

from __future__ import annotations

from contextive.registry import Caller, Scope
from contextive.server.auth import Authenticator, ConfiguredTokens, Credential, fingerprint
from contextive.server.browser_sessions import SESSION_SECONDS, BrowserSessions, cookie_name, session_id_of

ANN = Caller("token:ann", Scope.READER)
TOKEN = "a-token-of-ann-0123456789"
VALID = Authenticator([ConfiguredTokens([Credential(ANN, fingerprint(TOKEN))])])


##= docs/spec/site.md#signing-in
##% Signing in MUST exchange a valid token for a random session id of 256 bits, which is stored only as a hash and ends
##% after 12 hours, by signing out, or when the token stops working.
def test_a_session_ends_after_twelve_hours_by_signing_out_and_with_its_token() -> None:
    now = 0.0
    sessions = BrowserSessions(clock=lambda: now)
    first, second, third = (sessions.begin(TOKEN) for _ in range(3))
    assert len({first, second, third}) == 3
    assert sessions.caller_of(first, VALID) == ANN
    sessions.end(first)
    assert sessions.caller_of(first, VALID) is None
    assert sessions.caller_of(second, Authenticator(require_token=True)) is None  # the token was revoked
    assert sessions.caller_of(second, VALID) is None  # for good
    now = SESSION_SECONDS
    assert sessions.caller_of(third, VALID) is None


def test_neither_the_id_of_a_session_nor_its_token_is_stored() -> None:
    sessions = BrowserSessions()
    session_id = sessions.begin(TOKEN)
    stored = repr(vars(sessions))
    assert session_id not in stored
    assert TOKEN not in stored


def test_the_token_of_a_form_is_bound_to_its_session() -> None:
    sessions = BrowserSessions()
    first, second = sessions.begin(TOKEN), sessions.begin(TOKEN)
    assert sessions.is_form_token(first, sessions.form_token(first))
    assert not sessions.is_form_token(second, sessions.form_token(first))
    assert not sessions.is_form_token(first, "")
    assert not sessions.is_form_token(first, "\udcff")


##= docs/spec/site.md#signing-in
##% The name of the session cookie MUST contain the port, because all ports of a host share their cookies.
def test_cookies_of_another_port_are_not_read() -> None:
    assert cookie_name("127.0.0.1:8765", is_secure=False) == "contextive-session-8765"
    assert cookie_name("example.org", is_secure=True) == "__Host-contextive-session-443"
    sent = "contextive-session-8765=ours; contextive-session-9999=theirs"
    assert session_id_of(sent, "127.0.0.1:8765") == "ours"
    assert session_id_of("contextive-session-9999=theirs", "127.0.0.1:8765") is None
    assert session_id_of('=;;;"', "127.0.0.1:8765") is None

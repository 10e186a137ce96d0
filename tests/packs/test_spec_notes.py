"""Requirements of the notes pack that no other test covers."""

from __future__ import annotations

from pathlib import Path

from tests.raw_clients import StdioClient


##= docs/spec/notes.md#data-sent-to-models
##% The model of the connected client MUST NOT write answers unless `notes.askClientModel` is true.
def test_the_clients_model_is_used_only_if_configured(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "tokens.md").write_text("Tokens expire daily.\n", encoding="utf-8")
    with StdioClient("serve", "--stdio", cwd=tmp_path) as pipe:
        pipe.initialize(capabilities={"sampling": {}})
        answer = pipe.call("ask", {"question": "When do tokens expire?"})
    assert answer["isError"] is True
    assert "AI search is not available" in answer["content"][0]["text"]

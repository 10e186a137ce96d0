"""Detect secrets, which must never be indexed, by file name and by content."""

from __future__ import annotations

import re
from typing import Final

_NAMES: Final = frozenset(
    {
        ".dockercfg", ".git-credentials", ".htpasswd", ".my.cnf", ".netrc", "_netrc", ".npmrc", ".pgpass", ".pypirc",
        ".s3cfg", ".yarnrc.yml", "application_default_credentials.json", "client_secret.json", "credentials",
        "credentials.json", "credentials.toml", "credentials.yaml", "credentials.yml", "service-account.json",
        "service_account.json",
    }
)  # fmt: skip
_SUFFIXES: Final = (
    ".env", ".jks", ".kdb", ".kdbx", ".key", ".keystore", ".ovpn", ".p12", ".pem", ".pfx", ".pkcs12", ".ppk", ".tfstate",
    ".tfstate.backup",
)  # fmt: skip
_PREFIXES: Final = (".env.", "client_secret_", "id_dsa", "id_ecdsa", "id_ed25519", "id_rsa")

# A literal that must occur, which is fast to search for, and the pattern that makes it a secret.
_PATTERNS: Final = tuple(
    (anchor, re.compile(pattern, re.ASCII))
    for anchor, pattern in (
        # The marker alone is not a key: another line must follow it, in a file or in a string.
        (
            "PRIVATE KEY",
            r"-----BEGIN (?:[A-Z0-9]{1,16} ){0,4}PRIVATE KEY(?: BLOCK)?-----[ \t]*(?:\n|\r|\\[rn])(?:\s|\\[rn]){0,8}[\w+/]{3}",
        ),
        ("PuTTY-User-Key-File-", r"PuTTY-User-Key-File-\d: "),
        ("AKIA", r"\bAKIA[A-Z0-9]{16}\b"),
        ("ASIA", r"\bASIA[A-Z0-9]{16}\b"),
        (
            "ecret",
            r"(?i:aws_?secret_?(?:access_?)?key)[\"']?\s{0,4}[=:]\s{0,4}[\"']?[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+])",
        ),
        ("SECRET", r"AWS_SECRET_(?:ACCESS_)?KEY[\"']?\s{0,4}[=:]\s{0,4}[\"']?[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+])"),
        ("ghp_", r"\bghp_[A-Za-z0-9]{36}"),
        ("gho_", r"\bgho_[A-Za-z0-9]{36}"),
        ("ghu_", r"\bghu_[A-Za-z0-9]{36}"),
        ("ghs_", r"\bghs_[A-Za-z0-9]{36}"),
        ("ghr_", r"\bghr_[A-Za-z0-9]{36}"),
        ("github_pat_", r"\bgithub_pat_[A-Za-z0-9_]{22}"),
        ("glpat-", r"\bglpat-[A-Za-z0-9_-]{20}"),
        ("xox", r"\bxox[abeoprs]-[A-Za-z0-9-]{10}"),
        ("hooks.slack.com", r"hooks\.slack\.com/services/T[A-Z0-9]{6,}/B[A-Z0-9]{6,}/[A-Za-z0-9]{16}"),
        ("sk-ant-", r"\bsk-ant-[A-Za-z0-9_-]{20}"),
        ("sk-", r"\bsk-(?:(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20}|[A-Za-z0-9]{32})"),
        ("AIza", r"\bAIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"),
        ("GOCSPX-", r"\bGOCSPX-[A-Za-z0-9_-]{28}"),
        ("ya29.", r"\bya29\.[A-Za-z0-9_-]{30}"),
        ("_live_", r"\b[srp]k_live_[A-Za-z0-9]{20}"),
        ("npm_", r"\bnpm_[A-Za-z0-9]{36}\b"),
        ("hf_", r"\bhf_[A-Za-z]{34}\b"),
        ("pypi-AgE", r"\bpypi-AgE[A-Za-z0-9_-]{50}"),
    )
)


def is_secret_name(name: str) -> bool:
    """Whether the name of a file suggests that it contains secrets. An example of an environment file does not."""
    name = name.lower()
    if name.endswith(".env.example"):
        return False
    return name in _NAMES or name.startswith(_PREFIXES) or name.endswith(_SUFFIXES)


def contains_secret(text: str) -> bool:
    """Whether a text contains a private key or a token in a known format."""
    return any(anchor in text and pattern.search(text) for anchor, pattern in _PATTERNS)

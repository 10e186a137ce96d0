from __future__ import annotations

import pytest

from contextive.workspace.secrets import contains_secret, is_secret_name

# Concatenated, so secret scanners do not report this file.
TOKENS = [
    "AK" + "IA" + "Q" * 16,
    "AS" + "IA" + "Z9" * 8,
    "aws_secret_" + "access_key = " + "a1B2" * 10,
    "gh" + "p_" + "a1" * 18,
    "gh" + "s_" + "a1" * 18,
    "github" + "_pat_" + "A1b2" * 8,
    "gl" + "pat-" + "x1" * 10,
    "xo" + "xb-" + "1234567890-abcdef",
    "sk" + "-" + "a1B2" * 12,
    "sk" + "-proj-" + "a1B2" * 12,
    "sk" + "-ant-" + "api03-" + "a1B2" * 12,
    "AI" + "za" + "a1B2_" * 7,
    "GOCS" + "PX-" + "a1B2" * 7,
    "sk" + "_live_" + "a1B2" * 6,
    "np" + "m_" + "a1B2" * 9,
]


@pytest.mark.parametrize("token", TOKENS)
def test_tokens_in_known_formats_are_secrets(token: str) -> None:
    assert contains_secret(f"some text\nkey: '{token}'\nmore")
    assert contains_secret(token)


@pytest.mark.parametrize("kind", ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED ", "DSA "])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\\n"])
def test_private_keys_are_secrets_in_files_and_in_strings(kind: str, newline: str) -> None:
    begin = f"-----BEGIN {kind}PRIVATE " + "KEY-----"
    assert contains_secret(f"x = '{begin}{newline}MIIEvQIBADANBg{newline}'")


def test_a_pgp_private_key_is_a_secret() -> None:
    assert contains_secret("-----BEGIN PGP PRIVATE " + "KEY BLOCK-----\nVersion: 1\n\nlQOYBF\n")


@pytest.mark.parametrize(
    "text",
    [
        "the line `-----BEGIN PRIVATE " + "KEY-----` starts a key",
        "-----BEGIN PRIVATE " + "KEY-----\n...\n-----END PRIVATE KEY-----",
        "-----BEGIN PUBLIC KEY-----\nMIIBIjANBg\n",
        "-----BEGIN CERTIFICATE-----\nMIIBIjANBg\n",
        "task-list and risk-averse words, sk-learn",
        "AKIA is a prefix, ghp_ is another, and AIza a third",
        "MAKIAVELLI" + "X" * 30,
        "ghp_short",
        "",
    ],
)
def test_mentions_and_public_keys_are_not_secrets(text: str) -> None:
    assert not contains_secret(text)


@pytest.mark.parametrize(
    "name",
    [".env", ".env.local", ".ENV", ".env.production", "prod.env", "server.pem", "tls.key", "a.p12", "a.pfx", "b.jks", "id_rsa",
     "id_rsa.pub", "id_ed25519", "vault.kdbx", ".npmrc", ".pypirc", ".netrc", "credentials.json", "Credentials", "x.keystore",
     "terraform.tfstate", ".git-credentials"],
)  # fmt: skip
def test_names_of_secret_files_are_recognised(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [".env.example", "prod.env.example", "environment.py", "keys.py", "monkey.md", "secrets.py", "key", "README.md"],
)
def test_other_names_are_not_secret(name: str) -> None:
    assert not is_secret_name(name)

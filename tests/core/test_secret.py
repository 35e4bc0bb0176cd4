"""Secrets in text are seen, by their sort; words about secrets are not."""

from __future__ import annotations

import pytest

from palimpsest.core.secret import secret_in

AWS = "AKIA" + "IOSFODNN7EXAMPLE"
GITHUB = "ghp_" + "a1B2" * 9
SLACK = "xoxb" + "-123456789012-abcdefABCDEF"
JWT = "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0NTY3ODkwIn0" + ".dBjftJeZ4CVPmB92K27uhbUJU1p1r"


@pytest.mark.parametrize(
    ("text", "sort"),
    [
        (f"use {AWS} for the bucket", "an AWS access key"),
        ("key AIza" + "Sy" * 17 + "x", "a Google API key"),
        (f"token {GITHUB}", "a GitHub token"),
        (f"post with {SLACK}", "a Slack token"),
        (f"Bearer {JWT}", "a JSON web token"),
        ("-----BEGIN RSA PRIVATE " + "KEY-----\nMIIE", "a private key"),
        ("-----BEGIN PGP PRIVATE " + "KEY BLOCK-----", "a private key"),
        ("postgresql://etl:s3cr3t@db/shop", "a password in a URL"),
        ("password=hunter", "a password or key"),
        ('"api_key": "a1b2c3d4e5"', "a password or key"),
        ("DB_PASSWORD: x7Kq!92", "a password or key"),
        ("the password is in the vault; password: Tr0ub4dor&3", "a password or key"),
        ("Authorization: Bearer abcdefghijklmnop", "a bearer token"),
    ],
)
def test_a_secret_is_named_by_its_sort(text: str, sort: str) -> None:
    assert secret_in(text) == sort


@pytest.mark.parametrize(
    "text",
    [
        "the password column is hashed with bcrypt",
        "password: varchar(255), never null",
        "Password: see the vault",
        "api_key=${API_KEY}",
        "secret: <redacted>",
        "the URL is postgresql://db.example.org:5432/shop",
        "see https://example.org/a:b@c",
        "column eyJ is base64; token counts per day",
        "ask AKIA for access",
        "die Passwörter stehen nicht hier",
    ],
)
def test_a_word_about_secrets_is_none(text: str) -> None:
    assert secret_in(text) is None

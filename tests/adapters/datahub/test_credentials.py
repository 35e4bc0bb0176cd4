"""Credentials are found as DataHub's own command line finds them, and shown nowhere."""

from __future__ import annotations

import pytest

from palimpsest.adapters.datahub.credentials import Credentials, find, normalised
from palimpsest.core.errors import ConfigError

ENV_FILE = """# a comment
gms:
  extra_headers: null
  server: "https://DataHub.example.org:443/"
  token: 'from-the-file'
other:
  token: not-this-one
"""


@pytest.mark.parametrize(
    ("given", "environ", "expected"),
    [
        ("http://one:8080", {"DATAHUB_GMS_URL": "http://two"}, "http://one:8080"),
        ("", {"DATAHUB_GMS_URL": "http://two:8080/"}, "http://two:8080"),
        ("", {"DATAHUB_GMS_HOST": "three", "DATAHUB_GMS_PORT": "8080"}, "http://three:8080"),
        ("", {"DATAHUB_GMS_HOST": "three", "DATAHUB_GMS_PORT": "443"}, "https://three"),
        ("", {"DATAHUB_GMS_HOST": "three", "DATAHUB_GMS_PROTOCOL": "https"}, "https://three"),
        ("", {"DATAHUB_GMS_HOST": "http://three", "DATAHUB_GMS_PORT": "8080"}, "http://three:8080"),
        ("", {}, "https://datahub.example.org"),
    ],
)
def test_what_is_given_comes_before_the_environment_and_that_before_the_file(tmp_path, given, environ, expected):
    (tmp_path / ".datahubenv").write_text(ENV_FILE)
    assert find(given, environ=environ, home=tmp_path).url == expected


def test_the_token_of_the_file_goes_to_the_server_of_the_file_only(tmp_path):
    (tmp_path / ".datahubenv").write_text(ENV_FILE)
    assert find(environ={}, home=tmp_path).token == "from-the-file"
    assert find("https://datahub.example.org/", environ={}, home=tmp_path).token == "from-the-file"
    assert find("https://elsewhere", environ={}, home=tmp_path).token == ""
    assert find("https://elsewhere", environ={"DATAHUB_GMS_TOKEN": "t"}, home=tmp_path).token == "t"
    assert find("https://elsewhere", "given", environ={"DATAHUB_GMS_TOKEN": "t"}, home=tmp_path).token == "given"


@pytest.mark.parametrize(
    "content", ["", "gms: x", "gms:\n  server:\n  token: null\n", "[]", "gms\n\x00", "server: http://x"]
)
def test_a_file_that_names_no_server_names_none(tmp_path, content):
    (tmp_path / ".datahubenv").write_text(content)
    with pytest.raises(ConfigError, match="no DataHub is named"):
        find(environ={}, home=tmp_path)


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("HTTP://DataHub.Example.org:80/", "http://datahub.example.org"),
        ("https://user:secret@h:8443/api/gms/?token=x#y", "https://h:8443/api/gms"),
        ("http://[::1]:8080", "http://[::1]:8080"),
        (" http://h:8080/api/graphql ", "http://h:8080"),
    ],
)
def test_an_address_has_one_spelling_and_no_credentials(written, plain):
    assert normalised(written) == plain


@pytest.mark.parametrize("written", ["", "h:8080", "ftp://h", "http://", "http://h:port", "file:///etc/passwd"])
def test_what_is_no_address_is_refused_without_being_repeated(written):
    with pytest.raises(ConfigError, match="no http or https URL"):
        normalised(written)


def test_a_token_is_not_in_what_is_printed():
    assert "secret" not in repr(Credentials(url="http://h", token="secret"))


@pytest.mark.parametrize("token", ["a\nb", "ключ"])
def test_a_token_that_no_header_can_hold_is_refused_unseen(tmp_path, token):
    with pytest.raises(ConfigError) as refused:
        find("http://h", token, environ={}, home=tmp_path)
    assert token not in str(refused.value)

"""`palimpsest doctor` about the DataHub that is named: one line a check, what to do, and never the token."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from palimpsest.surfaces.cli.app import main
from palimpsest.testing.gms import GmsDouble
from palimpsest.testing.gms.double import READER_TOKEN
from tests.building import Memory, dataset, mcp, owners
from tests.robustness.catalogs import write
from tests.testing.second import datahub_environment

ORDERS = dataset("shop.orders")
RECORDS = [
    mcp(ORDERS, "datasetKey", {"platform": "urn:li:dataPlatform:postgres", "name": "shop.orders", "origin": "PROD"}),
    mcp(ORDERS, "status", {"removed": False}),
    mcp(ORDERS, "ownership", owners("jonas")),
]

Doctor = Callable[[], tuple[int, dict[str, str]]]


@pytest.fixture
def gms(tmp_path: Path) -> Iterator[GmsDouble]:
    """A DataHub with one table."""
    with GmsDouble.serving(load=[write(tmp_path, "catalog.json", RECORDS)]) as double:
        yield double


@pytest.fixture
def doctor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Doctor:
    """Asks the doctor: the exit code, and `health found: do` of each check."""
    memory = Memory(tmp_path)
    memory.remember(RECORDS, at="2026-03-02T08:00:00Z")
    (store,) = tmp_path.glob("*.db")
    for name in list(os.environ):
        if name.startswith("DATAHUB_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PALIMPSEST_DATAHUB__MCP_COMMAND", '["no-such-server"]')
    monkeypatch.chdir(tmp_path)

    def ask() -> tuple[int, dict[str, str]]:
        code = main(["--store", f"sqlite:///{store}", "doctor"])
        out, err = capsys.readouterr()
        assert err == ""
        rows = [line.split(maxsplit=1) for line in out.splitlines()]
        return code, {rest.split("  ")[0]: f"{health} {rest.split('  ', 1)[1].strip()}" for health, rest in rows}

    return ask


def test_without_a_datahub_one_line_says_so(doctor: Doctor) -> None:
    code, checks = doctor()
    assert (code, checks["DataHub"]) == (0, "ok not named")
    assert not {"token", "MCP server", "entities", "source"} & set(checks)


def test_the_language_model_is_told_and_not_asked(doctor: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GROQ_API_KEY", "OLLAMA_HOST"):
        monkeypatch.delenv(name, raising=False)
    assert doctor()[1]["model"] == "ok none: the rules judge alone"
    monkeypatch.setenv("PALIMPSEST_MODEL__PROVIDER", "groq")
    code, checks = doctor()
    assert (code, checks["model"]) == (
        1,
        "fail Groq wants a key, and none is set: set GROQ_API_KEY, or model.key",
    )
    monkeypatch.setenv("PALIMPSEST_MODEL__KEY", "a-secret-of-old")
    code, checks = doctor()
    assert (code, checks["model"]) == (0, "ok groq:openai/gpt-oss-20b")
    monkeypatch.setenv("PALIMPSEST_MODEL__PROVIDER", "ollama")
    monkeypatch.setenv("PALIMPSEST_MODEL__URL", "http://127.0.0.1:9")
    code, checks = doctor()
    assert code == 1
    assert checks["model"].startswith("fail Ollama at http://127.0.0.1:9 cannot be reached")
    assert "a-secret-of-old" not in str(checks)


def test_a_datahub_that_can_be_read(doctor: Doctor, gms: GmsDouble, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATAHUB_GMS_URL", gms.url)
    monkeypatch.setenv("DATAHUB_GMS_TOKEN", gms.token)
    code, checks = doctor()
    assert code == 0
    assert checks["extra datahub"] == "ok installed"
    assert checks["DataHub"] == f"ok {gms.url}, version v1.4.0"
    assert checks["token"] == "ok of urn:li:corpuser:datahub"
    assert checks["MCP server"].startswith("warn no command no-such-server: only scan datahub-mcp needs it")
    assert checks["entities"] == "ok 1"
    assert checks["source"].startswith("ok scan datahub-graphql: ")


def test_credentials_of_the_home_folder(doctor: Doctor, gms: GmsDouble, tmp_path: Path) -> None:
    (tmp_path / ".datahubenv").write_text(f"gms:\n  server: {gms.url}\n  token: {gms.token}\n")
    assert doctor()[1]["token"] == "ok of urn:li:corpuser:datahub"


def test_a_token_that_is_refused_is_not_shown(doctor: Doctor, gms: GmsDouble, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATAHUB_GMS_URL", gms.url)
    monkeypatch.setenv("DATAHUB_GMS_TOKEN", "a-secret-of-old")
    code, checks = doctor()
    assert code == 1
    assert checks["DataHub"].startswith("ok ")
    assert checks["token"].startswith(f"fail {gms.url} refuses the token (401): set DATAHUB_GMS_TOKEN")
    assert "a-secret-of-old" not in str(checks)
    assert "source" not in checks


def test_a_datahub_that_is_down(doctor: Doctor, gms: GmsDouble, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATAHUB_GMS_URL", gms.url)
    gms.stop()
    code, checks = doctor()
    assert code == 1
    assert checks["DataHub"].startswith(f"fail {gms.url} gives no answer: ")
    assert "is DataHub up?" in checks["DataHub"]
    assert "token" not in checks


def test_an_address_that_is_none(doctor: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATAHUB_GMS_URL", "localhost")
    code, checks = doctor()
    assert (code, checks["DataHub"].split(":")[0]) == (1, "fail the DataHub address is no http or https URL")


def test_a_server_that_the_settings_need_and_lack(
    doctor: Doctor, gms: GmsDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATAHUB_GMS_URL", gms.url)
    monkeypatch.setenv("DATAHUB_GMS_TOKEN", gms.token)
    monkeypatch.setenv("PALIMPSEST_RUN__SOURCE", "datahub-mcp")
    code, checks = doctor()
    assert (code, checks["MCP server"].split()[0]) == (1, "fail")


def test_the_version_of_the_server(doctor: Doctor, gms: GmsDouble, monkeypatch: pytest.MonkeyPatch) -> None:
    command = datahub_environment() / "bin" / "mcp-server-datahub"
    monkeypatch.setenv("DATAHUB_GMS_URL", gms.url)
    monkeypatch.setenv("DATAHUB_GMS_TOKEN", gms.token)
    monkeypatch.setenv("PALIMPSEST_DATAHUB__MCP_COMMAND", f'["{command}"]')
    assert doctor()[1]["MCP server"] == f"ok {command}, mcp-server-datahub 0.8.0"


def test_an_mcp_server_that_is_not_there(doctor: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALIMPSEST_DATAHUB__MCP_URL", "http://127.0.0.1:9/mcp")
    code, checks = doctor()
    assert (code, checks["entities"].split()[0]) == (1, "fail")


# --- links --------------------------------------------------------------------------------------------------------


@pytest.fixture
def publishing(gms: GmsDouble, monkeypatch: pytest.MonkeyPatch) -> GmsDouble:
    """A DataHub that links are to be written to."""
    monkeypatch.setenv("DATAHUB_GMS_URL", gms.url)
    monkeypatch.setenv("DATAHUB_GMS_TOKEN", gms.token)
    monkeypatch.setenv("PALIMPSEST_PUBLISH__TO", "datahub")
    return gms


def test_links_are_looked_at_only_where_they_are_to_be_written(
    doctor: Doctor, gms: GmsDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATAHUB_GMS_URL", gms.url)
    monkeypatch.setenv("DATAHUB_GMS_TOKEN", gms.token)
    assert "links" not in doctor()[1]
    assert gms.asked("palimpsestMayLink") == []
    monkeypatch.setenv("PALIMPSEST_PUBLISH__TO", "links.json")
    assert "links" not in doctor()[1]
    monkeypatch.setenv("PALIMPSEST_PUBLISH__TOKEN", gms.token)
    assert doctor()[1]["links"] == "ok may be edited"


def test_a_token_that_may_write_links(doctor: Doctor, publishing: GmsDouble) -> None:
    code, checks = doctor()
    assert (code, checks["links"]) == (0, "ok may be edited")
    assert publishing.writes == []


def test_a_token_that_may_only_read(doctor: Doctor, publishing: GmsDouble, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALIMPSEST_PUBLISH__TOKEN", READER_TOKEN)
    code, checks = doctor()
    assert code == 1
    assert checks["links"].startswith("fail the token may not edit them: in DataHub under Settings, Permissions")
    assert READER_TOKEN not in str(checks)
    assert publishing.writes == []


def test_a_publish_token_that_is_refused(
    doctor: Doctor, publishing: GmsDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_PUBLISH__TOKEN", "a-secret-of-old")
    code, checks = doctor()
    assert (code, checks["token"].split()[0]) == (1, "ok")
    assert checks["links"].startswith(f"fail {publishing.url} refuses the token (401): set publish.token")
    assert "a-secret-of-old" not in str(checks)


@pytest.mark.parametrize("strike", ["an older server", "nothing listed"])
def test_where_datahub_does_not_tell_the_doctor_says_so(doctor: Doctor, publishing: GmsDouble, strike: str) -> None:
    if strike == "an older server":
        words = "Validation error (FieldUndefined) : Cannot query field canEditLinks"
        publishing.faults.error(words, match="palimpsestMayLink")
    else:
        publishing.store.delete(ORDERS)
    code, checks = doctor()
    assert (code, checks["links"].split(":")[0]) == (0, "warn cannot be told without writing")


def test_without_a_datahub_that_answers_links_are_not_asked_about(
    doctor: Doctor, publishing: GmsDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATAHUB_GMS_TOKEN", "a-secret-of-old")
    assert "links" not in doctor()[1]

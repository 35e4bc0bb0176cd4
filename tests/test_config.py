"""The settings: precedence, origins, and errors that name the nearest valid key."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import SecretStr, ValidationError

from palimpsest import config
from palimpsest.config import Loaded, OriginKind
from palimpsest.core.errors import ConfigError


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder, no variable of ours, and a project folder below it as the current one."""
    import os

    for variable in [name for name in os.environ if name.startswith(("PALIMPSEST_", "XDG_"))]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def write_user_file(home: Path, text: str) -> Path:
    import platformdirs

    path = Path(platformdirs.user_config_dir("palimpsest")) / "palimpsest.toml"
    assert path.is_relative_to(home)
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return path


def budget_and_origin(loaded: Loaded) -> tuple[int, str]:
    return loaded.settings.brief.budget, str(loaded.origins["brief.budget"])


def test_without_anything_every_value_is_the_default(tmp_path: Path) -> None:
    loaded = config.load()
    assert {key: origin.kind for key, origin in loaded.origins.items()} == {
        key.name: OriginKind.DEFAULT for key in config.all_keys()
    }
    assert {key.name: loaded.value(key.name) for key in config.all_keys()} == {
        "store": f"sqlite:///{tmp_path}/.local/share/palimpsest/memory.db",
        "scan.include": (),
        "scan.exclude": (),
        "scan.platforms": (),
        "scan.environments": (),
        "scan.domains": (),
        "scan.ignore": (),
        "scan.ignore_defaults": True,
        "scan.mass_change_share": 0.2,
        "scan.mass_change_cells": 100,
        "datahub.url": None,
        "datahub.token": None,
        "datahub.mcp_command": ("uvx", "mcp-server-datahub@0.8.0"),
        "datahub.mcp_url": None,
        "datahub.concurrency": 4,
        "datahub.timeout_seconds": 30,
        "datahub.resume_minutes": 60,
        "run.source": None,
        "run.source_name": None,
        "run.complete": False,
        "run.consolidate": True,
        "run.verify": True,
        "run.publish": False,
        "run.fail_on": "",
        "publish.to": None,
        "publish.token": None,
        "console.public_url": None,
        "console.token": None,
        "embed.provider": "hashed",
        "embed.model": None,
        "embed.url": None,
        "embed.key": None,
        "embed.cut": False,
        "embed.path": None,
        "embed.sha256": None,
        "embed.batch": 32,
        "embed.threads": 2,
        "embed.timeout_seconds": 60,
        "model.provider": "none",
        "model.model": None,
        "model.url": None,
        "model.key": None,
        "model.timeout_seconds": 120,
        "model.tokens_per_run": 0,
        "model.dollars_per_run": 0,
        "model.price_input": None,
        "model.price_output": None,
        "model.record": None,
        "model.replay": None,
        "model.prompts": None,
        "brief.budget": 2000,
        "keep.recalls_days": 90,
        "keep.runs_days": 365,
        "keep.deliveries_days": 90,
        "mcp.token": None,
        "mcp.hosts": (),
        "mcp.timeout_seconds": 10,
        "notify": (),
        "smtp.host": None,
        "smtp.port": 0,
        "smtp.security": "starttls",
        "smtp.user": None,
        "smtp.password": None,
        "smtp.sender": None,
    }


def test_every_setting_has_a_description_and_a_line_of_its_own() -> None:
    descriptions = [key.description for key in config.all_keys()]
    assert all(descriptions)
    assert len(set(descriptions)) == len(descriptions)


def test_a_flag_wins_over_the_environment_over_the_project_over_the_user_over_the_default(
    tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert budget_and_origin(config.load()) == (2000, "default")
    user_file = write_user_file(tmp_path, "[brief]\nbudget = 1\n")
    assert budget_and_origin(config.load()) == (1, str(user_file))
    (project / "palimpsest.toml").write_text("brief.budget = 2\n")
    assert budget_and_origin(config.load()) == (2, str(project / "palimpsest.toml"))
    monkeypatch.setenv("PALIMPSEST_BRIEF__BUDGET", "3")
    assert budget_and_origin(config.load()) == (3, "PALIMPSEST_BRIEF__BUDGET")
    assert budget_and_origin(config.load(overrides={"brief.budget": 4})) == (4, "flag")
    assert budget_and_origin(config.load(overrides={"brief.budget": None})) == (3, "PALIMPSEST_BRIEF__BUDGET")


def test_layers_merge_key_by_key(tmp_path: Path, project: Path) -> None:
    write_user_file(tmp_path, "[scan]\nplatforms = ['hive']\nenvironments = ['DEV']\n")
    (project / "palimpsest.toml").write_text("[scan]\nenvironments = ['PROD']\n")
    scan = config.load().settings.scan
    assert (scan.platforms, scan.environments) == (("hive",), ("PROD",))


def test_settings_read_nothing_by_themselves(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALIMPSEST_BRIEF__BUDGET", "3")
    (project / "palimpsest.toml").write_text("brief.budget = 2\n")
    assert config.Settings().brief.budget == 2000


def test_settings_are_frozen() -> None:
    settings = config.load().settings
    with pytest.raises(ValidationError):
        settings.brief.budget = 3  # type: ignore[misc]


def test_the_project_file_is_found_above_up_to_the_top_of_the_git_tree(
    tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "palimpsest.toml").write_text("brief.budget = 2\n")
    below = project / "models" / "marts"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert config.load().settings.brief.budget == 2
    (project / "models" / ".git").mkdir()
    assert config.load().settings.brief.budget == 2000


def test_the_project_file_is_not_looked_for_above_the_home_folder(
    tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "palimpsest.toml").write_text("brief.budget = 2\n")
    assert config.load().settings.brief.budget == 2
    monkeypatch.setenv("HOME", str(project))
    assert config.load().settings.brief.budget == 2000


@pytest.mark.parametrize("by", ["flag", "variable"])
def test_a_named_file_takes_the_place_of_the_one_found(
    by: str, tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "palimpsest.toml").write_text("brief.budget = 2\n")
    other = tmp_path / "other.toml"
    other.write_text("run.publish = true\n")
    if by == "variable":
        monkeypatch.setenv("PALIMPSEST_CONFIG", "~/other.toml")
    loaded = config.load(other if by == "flag" else None)
    assert (loaded.settings.brief.budget, loaded.settings.run.publish) == (2000, True)
    assert str(loaded.origins["run.publish"]) == str(other)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("[scan]\ninculde = []\n", "unknown key: scan.inculde", "the nearest valid key is scan.include"),
        ("[brieff]\nbudget = 1\n", "unknown key: brieff", "the nearest valid key is brief"),
        ("scan = true\n", "scan is a section, not a value", "write it as [scan]"),
    ],
)
def test_an_unknown_key_of_a_file_names_the_file_and_the_nearest_key(
    text: str, message: str, hint: str, project: Path
) -> None:
    path = project / "palimpsest.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        config.load()
    assert (caught.value.message, caught.value.hint) == (f"{path}: {message}", hint)


@pytest.mark.parametrize(
    ("variable", "hint"),
    [
        ("PALIMPSEST_BREIF__BUDGET", "the nearest valid one is PALIMPSEST_BRIEF__BUDGET"),
        ("PALIMPSEST_BRIEF_BUDGET", "the nearest valid one is PALIMPSEST_BRIEF__BUDGET"),
        ("PALIMPSEST_CONFG", "the nearest valid one is PALIMPSEST_CONFIG"),
    ],
)
def test_an_unknown_variable_names_the_nearest(variable: str, hint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "1")
    with pytest.raises(ConfigError) as caught:
        config.load()
    assert (caught.value.message, caught.value.hint) == (f"unknown variable: {variable}", hint)


def test_variables_beside_the_settings_and_empty_ones_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALIMPSEST_TEST_POSTGRES_URL", "x")
    monkeypatch.setenv("PALIMPSEST_DEBUG", "1")
    monkeypatch.setenv("PALIMPSEST_LOG", "info")
    monkeypatch.setenv("PALIMPSEST_STORE", "")
    assert config.load().origins["store"].kind is OriginKind.DEFAULT


def test_an_unknown_override_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"unknown setting: brief\.bugdet"):
        config.load(overrides={"brief.bugdet": 1})


@pytest.mark.parametrize(
    ("content", "where"),
    [
        (b"brief.budget = 1\nrun.source = =\n", "palimpsest.toml:2: not TOML: "),
        (b"brief.budget = 1\n[scan", "palimpsest.toml:2: not TOML: "),
        (b"run.source = '\xff'\n", "palimpsest.toml: not UTF-8 text"),
    ],
)
def test_a_broken_file_is_an_error_with_file_and_line(content: bytes, where: str, project: Path) -> None:
    (project / "palimpsest.toml").write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        config.load()
    assert where in caught.value.message
    assert caught.value.hint


def test_a_named_file_that_is_missing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"missing\.toml: cannot be read: No such file or directory"):
        config.load(tmp_path / "missing.toml")


@pytest.mark.parametrize(
    ("key", "value", "what"),
    [
        ("brief.budget", "many", "input should be a valid integer"),
        ("brief.budget", 0, "input should be greater than or equal to 1"),
        ("run.fail_on", "always", "input should be '', 'change' or 'breaking'"),
        ("scan.mass_change_share", 1.5, "input should be less than or equal to 1"),
        ("scan.ignore", ["owner ship"], "an ignore rule is ASPECT or ASPECT:KEYGLOB"),
        ("console.public_url", "ftp://example.org", "not an http(s) URL"),
        ("store", "/var/lib/memory.db", "not an SQLAlchemy URL"),
    ],
)
def test_a_value_of_the_wrong_form_names_key_and_origin(key: str, value: object, what: str) -> None:
    with pytest.raises(ConfigError) as caught:
        config.load(overrides={key: value})
    assert caught.value.message.startswith(f"{key} (from flag): {what}")


def test_an_error_about_the_store_does_not_repeat_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALIMPSEST_STORE", "user:hunter2@host")
    with pytest.raises(ConfigError) as caught:
        config.load()
    assert "hunter2" not in caught.value.message + caught.value.hint
    assert "PALIMPSEST_STORE" in caught.value.message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("snowflake", ("snowflake",)),
        ('["snowflake", "dbt"]', ("snowflake", "dbt")),
        ("[]", ()),
    ],
)
def test_a_list_in_a_variable_is_a_json_array_or_one_item(
    text: str, expected: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_SCAN__PLATFORMS", text)
    assert config.load().settings.scan.platforms == expected


@pytest.mark.parametrize("text", ["snowflake,dbt", '["snowflake"'])
def test_a_list_in_a_variable_is_never_guessed(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALIMPSEST_SCAN__PLATFORMS", text)
    with pytest.raises(ConfigError, match="PALIMPSEST_SCAN__PLATFORMS: not a list"):
        config.load()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("sqlite:///~/a.db", "sqlite:///{home}/a.db"),
        ("sqlite:///data/a.db", "sqlite:///{folder}/data/a.db"),
        ("sqlite:////srv/a.db", "sqlite:////srv/a.db"),
        ("sqlite+pysqlite:///a.db?timeout=5", "sqlite+pysqlite:///{folder}/a.db?timeout=5"),
        ("sqlite://", "sqlite://"),
        ("sqlite:///:memory:", "sqlite:///:memory:"),
        ("cockroachdb+psycopg://u@host:26257/memory", "cockroachdb+psycopg://u@host:26257/memory"),
    ],
)
def test_a_sqlite_path_starts_at_the_folder_of_the_file_that_names_it(
    given: str, expected: str, tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "palimpsest.toml").write_text(f'store = "{given}"\n')
    (project / "below").mkdir()
    monkeypatch.chdir(project / "below")
    assert config.load().settings.store == expected.format(home=tmp_path, folder=project)


def test_a_sqlite_path_of_a_flag_starts_at_the_current_folder(project: Path) -> None:
    assert config.load(overrides={"store": "sqlite:///a.db"}).settings.store == f"sqlite:///{project}/a.db"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (SecretStr("hunter2"), "set"),
        (SecretStr(""), "unset"),
        ("postgresql://alice:hunter2@host/db", "postgresql://alice:***@host/db"),
        ("postgresql://alice:hun@ter/2@host/db", "postgresql://alice:***@host/db"),
        ("postgresql://alice@host/db?password=hunter2&x=1", "postgresql://alice@host/db?password=***&x=1"),
        ("sqlite:////srv/memory.db", "sqlite:////srv/memory.db"),
        (("a", "b"), ("a", "b")),
        (None, None),
    ],
)
def test_what_is_shown_holds_no_secret(value: object, expected: object) -> None:
    assert config.shown(value) == expected


def test_the_store_is_not_in_the_repr() -> None:
    settings = config.load(overrides={"store": "postgresql://alice:hunter2@host/db"}).settings
    assert "hunter2" not in repr(settings)

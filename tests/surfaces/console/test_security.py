"""Who may read, what a browser may do with a page, and that nothing can be written from one."""

from __future__ import annotations

import base64
import time
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa
from starlette.routing import Route
from starlette.testclient import TestClient

from palimpsest.core.errors import ConfigError, StoreError
from palimpsest.store.engine import Connection
from palimpsest.store.schema import run
from palimpsest.surfaces.console.answering import Settled
from palimpsest.surfaces.console.app import create_app
from palimpsest.surfaces.console.pages import PAGES, Desk
from palimpsest.surfaces.console.security import Door, check_binding
from tests.building import Memory
from tests.surfaces.console.reading import client_of, desk_of

TOKEN = "a token of 26 characters.."
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)


def basic(password: str, user: str = "anybody") -> dict[str, str]:
    """A Basic header."""
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}


def bearer(token: str) -> dict[str, str]:
    """A bearer header."""
    return {"Authorization": f"Bearer {token}"}


def test_every_route_is_get_or_head(desk: Desk) -> None:
    routes = [route for route in create_app(desk).routes if isinstance(route, Route)]
    assert len(routes) > 20
    assert {method for route in routes for method in route.methods or ()} == {"GET", "HEAD"}
    assert len(routes) == len(create_app(desk).routes)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])
def test_another_method_is_refused(client: TestClient, method: str) -> None:
    for path in ("/", "/index.json", "/entity/0011223344556677", "/enter"):
        answer = client.request(method, path)
        assert answer.status_code == 405
        assert answer.headers["content-security-policy"] == CSP


def test_every_answer_carries_the_same_strict_headers(client: TestClient) -> None:
    for path in (
        "/",
        "/index.json",
        "/static/console.css",
        "/nothing",
        "/changes?impact=x",
        "/healthz",
        "/openapi.json",
    ):
        headers = client.get(path).headers
        assert headers["content-security-policy"] == CSP, path
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-opener-policy"] == "same-origin"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "set-cookie" not in headers
    assert client.get("/").headers["cache-control"] == "no-store"


def test_without_the_token_nothing_is_told(desk: Desk) -> None:
    client = client_of(desk, token=TOKEN)
    refused = [{}, bearer("wrong"), bearer(""), basic("wrong"), basic(TOKEN[:-1]), {"Authorization": "Basic é"}]
    refused += [{"Cookie": f"palimpsest={value}"} for value in ("0" * 64, TOKEN, "")]
    paths = [page.path.replace("{id}", "0011223344556677") for page in PAGES]
    for path in [*paths, "/openapi.json", "/enter", "/index.json", "/nothing", "/changes?impact=x"]:
        for headers in refused:
            answer = client.get(path, headers={name: value.encode() for name, value in headers.items()})
            assert (path, headers, answer.status_code) == (path, headers, 401)
            assert answer.headers["www-authenticate"] == 'Basic realm="Palimpsest", charset="UTF-8"'
            assert "shop" not in answer.text


def test_the_token_lets_in_as_a_bearer_and_as_a_password(desk: Desk) -> None:
    client = client_of(desk, token=TOKEN)
    for headers in (bearer(TOKEN), basic(TOKEN), basic(TOKEN, user=""), {"Authorization": f"bearer  {TOKEN} "}):
        assert client.get("/", headers=headers).status_code == 200


def test_a_token_of_another_script_lets_in(desk: Desk) -> None:
    token = "Schlüssel für 记忆 und mehr"
    assert client_of(desk, token=token).get("/", headers=basic(token)).status_code == 200


def test_the_token_is_traded_for_a_cookie_that_is_not_the_token(desk: Desk) -> None:
    client = client_of(desk, token=TOKEN)
    answer = client.get("/enter", headers=basic(TOKEN))
    assert answer.status_code == 303
    assert answer.headers["location"] == "/"
    cookie = answer.headers["set-cookie"]
    assert TOKEN not in cookie
    assert all(part in cookie for part in ("HttpOnly", "SameSite=lax", "Path=/", "Max-Age=43200"))
    client.cookies.clear()
    assert client.get("/", headers={"Cookie": cookie.partition(";")[0]}).status_code == 200
    other = client_of(desk, token=TOKEN + "x")
    assert other.get("/", headers={"Cookie": cookie.partition(";")[0]}).status_code == 401


def test_a_cookie_of_a_console_behind_tls_is_never_sent_without(desk: Desk) -> None:
    app = create_app(desk, Settled(door=Door(TOKEN), secure=True, root="/memory"))
    client = TestClient(app, base_url="http://localhost", follow_redirects=False)
    answer = client.get("/enter", headers=basic(TOKEN))
    assert answer.headers["location"] == "/memory/"
    assert "Secure" in answer.headers["set-cookie"]
    assert "Path=/memory" in answer.headers["set-cookie"]


def test_health_is_told_without_the_token_and_nothing_else(desk: Desk) -> None:
    client = client_of(desk, token=TOKEN, host="10.0.0.7")
    assert client.get("/healthz").text == "ok\n"
    assert client.get("/readyz").text == "ready\n"


def test_a_page_of_another_site_cannot_have_its_name_resolved_to_this_machine(desk: Desk) -> None:
    for host in ("evil.example", "localhost.evil.example", "169.254.169.254", "127.0.0.1.evil.example", ""):
        answer = client_of(desk).get("/", headers={"Host": host})
        assert (host, answer.status_code) == (host, 421)
        assert "shop" not in answer.text
    for host in ("localhost", "localhost:8321", "127.0.0.1:8321", "[::1]:8321", "127.8.8.8"):
        assert client_of(desk).get("/", headers={"Host": host}).status_code == 200


def test_the_public_name_of_the_console_is_answered(desk: Desk) -> None:
    client = client_of(desk, public_url="https://memory.example.org/x")
    assert client.get("/", headers={"Host": "memory.example.org"}).status_code == 200
    assert client.get("/", headers={"Host": "other.example.org"}).status_code == 421


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "memory.example.org", ""])
def test_without_a_token_the_console_listens_on_this_machine_only(host: str) -> None:
    with pytest.raises(ConfigError, match="without a token"):
        check_binding(host, "")
    check_binding(host, TOKEN)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.1.2.3"])
def test_this_machine_alone_needs_no_token(host: str) -> None:
    check_binding(host, "")


def test_a_short_token_is_refused() -> None:
    with pytest.raises(ConfigError, match="shorter than 16"):
        check_binding("127.0.0.1", "a" * 15)


def test_a_long_question_and_a_long_path_are_refused(client: TestClient) -> None:
    assert client.get("/search?q=" + "a" * 4_100).status_code == 414
    assert client.get("/" + "a" * 2_100).status_code == 414
    assert client.get("/search?" + "&".join(f"a{n}=1" for n in range(500))).status_code == 200


def test_a_write_inside_a_request_fails_at_the_database(memory: Memory) -> None:
    def writes(desk: Desk, asked: object, place: str) -> object:
        return desk.store.write(lambda connection: connection.execute(sa.update(run).values(founded=99)))

    desk = desk_of(memory)
    page = replace(PAGES[0], path="/writes", name="overview", view=writes)
    app = create_app(desk)
    from palimpsest.surfaces.console import app as module
    from palimpsest.surfaces.console.answering import Answers

    module._add_page(app, Answers(desk, Settled()), page)
    answer = TestClient(app, base_url="http://localhost").get("/writes")
    assert answer.status_code == 503
    assert "memory.db" not in answer.text
    assert memory.store.read(lambda c: c.scalar(sa.select(sa.func.max(run.c.founded)))) < 99
    desk.store.dispose()


def test_a_page_that_takes_too_long_is_given_up(memory: Memory) -> None:
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
    desk = desk_of(memory, milliseconds=200)

    def count(connection: Connection) -> object:
        return connection.execute(sa.text(endless)).scalar()

    began = time.monotonic()
    with pytest.raises(StoreError, match="took too long"):
        desk.store.read(count)
    assert time.monotonic() - began < 3
    assert client_of(desk).get("/").status_code == 200
    desk.store.dispose()


def test_a_failure_is_told_without_internals_and_logged_under_its_number(
    memory: Memory, capsys: pytest.CaptureFixture[str]
) -> None:
    def breaks(question: str) -> None:
        raise ZeroDivisionError("secret detail")

    desk = replace(desk_of(memory), meaning=breaks)
    answer = client_of(desk).get("/search?q=orders")
    assert answer.status_code == 500
    assert "secret detail" not in answer.text
    assert "ZeroDivisionError" not in answer.text
    number = answer.text.partition('<span class="code">')[2][:8]
    assert number in capsys.readouterr().err
    twin = client_of(desk).get("/search.json?q=orders").json()
    assert twin["data"]["status"] == 500
    assert len(twin["data"]["id"]) == 8
    desk.store.dispose()


def test_a_store_that_is_gone_is_told_and_the_console_is_not_ready(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    desk = desk_of(memory)
    client = client_of(desk)
    assert client.get("/readyz").status_code == 200
    with memory.store.engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE evidence")
        connection.exec_driver_sql("ALTER TABLE entity RENAME TO elsewhere")
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0001'")
    memory.store.dispose()
    assert client.get("/healthz").status_code == 200
    assert client.get("/readyz").status_code == 503
    answer = client.get("/entities")
    assert answer.status_code == 503
    assert "no such table" not in answer.text
    assert str(tmp_path) not in answer.text
    desk.store.dispose()

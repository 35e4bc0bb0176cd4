"""Only what rules name is built; mail needs no package, the ways over HTTP name theirs."""

from __future__ import annotations

import subprocess
import sys

from palimpsest.adapters.notify.building import Ways, built
from palimpsest.adapters.notify.mail import MailServer
from palimpsest.core.moment import Moment

SERVER = MailServer(host="127.0.0.1", port=25, security="none", sender="p@example.org")
WITHOUT_HTTPX = """
import sys
sys.modules["httpx"] = None
from palimpsest.adapters.notify.building import Ways, built
from palimpsest.adapters.notify.mail import MailServer
from palimpsest.core.errors import ConfigError
server = MailServer(host="127.0.0.1", port=25, security="none", sender="p@example.org")
with built(Ways(mail=server), lambda: 0) as found:
    print(sorted(found))
try:
    with built(Ways(urls={"slack": {"X": "http://127.0.0.1"}}), lambda: 0):
        print("built")
except ConfigError as error:
    print(error.message); print(error.hint)
"""


def test_what_no_rule_names_is_not_built() -> None:
    ways = Ways(urls={"teams": {"X": "http://127.0.0.1"}, "webhook": {"Y": "http://127.0.0.1"}}, mail=SERVER)
    with built(ways, lambda: Moment(0)) as found:
        assert sorted(found) == ["mail", "teams", "webhook"]
    with built(Ways(), lambda: Moment(0)) as found:
        assert found == {}


def test_without_httpx_mail_goes_and_the_rest_names_the_extra() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_HTTPX], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "['mail']",
        "notices over HTTP need more packages: httpx is missing",
        "install them: pip install 'datahub-palimpsest[notify]'",
    ]

"""`palimpsest demo --serve-gms` serves the sample catalog as DataHub would, and brings its next day on Enter."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import IO, Any

from tests.testing.asking import ORDERS, aspect_path

COMMAND = [sys.executable, "-m", "palimpsest.surfaces.cli.app", "demo"]


def owners(url: str, token: str) -> list[str]:
    request = urllib.request.Request(
        url + aspect_path(ORDERS, "ownership"), headers={"Authorization": f"Bearer {token}"}
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        value: Any = json.loads(answer.read())["aspect"]["com.linkedin.common.Ownership"]
    return [owner["owner"] for owner in value["owners"]]


def line_with(stream: IO[str], text: str) -> str:
    """The next line that contains a text."""
    for line in stream:
        if text in line:
            return line
    raise AssertionError(f"no line with {text}")


def test_the_demo_serves_its_days(tmp_path: Path) -> None:
    with subprocess.Popen(
        [*COMMAND, "--serve-gms"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "HOME": str(tmp_path)},
        start_new_session=True,
    ) as process:
        assert process.stdin
        assert process.stdout
        url = line_with(process.stdout, "DATAHUB_GMS_URL").partition("=")[2].strip()
        token = line_with(process.stdout, "DATAHUB_GMS_TOKEN").partition("=")[2].strip()
        monday = owners(url, token)
        process.stdin.write("\n\n")
        process.stdin.flush()
        line_with(process.stdout, "Friday")
        assert owners(url, token) != monday
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
    assert (process.returncode, errors) == (0, "")


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = subprocess.run(
            [*COMMAND, "--serve-gms", "--port", port],
            capture_output=True,
            text=True,
            env={**os.environ, "HOME": str(tmp_path)},
            check=False,
            timeout=60,
        )
    assert done.returncode == 2
    assert re.search(rf"port {port} cannot be listened on", done.stderr)

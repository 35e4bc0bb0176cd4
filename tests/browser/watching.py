"""A browser that is watched: what it complains of, and whom else it asks. Debian's Chromium, headless."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import axe_core_python
from playwright.sync_api import Browser, Page, sync_playwright

from tests.surfaces.console.running import ROOT

NAMES = ("chromium", "chromium-browser", "google-chrome")
ORDERS = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD)"
_VIOLATIONS = """
window.__violations = [];
document.addEventListener(
  'securitypolicyviolation', found => window.__violations.push(found.violatedDirective + ' ' + found.blockedURI)
);
"""


class MissingBrowser(Exception):
    """There is no Chromium here."""


@contextmanager
def chromium() -> Iterator[Browser]:
    """A headless browser. Raises MissingBrowser."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        raise MissingBrowser("no Chromium is installed: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@contextmanager
def opened(
    browser: Browser, base: str, *, dark: bool = False, width: int = 1200, height: int = 900, script: bool = True
) -> Iterator[tuple[Page, list[str]]]:
    """A page, and what it complains of: errors, blocked content, and requests to anybody but `base`."""
    context = browser.new_context(
        color_scheme="dark" if dark else "light",
        viewport={"width": width, "height": height},
        java_script_enabled=script,
        reduced_motion="reduce",
        locale="en-GB",
    )
    context.set_default_timeout(30_000)
    complaints: list[str] = []
    page = context.new_page()
    page.add_init_script(_VIOLATIONS)
    page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
    page.on("dialog", lambda dialog: complaints.append(f"dialog: {dialog.message}") or dialog.dismiss())
    page.on("request", lambda asked: asked.url.startswith(base) or complaints.append(f"asked {asked.url}"))
    yield page, complaints
    context.close()


def violations(page: Page) -> list[str]:
    """What the policy of the page has blocked."""
    found: list[str] = page.evaluate("window.__violations")
    return found


@cache
def _axe() -> str:
    return (Path(axe_core_python.__file__).parent / "axe.min.js").read_text("utf-8")


def faults(page: Page) -> list[str]:
    """What axe-core finds on the page that is serious or worse, with where."""
    page.evaluate(_axe())
    found: list[dict[str, Any]] = page.evaluate("axe.run().then(found => found.violations)")
    return [
        f"{one['id']}: {one['help']}: {[node['target'] for node in one['nodes']][:3]}"
        for one in found
        if one["impact"] in ("serious", "critical")
    ]


def demo(folder: Path) -> str:
    """The demo's memory, with what it is searched by; gives the store's address."""
    url = f"sqlite:///{folder / 'demo.db'}"
    command = [sys.executable, "-m", "palimpsest.surfaces.cli.app", "--quiet"]
    for arguments in (["demo", "--keep", str(folder / "demo.db")], ["--store", url, "embed"]):
        subprocess.run([*command, *arguments], cwd=ROOT, check=True, capture_output=True)
    return url

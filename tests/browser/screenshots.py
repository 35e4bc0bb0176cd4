"""Makes the screenshots of the documentation anew: `python -m tests.browser.screenshots [FOLDER]`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from palimpsest.store.engine import open_store
from tests.browser.watching import ORDERS, chromium, demo, opened
from tests.surfaces.console.reading import belief_path, entity_path
from tests.surfaces.console.running import ROOT, console

REVENUE = "urn:li:dataset:(urn:li:dataPlatform:snowflake,shop.marts.umsätze,PROD)"
CUSTOMERS = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.customers,PROD)"


def main(folder: Path) -> None:
    """One picture after the other."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        url = demo(Path(place))
        store = open_store(url, writing=False)
        shots = (
            ("overview-light", "/", False, 1100, 900),
            ("entity-light", entity_path(store, ORDERS), False, 1100, 760),
            ("columns-light", entity_path(store, CUSTOMERS) + "#columns", False, 1100, 620),
            ("belief-dark", belief_path(store, REVENUE, "description", "edited", "shop"), True, 1100, 760),
            ("changes-phone", "/changes", False, 390, 844),
        )
        with console(url, Path(place)) as address, chromium() as browser:
            for name, path, dark, width, height in shots:
                with opened(browser, address, dark=dark, width=width, height=height) as (page, _):
                    page.goto(address + path)
                    page.screenshot(path=folder / f"{name}.png")
        store.dispose()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "screenshots")

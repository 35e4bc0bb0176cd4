"""Looks whether a page of the console answers, before a link to it is published."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request

from palimpsest.core.errors import CatalogError

_TIMEOUT_S = 10


class HttpPageProbe:
    """Fetches a page over HTTP."""

    def check(self, url: str) -> None:
        """Fetch the page once. Raises CatalogError when it does not answer with success."""
        try:
            request = urllib.request.Request(url, headers={"User-Agent": "palimpsest"})
            with urllib.request.urlopen(request, timeout=_TIMEOUT_S):
                return
        except (OSError, ValueError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            if isinstance(error, urllib.error.HTTPError):
                error.close()
            raise CatalogError(
                f"the page {url} does not answer: {reason}", "start the console there, or publish with --unchecked"
            ) from error


class NoPageProbe:
    """Takes every page for granted."""

    def check(self, url: str) -> None:
        """Do nothing."""

"""A headless browser for tests that look at pages; where there is none, they are skipped with the reason."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@contextmanager
def browser():
    """A browser of the system, driven by Playwright."""
    driver = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        pytest.skip(f"no browser: none of {', '.join(PROGRAMS)} is installed")
    with driver.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        try:
            yield running
        finally:
            running.close()


@dataclass
class Opened:
    """A page, what it complained of, and what it asked the network for."""

    page: Any
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def check(self) -> None:
        """Nothing was complained of, and nothing left the page."""
        assert not self.complaints
        assert not self.requests


@contextmanager
def opened(running: Any, path: Any, *, width: int = 1280, scheme: str = "light"):
    """A page in a window of this width; its complaints and requests are checked at the end."""
    page = running.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    found = Opened(page)
    page.on("console", lambda message: found.complaints.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: found.complaints.append(str(error)))
    page.on("requestfailed", lambda request: found.complaints.append(request.url[:200]))

    def asked(request):
        if request.url != path.as_uri() and not request.url.startswith("data:"):
            found.requests.append(request.url)

    page.on("request", asked)
    try:
        page.goto(path.as_uri())
        yield found
        found.check()
    finally:
        page.close()

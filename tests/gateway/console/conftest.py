"""One gateway and one browser for the tests of this folder; a tenant and a page for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.gateway.console.browser import Desk, Gateway


@pytest.fixture(scope="package")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    from tests.gateway.console.browser import serving

    directory: Path = tmp_path_factory.mktemp("console")
    with serving(directory) as running:
        yield running


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    from tests.gateway.console.browser import browsing, chromium

    if chromium() is None:
        pytest.skip("no Chromium is installed; on Debian: apt-get install chromium")
    with browsing() as running:
        yield running


@pytest.fixture
def desk(browser: Browser, gateway: Gateway) -> Iterator[Desk]:
    """An operator of a fresh tenant. Whatever a test does, no script of the page may fail."""
    from tests.gateway.console.browser import Desk, new_tenant

    made = Desk(gateway, browser, new_tenant(gateway), user="ann")
    yield made
    made.page.close()
    assert made.mistakes == []

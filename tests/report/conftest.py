"""A real browser, and reports to open in it."""

from __future__ import annotations

import shutil
from types import SimpleNamespace

import numpy as np
import pytest

from gsppca import GSPPCA
from gsppca.report import write_report
from tests.needs import missing, optional

optional("jinja2")
optional("plotly")

BINARIES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
)
HOSTILE = {
    0: "<script>alert(1)</script>",
    1: "<b>bold</b>",
    2: 'a,"b"\n</script><!-- &amp; \u2028',
    3: "<img src=x onerror=alert(1)>",
    20: "%{x} <a href='javascript:alert(1)'>y</a>",
    29: "<i>constant</i>",
}
HOSTILE_LABEL = "<script>alert(2)</script>"


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """Chromium without a window; skipped where there is none, unless `--require=browser` says it must be there."""
    chromium = next(filter(None, map(shutil.which, BINARIES)), None)
    chromedriver = shutil.which("chromedriver")
    if not (chromium and chromedriver):
        missing("browser", "no chromium and chromedriver found: install them with `make browser`")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(chromedriver))
    driver.set_page_load_timeout(120)
    driver.set_script_timeout(60)
    yield driver
    driver.quit()


@pytest.fixture(scope="session")
def hostile(tmp_path_factory):
    """A report of 30 variables, one constant, with names that try to be markup; its model, data, names and path."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 30))
    X[:, :8] += 2 * rng.normal(size=(60, 3)) @ rng.normal(size=(3, 8))
    X[:, 29] = 1
    names = [HOSTILE.get(k, f"x{k}") for k in range(30)]
    order = rng.permutation(30)
    X, names = X[:, order], [names[k] for k in order]
    labels = np.where(rng.random(60) < 0.5, HOSTILE_LABEL, "b")
    samples = [f"<u>s{i}</u>" for i in range(60)]
    model = GSPPCA(3).fit(X)
    path = tmp_path_factory.mktemp("hostile") / "report.html"
    write_report(
        model,
        path,
        feature_names=names,
        labels=labels,
        sample_names=samples,
        command="gsppca fit '<script>alert(3)</script>.csv'",
        settings={"<script>alert(4)</script>": "<script>alert(5)</script>"},
    )
    return SimpleNamespace(model=model, X=X, names=names, labels=labels, path=path)


@pytest.fixture(scope="session")
def large(tmp_path_factory):
    """A report of 50,000 variables, 300 of them with structure."""
    rng = np.random.default_rng(1)
    n, p, q = 60, 50_000, 300
    X = rng.normal(size=(n, p)).astype(np.float32)
    X[:, :q] += 2 * (rng.normal(size=(n, 4)) @ rng.normal(size=(4, q))).astype(np.float32)
    order = rng.permutation(p)
    names = [f"gene {k:05d}" for k in order]
    model = GSPPCA(4).fit(X[:, order])
    file = tmp_path_factory.mktemp("large") / "report.html"
    write_report(model, file, feature_names=names)
    return SimpleNamespace(model=model, names=names, path=file)

"""The report in a real browser: it opens in silence, and does what it says."""

from __future__ import annotations

import base64
import csv
import json
import pickle

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from gsppca import GSPPCA, GSPPCASelector
from gsppca.report import write_report

from .conftest import HOSTILE, HOSTILE_LABEL

pytestmark = pytest.mark.xdist_group("browser")  # one browser, one large report
FETCHED = ("http:", "https:", "ws:", "wss:", "ftp:")


def open_report(browser, path, width=1280, height=900):
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600},
    )
    browser.get("about:blank")
    for kind in ("browser", "performance"):
        browser.get_log(kind)
    browser.get(path.as_uri())
    WebDriverWait(browser, 60).until(lambda b: b.execute_script("return document.documentElement.dataset.ready"))


def element(browser, selector):
    return browser.find_element(By.CSS_SELECTOR, selector)


def text(browser, selector):
    return browser.execute_script("return document.querySelector(arguments[0]).textContent", selector)


def settled(browser):
    """Wait for the frame in which the page shows a new size."""
    browser.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")


def set_size(browser, size):
    field = element(browser, "#size-number")
    field.clear()
    field.send_keys(str(size), Keys.ENTER)
    settled(browser)


def table_names(browser):
    return browser.execute_script(
        "return [...document.querySelectorAll('#variables tbody td.name')].map(td => td.textContent)"
    )


def requests(browser):
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    return [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]


@pytest.mark.parametrize("width", [390, 1280])
def test_it_opens_in_silence_and_fits(browser, hostile, width):
    open_report(browser, hostile.path, width)
    wide, inner = browser.execute_script("return [document.documentElement.scrollWidth, window.innerWidth]")
    assert inner == width
    assert wide <= width
    # Nothing but the table and the code may need scrolling inside of the page.
    beyond = browser.execute_script(
        "return [...document.querySelectorAll('body *')].filter(e => !e.closest('.scroll, svg, .modebar') &&"
        " e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 100))"
    )
    assert beyond == []
    assert browser.get_log("browser") == []
    assert [url for url in requests(browser) if url.startswith(FETCHED)] == []
    drawn = browser.execute_script(
        "return [...document.querySelectorAll('.chart')].map(c => c.querySelectorAll('.main-svg').length > 0)"
    )
    assert drawn == [True] * 5


def test_names_are_text_everywhere(browser, hostile):
    open_report(browser, hostile.path)
    element(browser, "#all").click()
    ranked = [hostile.names[k] for k in np.argsort(hostile.model.ranking_)]
    assert table_names(browser) == ranked[:29]
    # Not one element was made out of a name: the page has only the scripts that it was written with.
    made = "return document.querySelectorAll('img, u, i, b, a[href^=javascript], script').length"
    assert browser.execute_script(made) == 3
    assert browser.execute_script("return [...document.querySelectorAll('#constant li')].map(e => e.textContent)") == [
        HOSTILE[29]
    ]
    assert HOSTILE_LABEL in text(browser, "#scores .legend")
    ticks = text(browser, "#loadings .yaxislayer-above") or text(browser, "#loadings")
    assert "<b>bold</b>" in ticks
    assert "alert(3)" in text(browser, "#command")
    # Hover labels, by plotly's own event.
    for chart, curve, point, expected in (
        ("scores", 0, 0, "<u>s"),
        ("relevance", 0, ranked.index(HOSTILE[0]), HOSTILE[0]),
        ("evidence", 0, ranked.index(HOSTILE[1]), HOSTILE[1]),
    ):
        browser.execute_script(
            "Plotly.Fx.hover(arguments[0], [{curveNumber: arguments[1], pointNumber: arguments[2]}])",
            chart,
            curve,
            point,
        )
        assert expected in text(browser, f"#{chart} .hoverlayer")
    assert browser.get_log("browser") == []


def test_the_slider_moves_everything(browser, hostile):
    model = hostile.model
    open_report(browser, hostile.path)
    ranked = [hostile.names[k] for k in np.argsort(model.ranking_)]
    path = model.evidence_path_
    assert table_names(browser) == ranked[: model.n_selected_]
    assert "the best evidence" in text(browser, "#size-state")
    slider = element(browser, "#size-slider")
    slider.send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_LEFT, Keys.ARROW_RIGHT)
    settled(browser)
    size = model.n_selected_ + 2
    assert slider.get_attribute("aria-valuetext") == f"{size} variables"
    for wanted in (size, 1, 3, 29):
        if wanted != size:
            set_size(browser, wanted)
        at_size = model.choose(wanted)
        assert table_names(browser) == ranked[:wanted]
        assert set(table_names(browser)) == {n for n, kept in zip(hostile.names, at_size.support_, strict=True) if kept}
        assert text(browser, "#table-count") == f"{wanted} selected variables."
        explained = f"{at_size.explained_variance_ratio_.sum():.1%}"
        assert text(browser, "#card-explained") == explained
        assert text(browser, "#size-state").startswith(f"{explained} of the variance")
        assert text(browser, "#card-selected") == f"{wanted}"
        assert text(browser, "#card-fitted") == f"selected (fitted: {model.n_selected_})"
        x, y, line, blue = browser.execute_script(
            "const e = document.getElementById('evidence'), r = document.getElementById('relevance');"
            "return [e.data[1].x[0], e.data[1].y[0], e.layout.shapes[0].x0, r.data[0].x.length]"
        )
        assert (x, line, blue) == (wanted, wanted, wanted)
        assert y == pytest.approx(path.log_evidence[wanted - 1] - path.log_evidence.max())
    slider.send_keys(Keys.HOME)
    settled(browser)
    assert len(table_names(browser)) == 1
    element(browser, "#size-reset").click()
    settled(browser)
    assert table_names(browser) == ranked[: model.n_selected_]
    assert browser.get_log("browser") == []


def test_the_charts_show_the_numbers_of_the_model(browser, hostile):
    model = hostile.model
    open_report(browser, hostile.path)
    order = np.argsort(model.ranking_)
    data = browser.execute_script(
        "const plain = t => ({x: Array.from(t.x), y: Array.from(t.y), z: t.z});"
        "const get = id => document.getElementById(id).data.map(plain);"
        "return {evidence: get('evidence'), explained: get('explained'), relevance: get('relevance'),"
        " scores: get('scores'), loadings: get('loadings')}"
    )
    path = model.evidence_path_
    assert data["evidence"][0]["x"] == path.sizes.tolist()
    np.testing.assert_allclose(data["evidence"][0]["y"], path.log_evidence - path.log_evidence.max())
    expected = [model.choose(k).explained_variance_ratio_.sum() for k in range(1, 30)]
    np.testing.assert_allclose(data["explained"][0]["y"], expected, rtol=1e-9)
    selected, others = data["relevance"]
    np.testing.assert_array_equal(selected["y"] + others["y"], model.relevance_[order[:29]])
    np.testing.assert_array_equal(data["loadings"][0]["z"], model.components_[:, order[:8]].T.astype(np.float32))
    scores = model.transform(hostile.X)
    for trace, label in zip(data["scores"], sorted(set(hostile.labels)), strict=True):
        np.testing.assert_allclose(trace["x"], scores[hostile.labels == label, 0], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(trace["y"], scores[hostile.labels == label, 1], rtol=1e-5, atol=1e-6)
    browser.execute_script(
        "const c = document.getElementById('score-y'); c.value = 2; c.dispatchEvent(new Event('change'))"
    )
    y = browser.execute_script("return Array.from(document.getElementById('scores').data[1].y)")
    np.testing.assert_allclose(y, scores[hostile.labels == "b", 2], rtol=1e-5, atol=1e-6)


def test_search_and_sort(browser, hostile):
    open_report(browser, hostile.path)
    ranked = [hostile.names[k] for k in np.argsort(hostile.model.ranking_)][:29]
    search = element(browser, "#search")
    search.send_keys("SCRIPT")
    assert sorted(table_names(browser)) == sorted([HOSTILE[0], HOSTILE[2]])
    assert text(browser, "#table-count") == "2 of 8 selected variables match."
    element(browser, "#all").click()
    assert set(table_names(browser)) == {HOSTILE[0], HOSTILE[2], HOSTILE[20]}
    search.send_keys(Keys.CONTROL, "a")
    search.send_keys(Keys.BACKSPACE)
    assert table_names(browser) == ranked
    head = "#variables th[data-key={}]"
    for key, expected in (
        ("name", sorted(ranked, key=str.lower)),
        ("relevance", ranked),
        ("column", [name for name in hostile.names if name in ranked]),
    ):
        element(browser, head.format(key) + " button").click()
        assert table_names(browser) == expected
    assert element(browser, head.format("column")).get_attribute("aria-sort") == "ascending"
    element(browser, head.format("column") + " button").click()
    assert table_names(browser) == [name for name in hostile.names if name in ranked][::-1]
    assert element(browser, head.format("column")).get_attribute("aria-sort") == "descending"


def test_the_download_has_the_numbers_of_the_model(browser, hostile, tmp_path):
    model = hostile.model
    open_report(browser, hostile.path)
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    element(browser, "#download").click()
    file = tmp_path / "selected.csv"
    WebDriverWait(browser, 20).until(lambda _: file.exists())
    with file.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    order = np.argsort(model.ranking_)[: model.n_selected_]
    assert [row["name"] for row in rows] == [hostile.names[k] for k in order]
    assert [int(row["rank"]) for row in rows] == list(range(1, model.n_selected_ + 1))
    assert [int(row["column"]) for row in rows] == order.tolist()
    assert {row["selected"] for row in rows} == {"true"}
    np.testing.assert_array_equal([float(row["relevance"]) for row in rows], model.relevance_[order])
    np.testing.assert_array_equal(
        [float(row["log_evidence"]) for row in rows], model.evidence_path_.log_evidence[: model.n_selected_]
    )
    loadings = [[float(row[f"gsppca{j}"]) for j in range(3)] for row in rows]
    np.testing.assert_allclose(loadings, model.components_[:, order].T, rtol=1e-6)


def test_fifty_thousand_variables(browser, large):
    open_report(browser, large.path)
    ranked = [large.names[k] for k in np.argsort(large.model.ranking_)]
    ready = browser.execute_script("return performance.now()")
    assert ready < 30_000
    assert len(table_names(browser)) == min(200, large.model.n_selected_)
    # Every variable can be found, also the very last one; what is shown is the first 200.
    element(browser, "#all").click()
    find = (
        "const s = document.getElementById('search'), t = performance.now(); s.value = arguments[0];"
        "s.dispatchEvent(new Event('input')); return performance.now() - t"
    )
    assert browser.execute_script(find, ranked[-1]) < 3000
    assert table_names(browser) == [ranked[-1]]
    assert browser.execute_script(find, "gene 0") < 3000
    assert len(table_names(browser)) == 200
    assert text(browser, "#table-count") == "10,000 of 50,000 variables match; the first 200 are shown."
    element(browser, "#more").click()
    assert len(table_names(browser)) == 400
    # What is drawn is thinned, keeps the highest point, and the caption says so.
    drawn, highest = browser.execute_script(
        "const curve = document.getElementById('evidence').data[0]; return [curve.x.length, Math.max(...curve.y)]"
    )
    assert drawn < 1600 < len(large.model.evidence_path_.sizes)
    assert highest == 0
    assert "Drawn: " in text(browser, "#evidence-caption")
    assert "of 50,000 variables" in text(browser, "#relevance-caption")
    # Sizes between those evaluated are chosen, and said not to be evaluated.
    missing = int(np.setdiff1d(np.arange(20_000, 21_000), large.model.evidence_path_.sizes)[0])
    element(browser, "#all").click()
    browser.execute_script(find, "")
    set_size(browser, missing)
    assert "evidence not evaluated here" in text(browser, "#size-state")
    assert "≈" in text(browser, "#card-explained")
    assert text(browser, "#table-count") == f"{missing:,} selected variables; the first 200 are shown."
    # Zooming in draws what thinning had left out.
    set_size(browser, large.model.n_selected_)
    browser.execute_script("document.getElementById('evidence-near').click()")
    settled(browser)
    sizes = large.model.evidence_path_.sizes
    shown = browser.execute_script("return Array.from(document.getElementById('evidence').data[0].x)")
    near = sizes[(sizes >= large.model.n_selected_ / 2) & (sizes <= 2 * large.model.n_selected_)]
    assert set(near) <= set(shown)
    assert browser.get_log("browser") == []


def test_print(browser, hostile):
    open_report(browser, hostile.path)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert not element(browser, "#size-slider").is_displayed()
        assert not element(browser, "#search").is_displayed()
        assert element(browser, "#variables").is_displayed()
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    # The charts take the width of the paper, and then that of the window again.
    browser.execute_script(
        "const chart = document.getElementById('evidence'); window.seen = [];"
        "for (const event of ['beforeprint', 'afterprint'])"
        " window.addEventListener(event, () => window.seen.push(chart.layout.width ?? null, chart.layout.autosize))"
    )
    paper = {"paperWidth": 8.27, "paperHeight": 11.69}
    pdf = base64.b64decode(browser.execute_cdp_cmd("Page.printToPDF", paper)["data"])
    assert browser.execute_script("return window.seen") == [640, False, None, True]
    assert pdf.startswith(b"%PDF")
    assert len(pdf) > 20_000


def pure_noise():
    return np.random.default_rng(0).normal(size=(30, 20))


def one_factor():
    X = pure_noise()
    X[:, :6] += 3 * np.random.default_rng(1).normal(size=(30, 1))
    return X


def without_selection(X):
    """A model that says it found nothing, and selects nothing."""
    model = GSPPCA(1, evidence="noiseless").fit(X)
    model.support_[:] = False
    model.n_selected_, model.supported_ = 0, False
    model.components_, model.explained_variance_ratio_ = np.zeros((0, 20)), np.zeros(0)
    return model


ODD = {
    "one component": lambda: GSPPCA(1, evidence="noiseless").fit(one_factor()),
    "one variable": lambda: GSPPCA(2, evidence="noiseless").fit(one_factor()).choose(1),
    "all variables": lambda: GSPPCA(2, evidence="noiseless").fit(one_factor()).choose(20),
    "no data": lambda: pickle.loads(pickle.dumps(GSPPCASelector(2).fit(one_factor()))),
    "two variables": lambda: GSPPCA(1, evidence="noiseless").fit(one_factor()[:, [0, 7]]),
    "single precision, sparse": lambda: GSPPCA(2).fit(csr_matrix(one_factor().astype(np.float32))),
    "no structure": lambda: without_selection(pure_noise()),
}


@pytest.mark.parametrize("kind", ODD)
def test_odd_models(browser, tmp_path, kind):
    model = ODD[kind]()
    open_report(browser, write_report(model, tmp_path / "report.html"))
    assert browser.get_log("browser") == []
    assert len(table_names(browser)) == model.n_selected_
    element(browser, "#size-slider").send_keys(Keys.END)
    settled(browser)
    assert len(table_names(browser)) == model.n_features_in_
    assert browser.get_log("browser") == []
    missing = browser.execute_script("return document.querySelectorAll('.missing').length")
    assert missing == {"no data": 2, "no structure": 2}.get(kind, 0)

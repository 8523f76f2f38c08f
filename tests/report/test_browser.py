"""The report in a real browser: it opens in silence, and does what it says."""

from __future__ import annotations

import base64
import csv
import json
import pickle

import numpy as np
import pytest

from tests.needs import optional

optional("selenium")
optional("plotly")
from scipy.sparse import csr_matrix
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from gsppca import GSPPCA, GSPPCASelector
from gsppca.report import write_report

from .conftest import HOSTILE, HOSTILE_LABEL

pytestmark = pytest.mark.browser
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
        "return [...document.querySelectorAll('#variables tbody td.name button')].map(b => b.textContent)"
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
    assert drawn == [True] * 6


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
    roles = hostile.model.role_[np.argsort(hostile.model.ranking_)]
    place = ranked.index(HOSTILE[0])
    trace = ("core", "related", "noise").index(roles[place])
    for chart, curve, point, expected in (
        ("scores", 0, 0, "<u>s"),
        ("relevance", trace, int((roles[:place] == roles[place]).sum()), HOSTILE[0]),
        ("share", 1, 0, ranked[0].replace("\n", " ")),
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
    path, shares = model.evidence_path_, model.share_path_.share
    assert table_names(browser) == ranked[: model.n_selected_]
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
        share = f"{shares[wanted - 1]:.1%}" if wanted <= len(shares) else "–"
        assert text(browser, "#card-share") == share
        assert f"{explained} of the variance" in text(browser, "#size-state")
        assert text(browser, "#card-selected") == f"{wanted}"
        assert text(browser, "#card-fitted") == f"selected (fitted: {model.n_selected_})"
        x, y, line, strong = browser.execute_script(
            "const e = document.getElementById('evidence'), r = document.getElementById('relevance');"
            "return [e.data[1].x, e.data[1].y, e.layout.shapes[0].x0,"
            " r.data.flatMap(t => t.marker.opacity).filter(o => o === 1).length]"
        )
        assert (line, strong) == (wanted, wanted)
        if wanted in path.sizes:
            assert x == [wanted]
            assert y[0] == pytest.approx(path.log_evidence[path.sizes == wanted][0] - path.log_evidence.max())
    slider.send_keys(Keys.HOME)
    settled(browser)
    assert len(table_names(browser)) == 1
    element(browser, "#size-reset").click()
    settled(browser)
    assert table_names(browser) == ranked[: model.n_selected_]
    assert browser.get_log("browser") == []


def test_the_buttons_lead_to_their_sizes_with_loadings_and_scores(browser, hostile):
    model = hostile.model
    open_report(browser, hostile.path)
    buttons = browser.find_elements(By.CSS_SELECTOR, "#presets button")
    sizes = sorted({10, 20, int(model.core_.sum()), int(model.relevant_.sum())})
    assert [int(button.get_attribute("data-size")) for button in buttons] == sizes
    order = np.argsort(model.ranking_)
    for button, size in zip(buttons, sizes, strict=True):
        button.click()
        settled(browser)
        chosen = model.choose(size)
        assert len(table_names(browser)) == size
        assert button.get_attribute("aria-pressed") == "true"
        z, x = browser.execute_script(
            "return [document.getElementById('loadings').data[0].z,"
            " document.getElementById('scores').data.map(t => Array.from(t.x))]"
        )
        np.testing.assert_allclose(z, chosen.components_[:, order[:size]].T, rtol=1e-5, atol=1e-6)
        scores = chosen.transform(hostile.X)[:, 0]
        for values, label in zip(x, sorted(set(hostile.labels)), strict=True):
            np.testing.assert_allclose(values, scores[hostile.labels == label], rtol=1e-5, atol=1e-5)
    set_size(browser, 12)
    assert "the nearest size to 12" in text(browser, "#scores-caption")
    assert browser.get_log("browser") == []


def test_a_variable_opens_what_it_stands_for(browser, tmp_path):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 12))
    X[:, 1] = X[:, 0] + 0.1 * rng.normal(size=60)
    X[:, 3] = -X[:, 2] + 0.1 * rng.normal(size=60)
    model = GSPPCA(2, n_features_to_select="core").fit(X)
    open_report(browser, write_report(model, tmp_path / "report.html"))
    ((first, [(other, r), *_]), *_) = model.represented_by()
    button = element(browser, "#variables td.name button")
    assert button.text == f"x{first}"
    button.send_keys(Keys.ENTER)  # with the keyboard
    story = text(browser, "#variables tr.more td")
    assert f"stands for 1: x{other} ({'−' if r < 0 else '+'}{abs(r):.2f})" in story
    element(browser, "#all").click()
    roles = browser.execute_script(
        "return [...document.querySelectorAll('#variables td.role')].map(td => td.dataset.role)"
    )
    assert roles == model.role_[np.argsort(model.ranking_)].tolist()
    assert browser.get_log("browser") == []


@pytest.mark.nightly
@pytest.mark.parametrize("width", [390, 1280])
def test_near_copies_open_with_the_keyboard_and_fit(browser, tmp_path, width):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 40))
    X[:, :4] += 2 * rng.normal(size=(60, 2)) @ rng.normal(size=(2, 4))
    X[:, 4:24] = X[:, [0]] + 0.05 * rng.normal(size=(60, 20))
    model = GSPPCA(2, n_features_to_select="relevant").fit(X)
    names = [HOSTILE[0] + "W" * 60, *(f"{HOSTILE[3]} {k}" for k in range(1, 40))]
    path = write_report(model, tmp_path / "report.html", feature_names=names)
    open_report(browser, path, width)
    row = element(browser, "#copies tbody tr")
    first = int(model.ranking_[[0, *range(4, 24)]].argmin())
    leader = [0, *range(4, 24)][first]
    assert row.find_element(By.CSS_SELECTOR, "td.name").text == names[leader]
    assert row.find_element(By.CSS_SELECTOR, "td.count").text.split()[0] == "20"
    shown = "return [...document.querySelectorAll('#copies tbody tr:first-child li')].map(e => e.checkVisibility())"
    assert browser.execute_script(shown) == [True] * 8 + [False] * 12
    row.find_element(By.CSS_SELECTOR, "summary").send_keys(Keys.ENTER)
    assert browser.execute_script(shown) == [True] * 20
    inside = browser.execute_script(
        "const e = document.getElementById('copies'); return [e.scrollWidth, e.parentNode.clientWidth]"
    )
    assert inside[0] <= inside[1]
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert browser.execute_script("return document.querySelectorAll('img, script').length") == 3
    assert browser.get_log("browser") == []


@pytest.mark.nightly
def test_a_set_that_is_no_cut_of_the_order(browser, tmp_path):
    """The rules "fdr" and "r2" select any variables: they are listed, and the slider shows cuts."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 30))
    X[:, :9] += 2 * rng.normal(size=(80, 2)) @ rng.normal(size=(2, 9))
    model = GSPPCA(2, n_features_to_select="r2").fit(X)
    model.support_[:] = False
    model.support_[[3, 5, 20]] = True
    model.n_selected_ = 3
    open_report(browser, write_report(model, tmp_path / "report.html"))
    ranked = [f"x{k}" for k in np.argsort(model.ranking_)]
    assert table_names(browser) == [name for name in ranked if name in ("x3", "x5", "x20")]
    assert "not the first ones of the order" in text(browser, "#size-state")
    set_size(browser, 3)
    assert table_names(browser) == ranked[:3]
    element(browser, "#size-reset").click()
    settled(browser)
    assert len(table_names(browser)) == 3
    assert "x20" in table_names(browser)
    assert browser.get_log("browser") == []


def test_the_charts_show_the_numbers_of_the_model(browser, hostile):
    model = hostile.model
    open_report(browser, hostile.path)
    order = np.argsort(model.ranking_)
    data = browser.execute_script(
        "const plain = t => ({x: Array.from(t.x), y: Array.from(t.y), z: t.z});"
        "const get = id => document.getElementById(id).data.map(plain);"
        "return {evidence: get('evidence'), explained: get('explained'), relevance: get('relevance'),"
        " scores: get('scores'), loadings: get('loadings'), share: get('share')}"
    )
    path = model.evidence_path_
    assert data["evidence"][0]["x"] == path.sizes.tolist()
    np.testing.assert_allclose(data["evidence"][0]["y"], path.log_evidence - path.log_evidence.max())
    expected = [model.choose(k).explained_variance_ratio_.sum() for k in range(1, 30)]
    np.testing.assert_allclose(data["explained"][0]["y"], expected, rtol=1e-9)
    np.testing.assert_array_equal(data["share"][1]["y"], model.share_path_.share)
    core = int(model.core_.sum())
    assert (data["share"][2]["x"], data["share"][2]["y"]) == ([core], [model.core_share_])
    for trace, role in zip(data["relevance"], ("core", "related", "noise"), strict=False):
        members = order[:29][model.role_[order[:29]] == role]
        np.testing.assert_array_equal(trace["x"], model.ranking_[members])
        np.testing.assert_array_equal(trace["y"], model.relevance_[members])
    kept = order[: model.n_selected_]
    np.testing.assert_array_equal(data["loadings"][0]["z"], model.components_[:, kept].T.astype(np.float32))
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
    assert text(browser, "#table-count") == f"2 of {hostile.model.n_selected_} selected variables match."
    element(browser, "#all").click()
    assert set(table_names(browser)) == {HOSTILE[0], HOSTILE[2], HOSTILE[20]}
    search.send_keys(Keys.CONTROL, "a")
    search.send_keys(Keys.BACKSPACE)
    assert table_names(browser) == ranked
    head = "#variables th[data-key={}]"
    for key, expected in (
        ("name", sorted(ranked, key=str.lower)),
        ("rank", ranked),
    ):
        element(browser, head.format(key) + " button").click()
        assert table_names(browser) == expected
    assert element(browser, head.format("rank")).get_attribute("aria-sort") == "ascending"
    element(browser, head.format("rank") + " button").click()
    assert table_names(browser) == ranked[::-1]
    assert element(browser, head.format("rank")).get_attribute("aria-sort") == "descending"


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
    path = dict(zip(model.evidence_path_.sizes.tolist(), model.evidence_path_.log_evidence.tolist(), strict=True))
    assert [row["log_evidence"] for row in rows][:1] == [""]
    assert [float(row["log_evidence"]) for row in rows[1:]] == [path[k] for k in range(2, model.n_selected_ + 1)]
    assert [row["role"] for row in rows] == model.role_[order].tolist()
    known = min(len(rows), len(model.share_path_.share))
    assert [float(row["share"]) for row in rows[:known]] == model.share_path_.share[:known].tolist()
    loadings = [[float(row[f"PC{j}"]) for j in (1, 2, 3)] for row in rows]
    np.testing.assert_allclose(loadings, model.components_[:, order].T, rtol=1e-6)


@pytest.mark.nightly
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
    # What is drawn is thinned, and the caption says so.
    assert "Drawn: " in text(browser, "#relevance-caption")
    assert "of 50,000 variables" in text(browser, "#relevance-caption")
    # Sizes between those computed are chosen, and marked.
    missing = int(np.setdiff1d(np.arange(20_000, 21_000), large.model.evidence_path_.sizes)[0])
    element(browser, "#all").click()
    browser.execute_script(find, "")
    set_size(browser, missing)
    assert "evidence" not in text(browser, "#size-state")
    assert "≈" in text(browser, "#card-explained")
    assert text(browser, "#table-count") == f"{missing:,} selected variables; the first 200 are shown."
    browser.execute_script("document.getElementById('evidence-near').click()")
    settled(browser)
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
    model = GSPPCA(1, method="paper").fit(X)
    model.support_[:] = False
    model.n_selected_, model.supported_ = 0, False
    model.components_, model.explained_variance_ratio_ = np.zeros((0, 20)), np.zeros(0)
    return model


ODD = {
    "one component": lambda: GSPPCA(1, method="paper").fit(one_factor()),
    "one variable": lambda: GSPPCA(2, method="paper").fit(one_factor()).choose(1),
    "all variables": lambda: GSPPCA(2, method="paper").fit(one_factor()).choose(20),
    "no data": lambda: pickle.loads(pickle.dumps(GSPPCASelector(2).fit(one_factor()))),
    "two variables": lambda: GSPPCA(1, method="paper").fit(one_factor()[:, [0, 7]]),
    "single precision, sparse": lambda: GSPPCA(2).fit(csr_matrix(one_factor().astype(np.float32))),
    "no structure": lambda: without_selection(pure_noise()),
}


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore::gsppca.NoStructureWarning")
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

"""Write the report that the documentation shows, and its pictures.

Run it as ``python docs/make_report.py [FOLDER]``; it needs chromium and chromedriver (``make browser``).
"""

from __future__ import annotations

import base64
import io
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from sklearn.datasets import load_digits

from gsppca import GSPPCA
from gsppca.report import write_report

PIXELS = [f"pixel ({row}, {column})" for row in range(8) for column in range(8)]
SIZES = {"report": (1000, 1010), "report-phone": (390, 780)}


def pictures(page: Path, folder: Path, profile: str) -> None:
    """Photograph the top of the page at the width of a desk and of a phone."""
    options = webdriver.ChromeOptions()
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking"):
        options.add_argument(flag)
    for flag in ("--no-first-run", "--disable-component-update", "--disable-sync", "--hide-scrollbars"):
        options.add_argument(flag)
    options.add_argument(f"--user-data-dir={profile}")
    # Both by name, or selenium looks for them on the network.
    options.binary_location = shutil.which("chromium") or ""
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        for name, (width, height) in SIZES.items():
            metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
            driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
            driver.get(page.resolve().as_uri())
            picture = base64.b64decode(driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})["data"])
            # Few colours: a third of the bytes, and no difference to be seen.
            small = Image.open(io.BytesIO(picture)).convert("RGB").quantize(128, dither=Image.Dither.NONE)
            small.save(folder / f"{name}.png", optimize=True)
    finally:
        driver.quit()


def main() -> None:
    """Fit the digits, write the report, photograph it."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "images")
    images, labels = load_digits(return_X_y=True)
    model = GSPPCA().fit(images)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        page = write_report(model, Path(temporary) / "report.html", feature_names=PIXELS, labels=labels)
        pictures(page, folder, f"{temporary}/profile")


if __name__ == "__main__":
    main()

"""python .ci/versions.py FOLDER: make the sites in the folders of FOLDER one, with a list of versions and a way in.

Writes versions.json, which the theme reads for its list of versions, and index.html, which leads to the newest release.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

PAGE = """<!doctype html><meta charset="utf-8"><title>gsppca</title>
<meta http-equiv="refresh" content="0; url={0}/"><a href="{0}/">{0}</a>
"""


def versions(folder: Path) -> list[str]:
    """Names of the sites in a folder: releases, the newest first, then others such as dev."""
    names = [page.parent.name for page in folder.glob("*/index.html")]
    release = {name: re.fullmatch(r"v?(\d+)\.(\d+)\.(\d+)", name) for name in names}
    numbered = sorted((name for name in names if release[name]), key=lambda name: [*map(int, release[name].groups())])
    return numbered[::-1] + sorted(name for name in names if not release[name])


def main(folder: Path) -> None:
    found = versions(folder)
    entries = [{"version": name, "title": name.removeprefix("v"), "aliases": []} for name in found]
    (folder / "versions.json").write_text(json.dumps(entries, indent=1) + "\n")
    (folder / "index.html").write_text(PAGE.format(found[0]))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

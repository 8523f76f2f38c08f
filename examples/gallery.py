"""Run all examples, or those named, and gather their pictures and tables.

    python examples/gallery.py [NAME ...]

Examples are the files plot_NAME.py beside this one. Results go to docs/images/gallery unless GSPPCA_GALLERY names
another folder; each example runs in a process of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent


def main() -> None:
    known = {path.stem.removeprefix("plot_"): path for path in sorted(HERE.glob("plot_*.py"))}
    names = sys.argv[1:] or list(known)
    if unknown := [name for name in names if name not in known]:
        sys.exit(f"no example called {', '.join(unknown)}; there are: {', '.join(known)}")
    environment = {"GSPPCA_GALLERY": str(HERE.parent / "docs" / "images" / "gallery"), **os.environ}
    for name in names:
        print(f"== {name}", flush=True)
        start = time.perf_counter()
        subprocess.run([sys.executable, str(known[name])], env=environment, check=True)
        print(f"   {time.perf_counter() - start:.1f} s\n", flush=True)


main()

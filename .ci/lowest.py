"""Print the oldest versions that pyproject.toml allows, as constraints for pip."""

import re
import sys
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
for requirement in project["dependencies"]:
    name, version = re.fullmatch(r"([\w.-]+)>=([\d.]+)", requirement).groups()
    sys.stdout.write(f"{name}=={version}\n")

"""Import of optional packages, with an error that names the extra to install."""

from __future__ import annotations

import importlib
from typing import Any


def optional_import(module: str, purpose: str, extra: str, package: str | None = None) -> Any:
    """Import and return `module`, needed for `purpose`; `package` is its name for pip where that differs."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{purpose} needs the package {package or module}, which cannot be imported ({error}); "
            f"install it with: pip install 'gsppca[{extra}]'"
        ) from error

"""Import of optional packages, with an error that names the extra to install."""

from __future__ import annotations

import importlib
from typing import Any


def optional_import(module: str, purpose: str, extra: str | None, package: str | None = None) -> Any:
    """Import and return `module`, needed for `purpose`.

    Parameters
    ----------
    module, purpose : str
        What is imported, and who needs it.
    extra : str or None
        The extra of gsppca that brings it; None for a package that no extra stands for.
    package : str, optional
        Its name for pip where that differs.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        name = package or module
        wanted = name if extra is None else f"'gsppca[{extra}]'"
        raise ImportError(
            f"{purpose} needs the package {name}, which cannot be imported ({error}); install it with: "
            f"pip install {wanted}"
        ) from error

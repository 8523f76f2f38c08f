"""Fitted models on disk, in an open format: JSON for what can be read, npz for the arrays (docs/format.md).

No pickle: loading a stranger's model builds one of our own classes out of numbers and text, and cannot run code.

A fitted model consists of its parameters, its public fitted attributes and the record that `choose` works from. All are
found by looking at the model, not at a list of names: a new fitted attribute is stored without a change here, and
one whose type the format has no word for is refused when it is saved.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import warnings
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gsppca import __version__
from gsppca._atomic import new_files, new_folder, previous
from gsppca._typing import PathLike
from gsppca.io.encoding import LOCAL, Decoder, Encoder

if TYPE_CHECKING:
    from gsppca.variable_selection import VariableSelection

FORMAT = "gsppca-model"
VERSION = 1
MODEL = "model.json"

_FITTED = re.compile(r"[a-z][a-z0-9_]*_")  # names of fitted attributes: scikit-learn's underscore at the end
_RECORD = "_fitted"  # what `choose` works from; everything else with an underscore in front stays behind
_OUTPUT = "_sklearn_output_config"  # where scikit-learn keeps what `set_output` was told


def save_model(model: VariableSelection, path: PathLike) -> Path:
    """Write a fitted model; see `GSPPCA.save`.

    Parameters
    ----------
    model : GSPPCA or GSPPCASelector
        A fitted model.
    path : str or path
        Name of the JSON file, ending in ``.json``, or of a folder, which then gets ``model.json``. The arrays go beside
        it, under the same name with ``.npz``.

    Returns
    -------
    path : Path
        Of the JSON file.
    """
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model)
    kind = type(model).__name__
    if _classes().get(kind) is not type(model):
        raise ValueError(f"model must be a GSPPCA or a GSPPCASelector, got {kind}. Use skops or joblib for others.")
    encoder = Encoder()
    parts = {
        "class": kind,
        "parameters": {name: encoder.encode(name, value) for name, value in model.get_params(deep=False).items()},
        "fitted": {name: encoder.encode(name, value) for name, value in vars(model).items() if _FITTED.fullmatch(name)},
        "record": encoder.encode(_RECORD, model.__getstate__()[_RECORD]),
        "output": encoder.encode("set_output", vars(model).get(_OUTPUT, {})),
    }
    json_path = _json_path(path, for_writing=True)
    names = (json_path.with_suffix(".npz").name, json_path.name)
    arrays = encoder.arrays_as_bytes()
    document = {
        "format": FORMAT,
        "version": VERSION,
        "written_by": f"gsppca {__version__}",
        "arrays": {"file": names[0], "sha256": hashlib.sha256(arrays).hexdigest()},
        "model": parts,
        "sha256": _digest(parts),
    }
    text = json.dumps(document, indent=1, allow_nan=False) + "\n"
    folder = json_path.parent
    with new_files(folder, names, json_path.stem) if folder.is_dir() else new_folder(folder) as temporary:
        for name, content in zip(names, (arrays, text.encode()), strict=True):
            (temporary / name).write_bytes(content)
    return json_path


def load(path: PathLike) -> Any:
    """Load a model that `save` wrote, without running any code of it.

    Parameters
    ----------
    path : str or path
        The JSON file, or the folder that holds ``model.json``, as the command line writes it.

    Returns
    -------
    model : GSPPCA or GSPPCASelector
        The fitted model, with the same numbers to the last bit. Its training data is not stored: `choose` needs X.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import gsppca
    >>> X = np.random.default_rng(0).normal(size=(20, 12))
    >>> X[:, :4] += 5 * X[:, [8]]  # four columns that follow the last one
    >>> model = gsppca.GSPPCA(1).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = model.save(folder)
    ...     same = gsppca.load(folder)
    >>> path.name, bool((same.transform(X) == model.transform(X)).all())
    ('model.json', True)
    """
    json_path = _json_path(path, for_writing=False)
    document = _read_document(json_path)
    arrays = _read_arrays(json_path, document["arrays"])
    try:
        return _build(document["model"], Decoder(arrays))
    except Exception as error:  # whatever a file can be made to hold, the caller gets one kind of error
        raise _wrong(json_path, f"it does not describe a model ({type(error).__name__}: {error})") from error


def _read_arrays(json_path: Path, named: dict[str, Any]) -> bytes:
    """The bytes of the arrays that belong to a JSON file."""
    name = _field(named, "file", str, json_path)
    if Path(name).name != name:
        raise _wrong(json_path, f"it names arrays outside its folder, {name!r}")
    folder = json_path.parent
    # While a newer model takes the place of an older one, or did when it was killed, the older arrays are set aside.
    for place in (folder, previous(folder, json_path.stem)):
        with suppress(FileNotFoundError):
            arrays = (place / name).read_bytes()
            if hashlib.sha256(arrays).hexdigest() == named.get("sha256"):
                return arrays
    if not (folder / name).exists():
        raise FileNotFoundError(f"{json_path} needs its arrays in {name}, which is not beside it. Copy both files.")
    raise _wrong(folder / name, f"its checksum is not the one in {json_path.name}: damaged, or of another model")


def _build(parts: dict[str, Any], decoder: Decoder) -> Any:
    model: Any = _classes()[parts["class"]]()
    given = {name: value for name, value in parts["parameters"].items() if name not in LOCAL}
    model.set_params(**{name: decoder.decode(value) for name, value in given.items()})
    for name, value in parts["fitted"].items():
        if not _FITTED.fullmatch(name) or hasattr(type(model), name):
            raise ValueError(f"{name!r} is not the name of a fitted attribute")
        setattr(model, name, decoder.decode(value))
    setattr(model, _RECORD, decoder.decode(parts["record"]))
    _check_shapes(model)
    _check_working(model)
    return model.set_output(**decoder.decode(parts["output"]))


def _check_shapes(model: Any) -> None:
    """Refuse arrays that do not fit together: they would fail later, far from here."""
    features = model.n_features_in_
    for name in ("support_", "relevance_", "ranking_", "mean_", "feature_names_in_"):
        value = getattr(model, name, None)
        if value is not None and value.shape != (features,):
            raise ValueError(f"{name} has shape {value.shape}, not ({features},)")
    components = getattr(model, "components_", None)
    if components is not None and components.shape != (model.n_components_, features):
        raise ValueError(f"components_ has shape {components.shape}, not ({model.n_components_}, {features})")
    if model.support_.dtype != bool or int(model.support_.sum()) != model.n_selected_:
        raise ValueError("support_ does not mark n_selected_ variables")


def _check_working(model: Any) -> None:
    """Refuse a model that lacks what it needs to treat new data, by treating one row."""
    row = np.reshape(getattr(model, "mean_", np.zeros(model.n_features_in_)), (1, -1))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        results = [getattr(model, name)(row) for name in ("transform", "score_samples") if hasattr(model, name)]
    if not all(np.isfinite(result).all() for result in results):
        raise ValueError("it turns the mean of its data into something that is not finite")
    if len(model.get_feature_names_out()) != results[0].shape[1]:
        raise ValueError("it does not have one name for each column that it returns")


def _read_document(path: Path) -> dict[str, Any]:
    """The JSON document, its format, version and checksum checked."""
    try:
        document = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise _wrong(path, f"it is not JSON ({error})") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise _wrong(path, f'it does not say "format": "{FORMAT}"')
    version = _field(document, "version", int, path)
    if version > VERSION:
        raise _wrong(
            path, f"it has version {version} of the format and this gsppca reads up to {VERSION}: upgrade gsppca", ""
        )
    if version < 1:
        raise _wrong(path, f"it has version {version} of the format, and versions count from 1")
    parts = _field(document, "model", dict, path)
    _field(document, "arrays", dict, path)
    if document.get("sha256") != _digest(parts):
        raise _wrong(path, "its content does not have the checksum it names: damaged, or edited by hand")
    return document


def _field(document: dict[str, Any], name: str, kind: type, path: Path) -> Any:
    value = document.get(name)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise _wrong(path, f"its {name!r} is missing or not a {kind.__name__}")
    return value


def _wrong(path: Path, what: str, advice: str = "Save the model again, or get another copy of the file.") -> ValueError:
    return ValueError(f"{path} cannot be loaded: {what}. {advice}".strip())


def _digest(parts: Any) -> str:
    canonical = json.dumps(parts, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode()).hexdigest()


def _json_path(path: PathLike, *, for_writing: bool) -> Path:
    given = Path(os.fspath(path))
    if given.is_dir() or (for_writing and not given.suffix):
        return given / MODEL
    if for_writing and given.suffix != ".json":
        raise ValueError(
            f"path must end in .json, or be a folder, got {str(path)!r}. The arrays go beside it, ending in .npz."
        )
    return given.with_suffix(".json") if given.suffix == ".npz" else given


def _classes() -> dict[str, type]:
    from gsppca.estimator import GSPPCA
    from gsppca.selector import GSPPCASelector

    return {"GSPPCA": GSPPCA, "GSPPCASelector": GSPPCASelector}

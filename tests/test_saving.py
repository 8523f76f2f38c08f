"""Saved models: the same numbers back to the last bit, older files keep loading, damage is said and never runs."""

from __future__ import annotations

import hashlib
import io
import json
import os
import pickle
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gsppca
from gsppca import GSPPCA, Core, GSPPCASelector, Paper
from gsppca.io.models import VERSION, save_model
from tests.conftest import sparse_factor_data
from tests.needs import optional

OLD = Path(__file__).parent / "fixtures" / "model_v1"
MODELS = {
    "plain": (GSPPCA(2), "dense"),
    "auto": (GSPPCA(), "dense"),
    "scaled": (GSPPCA(2, scale=True, n_features_to_select=6), "dense"),
    "ranking scaled, profile": (GSPPCA(2, method=Paper(scale_ranking=True, noise_variance="profile")), "dense"),
    "fraction, random": (
        GSPPCA(2, n_features_to_select=0.3, method=Paper(init="random"), random_state=3),
        "dense",
    ),
    "constant column": (GSPPCA(2), "constant"),
    "float32": (GSPPCA(2), "float32"),
    "sparse": (GSPPCA(2), "sparse"),
    "names": (GSPPCA(2), "frame"),
    "selector": (GSPPCASelector(2), "dense"),
    "core of the paper's": (GSPPCA(2, method="paper", n_features_to_select=Core(0.8)), "dense"),
}


def data_of(kind):
    X, _ = sparse_factor_data(seed=4, n=40, p=25, d=2)
    if kind == "constant":
        X[:, 3] = 7.0
    if kind == "frame":
        return optional("pandas").DataFrame(X, columns=[f"gène {i}" for i in range(X.shape[1])])
    if kind == "sparse":
        return sp.csr_array(np.where(np.abs(X) > 0.7, X, 0.0))
    return X.astype(np.float32) if kind == "float32" else X


@pytest.fixture(params=MODELS)
def fitted(request):
    model, kind = MODELS[request.param]
    X = data_of(kind)
    return model.fit(X), X


def assert_same(one, other, where=""):
    """Equal to the last bit, dtypes and types included."""
    assert type(one) is type(other), where
    if isinstance(one, np.ndarray):
        assert one.dtype == other.dtype, where
        np.testing.assert_array_equal(one, other, err_msg=where)
    elif hasattr(one, "__dataclass_fields__"):
        for name in one.__dataclass_fields__:
            if name not in ("frame", "scores", "fold"):  # what belongs to rows of the data stays behind
                assert_same(getattr(one, name), getattr(other, name), f"{where}.{name}")
    else:
        assert one == other, where


def test_a_loaded_model_is_the_model(fitted, tmp_path):
    model, X = fitted
    loaded = gsppca.load(model.save(tmp_path))
    assert type(loaded) is type(model)
    assert loaded.get_params() == model.get_params()
    assert set(vars(model)) == set(vars(loaded))
    for name, value in vars(model).items():
        assert_same(value, getattr(loaded, name), name)
    assert_same(model.transform(X), loaded.transform(X))
    assert_same(model.get_support(indices=True), loaded.get_support(indices=True))
    assert_same(model.get_feature_names_out(), loaded.get_feature_names_out())
    assert_same(model.choose(4).get_support(), loaded.choose(4, X).get_support())
    if isinstance(model, GSPPCA):
        assert model.score(X) == loaded.score(X)
        assert_same(model.inverse_transform(model.transform(X)), loaded.inverse_transform(loaded.transform(X)))
        assert_same(model.choose(4).components_, loaded.choose(4, X).components_)
    with pytest.raises(ValueError, match="X is needed"):
        loaded.choose(4)


def test_saving_again_writes_the_same_bytes(fitted, tmp_path):
    model, _ = fitted
    first, second = model.save(tmp_path / "a"), gsppca.load(tmp_path / "a").save(tmp_path / "b")
    assert first.read_bytes() == second.read_bytes()
    assert first.with_suffix(".npz").read_bytes() == second.with_suffix(".npz").read_bytes()


def test_what_set_output_was_told_is_kept(tmp_path):
    pd = optional("pandas")
    X = data_of("frame")
    model = GSPPCA(2).set_output(transform="pandas").fit(X)
    pd.testing.assert_frame_equal(gsppca.load(model.save(tmp_path)).transform(X), model.transform(X))


def test_paths(tmp_path):
    X = data_of("dense")
    model = GSPPCA(2).fit(X)
    assert model.save(tmp_path / "new" / "folder") == tmp_path / "new" / "folder" / "model.json"
    path = model.save(str(tmp_path / "mine.json"))
    assert sorted(file.name for file in tmp_path.iterdir()) == ["mine.json", "mine.npz", "new"]
    for name in ("mine.json", "mine.npz"):
        assert_same(gsppca.load(tmp_path / name).components_, model.components_)
    with pytest.raises(ValueError, match=r"must end in \.json"):
        model.save(tmp_path / "mine.pkl")
    path.with_suffix(".npz").unlink()
    with pytest.raises(FileNotFoundError, match=r"needs its arrays in mine\.npz"):
        gsppca.load(path)
    with pytest.raises(FileNotFoundError):
        gsppca.load(tmp_path / "absent.json")


def test_only_fitted_models_of_ours_are_saved(tmp_path):
    from sklearn.exceptions import NotFittedError

    class Mine(GSPPCA):
        pass

    X = data_of("dense")
    with pytest.raises(NotFittedError):
        GSPPCA(2).save(tmp_path)
    with pytest.raises(ValueError, match="got Mine"):
        Mine(2).fit(X).save(tmp_path)
    with pytest.raises(ValueError, match=r"method\.size_prior is a function.*Set method\.size_prior"):
        GSPPCA(2, method=Paper(size_prior=lambda size: 0.0)).fit(X).save(tmp_path)
    with pytest.raises(ValueError, match="random_state is a RandomState"):
        GSPPCA(2, random_state=np.random.RandomState(0)).fit(X).save(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_new_fitted_attributes_are_stored_without_being_listed(tmp_path):
    """And one of a type that the format does not know is refused, by name, rather than lost."""
    model = GSPPCA(2).fit(data_of("dense"))
    model.news_ = {"grid": [1, 2.5, float("nan")], "pair": (np.float32(1.5), None), "names": np.array(["a", "b"])}
    news = gsppca.load(model.save(tmp_path)).news_
    assert news["grid"][:2] == [1, 2.5]
    assert np.isnan(news["grid"][2])
    assert_same(news["pair"], (np.float32(1.5), None))
    assert_same(news["names"], np.array(["a", "b"]))

    @dataclass
    class Unknown:
        x: int

    for value in (Unknown(1), {1: 2}, {1, 2}, np.array([object()]), complex(1, 2)):
        model.news_ = value
        with pytest.raises(ValueError, match="news_ is a"):
            model.save(tmp_path)


def test_the_first_version_keeps_loading():
    """The files were written by version 0.1 and are never written again; the numbers stand in expected.json."""
    pd = optional("pandas")
    model = gsppca.load(OLD)
    expected = json.loads((OLD / "expected.json").read_text())
    X, _ = sparse_factor_data(seed=4, n=40, p=25, d=2)
    assert json.loads((OLD / "model.json").read_text())["version"] == 1 <= VERSION
    assert model.get_support(indices=True).tolist() == expected["support"]
    assert model.feature_names_in_.tolist() == expected["names"]
    assert model.evidence_path_.log_evidence.tolist() == expected["log_evidence"]
    np.testing.assert_allclose(
        model.transform(pd.DataFrame(X, columns=expected["names"])), expected["scores"], rtol=1e-9
    )
    chosen = model.choose(3, pd.DataFrame(X, columns=expected["names"]))
    assert chosen.n_selected_ == 3


@pytest.fixture(scope="module")
def files():
    return (OLD / "model.json").read_bytes(), (OLD / "model.npz").read_bytes()


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damage_is_a_value_error_or_harmless(files, tmp_path, data):
    """Any byte of either file changed, or the end cut off: a ValueError that names the file, or the same model."""
    contents = [bytearray(content) for content in files]
    which = data.draw(st.integers(0, 1))
    place = data.draw(st.integers(0, len(contents[which]) - 1))
    if data.draw(st.booleans()):
        contents[which][place] ^= data.draw(st.integers(1, 255))
    else:
        del contents[which][place:]
    (tmp_path / "model.json").write_bytes(contents[0])
    (tmp_path / "model.npz").write_bytes(contents[1])
    loaded, said = None, ""
    try:
        loaded = gsppca.load(tmp_path)
    except (ValueError, FileNotFoundError) as error:
        said = str(error)
    if loaded is None:
        assert "model." in said
    else:
        assert which == 0  # white space, or the name of the program
        assert_same(loaded.components_, gsppca.load(OLD).components_)


def forge(folder, change=None, arrays=None):
    """A file with right checksums and a wrong content, as someone with bad intentions would write it."""
    document = json.loads((OLD / "model.json").read_text())
    if change is not None:
        change(document["model"])
    content = (OLD / "model.npz").read_bytes() if arrays is None else arrays
    document["arrays"]["sha256"] = hashlib.sha256(content).hexdigest()
    canonical = json.dumps(document["model"], sort_keys=True, separators=(",", ":"))
    document["sha256"] = hashlib.sha256(canonical.encode()).hexdigest()
    folder.joinpath("model.json").write_text(json.dumps(document))
    folder.joinpath("model.npz").write_bytes(content)


class Bomb:
    """Unpickled, it leaves a file behind."""

    def __init__(self, trace):
        self.trace = trace

    def __reduce__(self):
        return (Path.touch, (self.trace,))


def stored(**members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return buffer.getvalue()


def with_pickle(trace):
    buffer = io.BytesIO()
    np.save(buffer, np.array([Bomb(trace)], dtype=object), allow_pickle=True)
    return stored(support_=buffer.getvalue())


def compressed(_):
    """The right arrays, but compressed: nothing else is wrong with the file."""
    buffer = io.BytesIO()
    with np.load(OLD / "model.npz") as arrays:
        np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def claims_too_much(_):
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000000,), }\n"
    return stored(support_=b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)


def overlapping(_):
    """Ten names for the same bytes."""
    content = bytearray(stored(a=bytes(10_000)))
    start = content.index(b"PK\x01\x02")
    end = content.index(b"PK\x05\x06")
    entry, tail = content[start:end], content[end:]
    tail[8:10] = tail[10:12] = (10).to_bytes(2, "little")
    tail[12:16] = (10 * len(entry)).to_bytes(4, "little")
    return bytes(content[:start] + 10 * entry + tail)


HARMFUL = {
    "a pickle in an array": (with_pickle, "allow_pickle|Object arrays"),
    "a pickle": (lambda trace: pickle.dumps(Bomb(trace)), "not a zip file"),
    "compressed": (compressed, "compressed, and so may grow"),
    "claims too much": (claims_too_much, ""),
    "overlapping": (overlapping, "larger than the file|verlap"),
    "nonsense": (lambda _: stored(support_=b"nonsense"), ""),
    "nothing": (lambda _: b"", ""),
}


@pytest.mark.parametrize(("make", "said"), HARMFUL.values(), ids=HARMFUL)
def test_arrays_made_to_harm_are_refused(tmp_path, make, said):
    trace = tmp_path / "exploded"
    forge(tmp_path, arrays=make(trace))
    with pytest.raises(ValueError, match=f"cannot be loaded.*({said})"):
        gsppca.load(tmp_path)
    assert not trace.exists()


def test_the_bomb_works(tmp_path):
    """Whoever opens it does see it go off: the test above would notice."""
    trace = tmp_path / "exploded"
    np.load(io.BytesIO(zipfile.ZipFile(io.BytesIO(with_pickle(trace))).read("support_.npy")), allow_pickle=True)
    assert trace.exists()


@pytest.mark.parametrize(
    "name", ["components_", "mean_", "support_", "explained_variance_", "n_features_in_", "scale_"]
)
def test_a_model_that_lacks_what_it_needs_is_refused(tmp_path, name):
    forge(tmp_path, lambda model: model["fitted"].pop(name))
    with pytest.raises(ValueError, match="does not describe a model"):
        gsppca.load(tmp_path)


def test_whatever_is_left_out_the_model_is_refused_or_works(tmp_path):
    X, _ = sparse_factor_data(seed=4, n=40, p=25, d=2)
    fitted = json.loads((OLD / "model.json").read_text())["model"]["fitted"]
    for name in fitted:
        forge(tmp_path, lambda model, name=name: model["fitted"].pop(name))
        try:
            model = gsppca.load(tmp_path)
        except ValueError:
            continue
        frame = optional("pandas").DataFrame(X, columns=getattr(model, "feature_names_in_", None))
        scores = model.transform(frame)
        assert np.isfinite(model.score(frame))
        assert model.inverse_transform(scores).shape == X.shape
        assert model.get_covariance().shape == (25, 25)


def test_components_that_are_not_finite_are_refused(tmp_path):
    with np.load(OLD / "model.npz") as arrays:
        content = dict(arrays)
    content["components_"] = np.full_like(content["components_"], np.nan)
    buffer = io.BytesIO()
    np.savez(buffer, **content)
    forge(tmp_path, arrays=buffer.getvalue())
    with pytest.raises(ValueError, match="not finite"):
        gsppca.load(tmp_path)


def test_no_place_on_a_strangers_machine_is_kept(tmp_path):
    """A checkpoint is written to: the path of whoever made the model must not be used where it is loaded."""
    forge(tmp_path, lambda model: model["parameters"].update(checkpoint="/etc/stranger.npz"))
    assert "stranger" not in repr(gsppca.load(tmp_path).get_params())


CHANGES = {
    "a class of others": lambda model: model.update({"class": "subprocess.Popen"}),
    "a method": lambda model: model["fitted"].update(transform=1),
    "a private name": lambda model: model["fitted"].update(_fitted=1),
    "a dunder": lambda model: model["fitted"].update(__class__="os"),
    "an unknown record": lambda model: model["record"].update(record="Popen"),
    "an unknown field": lambda model: model["record"]["fields"].update(shell=True),
    "a lost field": lambda model: model["record"]["fields"].pop("found"),
    "an unknown word": lambda model: model["fitted"].update(mean_={"eval": "1"}),
    "an unknown parameter": lambda model: model["parameters"].update(hook="x"),
    "an array that is not there": lambda model: model["fitted"].update(mean_={"array": "absent"}),
    "a wrong shape": lambda model: model["fitted"].update(mean_={"array": "components_"}),
    "a wrong count": lambda model: model["fitted"].update(n_selected_=1),
    "no parts": lambda model: model.clear(),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_content_made_to_harm_is_refused(tmp_path, change):
    forge(tmp_path)
    assert gsppca.load(tmp_path).n_features_in_ == 25  # the forger's file is right as long as nothing is changed
    forge(tmp_path, change)
    with pytest.raises(ValueError, match="cannot be loaded"):
        gsppca.load(tmp_path)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("format", "other", "does not say"),
        ("version", 99, "upgrade gsppca"),
        ("version", "1", "'version' is missing or not a int"),
        ("version", 0, "count from 1"),
        ("model", [], "'model' is missing"),
        ("arrays", None, "'arrays' is missing"),
        ("arrays", {"file": "../model.npz"}, "outside its folder"),
        ("arrays", {"file": "/etc/hostname"}, "outside its folder"),
        ("sha256", "0", "damaged, or edited"),
    ],
)
def test_the_frame_of_the_file_is_checked(tmp_path, key, value, said):
    forge(tmp_path)
    document = json.loads((tmp_path / "model.json").read_text())
    document[key] = value
    (tmp_path / "model.json").write_text(json.dumps(document))
    with pytest.raises(ValueError, match=said):
        gsppca.load(tmp_path)


def test_nested_brackets_do_not_crash(tmp_path):
    (tmp_path / "model.json").write_text("[" * 100_000)
    with pytest.raises(ValueError, match="not JSON"):
        gsppca.load(tmp_path)


@pytest.fixture
def two_models(tmp_path):
    """A folder with a model of 2 components, and another model, of 3."""
    X = data_of("dense")
    GSPPCA(2).fit(X).save(tmp_path)
    return tmp_path, GSPPCA(3).fit(X)


def failing(monkeypatch, name, number, error):
    """Let the call of this number of a method of Path fail."""
    real, calls = getattr(Path, name), []

    def fail(self, *arguments):
        calls.append(self)
        if len(calls) == number:
            raise error
        return real(self, *arguments)

    monkeypatch.setattr(Path, name, fail)
    return calls


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()], ids=repr)
@pytest.mark.parametrize(
    ("name", "number"),
    [("write_bytes", 1), ("write_bytes", 2), ("replace", 1), ("replace", 2), ("rename", 1), ("rename", 2)],
)
def test_whatever_fails_while_saving_the_old_model_stays(two_models, monkeypatch, name, number, error):
    folder, new = two_models
    with monkeypatch.context() as context:
        calls = failing(context, name, number, error)
        with pytest.raises(type(error)):
            save_model(new, folder)
        assert len(calls) >= number
    assert gsppca.load(folder).n_components_ == 2
    assert sorted(file.name for file in folder.iterdir()) == ["model.json", "model.npz"]
    save_model(new, folder)
    assert gsppca.load(folder).n_components_ == 3


def test_a_kill_between_the_two_files_leaves_the_old_model(two_models):
    """os._exit runs no clean-up: what is left is what a kill leaves, and the next writer tidies up."""
    folder, new = two_models
    new.save(folder.parent / "new")
    code = (
        "import os, sys, pathlib, gsppca; model = gsppca.load(sys.argv[1]); real, calls = pathlib.Path.replace, []\n"
        "def replace(self, target):\n"
        "    calls.append(target)\n"
        "    if len(calls) == 2: os._exit(9)\n"
        "    return real(self, target)\n"
        "pathlib.Path.replace = replace; model.save(sys.argv[2])"
    )
    command = [sys.executable, "-c", code, str(folder.parent / "new"), str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(Path(gsppca.__file__).parents[1])}
    assert subprocess.run(command, env=environment).returncode == 9
    assert (folder / "model.npz").read_bytes() == (folder.parent / "new" / "model.npz").read_bytes()
    assert gsppca.load(folder).n_components_ == 2
    new.save(folder)
    assert gsppca.load(folder).n_components_ == 3
    assert not (folder / ".model.previous").exists()


def test_a_folder_that_could_not_be_filled_is_not_left(tmp_path, monkeypatch):
    failing(monkeypatch, "write_bytes", 2, OSError(28, "No space left on device"))
    with pytest.raises(OSError, match="No space"):
        GSPPCA(2).fit(data_of("dense")).save(tmp_path / "a" / "b")
    assert list(tmp_path.iterdir()) == []


def test_skops_works_too(fitted):
    skops = optional("skops.io")
    model, X = fitted
    content = skops.dumps(model)
    ours = skops.get_untrusted_types(data=content)
    assert all(name.startswith("gsppca.") for name in ours)
    loaded = skops.loads(content, trusted=ours)
    assert_same(model.transform(X), loaded.transform(X))
    assert_same(model.choose(4).get_support(), loaded.choose(4, X).get_support())


@pytest.mark.filterwarnings("ignore::gsppca.MostVariablesWarning")
def test_a_model_does_not_store_the_data_whose_gaps_it_filled(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 2)) @ rng.standard_normal((2, 20)) + rng.standard_normal((1000, 20))
    X[rng.random(X.shape) < 0.03] = np.nan
    model = GSPPCA(2, missing="impute").fit(X)
    model.save(tmp_path / "model.json")
    assert (tmp_path / "model.npz").stat().st_size < X.nbytes / 5
    assert len(pickle.dumps(model)) < X.nbytes / 5
    for again in (gsppca.load(tmp_path / "model.json"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.transform(X[:9]), model.transform(X[:9]))
        np.testing.assert_array_equal(again.choose(3, X).support_, model.choose(3).support_)

"""What the commands write and show, against the library itself."""

from __future__ import annotations

import gzip
import json
import sys
import types

import numpy as np
import pandas as pd
import pytest

import gsppca
from gsppca import GSPPCA
from gsppca.comparison import METHODS, compare_methods, jaccard
from tests.cli.conftest import column, read_csv


def test_fit_writes_what_the_library_finds(call, table, tmp_path, numbers):
    X, names, _ = numbers
    code, out, err = call("fit", table, "-d", 2, "--label", "kind", "--evidence", "noiseless", "-o", tmp_path / "out")
    assert code == 0
    assert err == ""
    model = GSPPCA(2, evidence="noiseless").fit(X)
    selected = read_csv(tmp_path / "out" / "selected.csv")
    assert {row["name"] for row in selected} == {names[k] for k in model.get_support(indices=True)}
    assert [int(row["rank"]) for row in selected] == list(range(1, model.n_selected_ + 1))
    order = np.argsort(model.ranking_)[: model.n_selected_]
    np.testing.assert_array_equal(column(selected, "relevance"), model.relevance_[order])
    np.testing.assert_array_equal(column(selected, "gsppca1"), model.components_[1, order])
    entry = model.evidence_path_.log_evidence[: model.n_selected_]
    np.testing.assert_array_equal(column(selected, "evidence_at_entry"), entry)

    scores = read_csv(tmp_path / "out" / "scores.csv")
    assert [row["sample"] for row in scores[:3]] == ["s0", "s1", "s2"]
    assert [row["label"] for row in scores[:3]] == ["x", "y", "x"]
    np.testing.assert_array_equal(column(scores, "gsppca0"), model.transform(X)[:, 0])

    evidence = read_csv(tmp_path / "out" / "evidence.csv")
    np.testing.assert_array_equal(column(evidence, "log_evidence"), model.evidence_path_.log_evidence)
    assert [row["entering"] for row in evidence[:3]] == [names[i] for i in np.argsort(model.ranking_)[:3]]

    loaded = gsppca.load(tmp_path / "out")
    assert loaded.feature_names_in_.tolist() == names
    np.testing.assert_array_equal(loaded.components_, model.components_)
    assert not list(tmp_path.glob(".*"))
    assert f"{model.n_selected_} of 20 variables selected, with 2 components" in out
    # Lines with paths and commands are left to the terminal to wrap: they are to be copied in one piece.
    assert max(len(line) for line in out.splitlines() if str(tmp_path) not in line) <= 80


def test_json_holds_the_selection_and_nothing_else_is_printed(call, table, numbers):
    _, _, relevant = numbers
    code, out, err = call("fit", table, "-d", 2, "--drop", "kind", "--json")
    document = json.loads(out)
    assert code == 0
    assert err == ""
    assert {row["name"] for row in document["selected"]} == relevant
    assert document["n_selected"] == len(relevant) == len(document["selected"])
    assert document["n_samples"] == 60
    assert document["parameters"]["n_components"] == 2
    assert document["warnings"] == []


def test_options_reach_the_estimator(call, table, tmp_path):
    arguments = [
        "-d",
        "3",
        "--size",
        "0.25",
        "--scale",
        "--noise-variance",
        "profile",
        "--seed",
        "7",
        "--ranking",
        "vem",
    ]
    more = ["--evidence", "noiseless", "--set", "init=random", "--set", "max_iter=2000", "--set", "tol=1e-4"]
    code, _, _ = call("fit", table, "--drop", "kind", *arguments, *more, "-o", tmp_path / "out", "-q")
    assert code == 0
    model = gsppca.load(tmp_path / "out")
    wanted = {
        "n_components": 3,
        "n_features_to_select": 0.25,
        "scale": True,
        "noise_variance": "profile",
        "random_state": 7,
        "init": "random",
        "max_iter": 2000,
        "tol": 1e-4,
    }
    assert {name: model.get_params()[name] for name in wanted} == wanted
    assert model.n_selected_ == 5


@pytest.mark.parametrize(("typed", "value"), [("5", 5), ("0.5", 0.5), ("evidence", "evidence")])
def test_sizes(call, table, typed, value):
    code, out, _ = call("fit", table, "-d", 2, "--drop", "kind", "--size", typed, "--json")
    assert code == 0
    assert json.loads(out)["parameters"]["n_features_to_select"] == value


def test_quiet_and_verbose(call, table):
    assert call("fit", table, "-d", 2, "--drop", "kind", "-q") == (0, "", "")
    steps = {
        "noiseless": ("reading", "start grid", "variational EM", "evidence path", "column 1 ('sample') names the rows"),
        "joint": ("noise path", "joint evidence"),
    }
    for evidence, wanted in steps.items():
        code, _, err = call("fit", table, "-d", 2, "--drop", "kind", "--evidence", evidence, "-v")
        assert code == 0
        for step in wanted:
            assert step in err


def test_warnings_are_lines(call, tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "noise.npy", rng.normal(size=(50, 20)))
    noiseless = ("--evidence", "noiseless", "--set", "max_iter=2")
    code, out, err = call("fit", tmp_path / "noise.npy", "-d", 2, *noiseless, "--json")
    assert code == 0
    assert "warning: The variational EM did not settle" in err
    assert len(json.loads(out)["warnings"]) == 1
    code, out, err = call("fit", tmp_path / "noise.npy", "-d", 2, "--evidence", "joint", "--json")
    assert code == 0
    assert "warning: No support beats the empty model" in err
    assert len(json.loads(out)["warnings"]) == 1


def test_missing_values_are_left_to_the_model(call, numbers, tmp_path):
    """--missing impute: the model of the library fills them, in fit and in transform; infinite ones are refused."""
    X, names, _ = numbers
    gaps = X.copy()
    gaps[::7, 3] = gaps[1::9, 11] = np.nan
    table = tmp_path / "gaps.csv"
    pd.DataFrame(gaps, columns=names).to_csv(table, index=False)
    code, _, err = call("fit", table, "-d", 2, "-q")
    assert code == 1
    assert "say --missing drop-rows, drop-columns, mean or impute." in err
    code, out, err = call("fit", table, "-d", 2, "--missing", "impute", "--report", "-o", tmp_path / "out", "--json")
    assert (code, err) == (0, "")
    model = GSPPCA(2, missing="impute").fit(pd.read_csv(table).to_numpy())
    assert json.loads(out)["n_selected"] == model.n_selected_
    scores = read_csv(tmp_path / "out" / "scores.csv")
    np.testing.assert_allclose(column(scores, "gsppca0"), model.transform(gaps)[:, 0], rtol=1e-9)
    code, out, err = call("transform", tmp_path / "out", table, "--missing", "impute")
    assert (code, err) == (0, "")
    assert len(out.splitlines()) == len(X) + 1
    code, _, err = call("compare", table, "-d", 2, "--missing", "impute")
    assert code == 2
    assert "--missing impute is for fit and transform" in err
    gaps[5, 5] = np.inf
    pd.DataFrame(gaps, columns=names).to_csv(table, index=False)
    code, _, err = call("fit", table, "-d", 2, "--missing", "impute")
    assert code == 1
    assert "the value is infinite" in err


def test_an_output_folder_is_not_overwritten_by_mistake(call, table, tmp_path):
    out = tmp_path / "out"
    fit = ("fit", table, "-d", 2, "--drop", "kind", "-q", "-o", out)
    assert call(*fit)[0] == 0
    (out / "report.html").write_text("of an earlier run")
    (out / "mine.txt").write_text("keep")
    before = (out / "model.json").read_bytes()
    code, _, err = call(*fit, "--size", 3)
    assert code == 1
    assert "is not empty. Choose another folder, or say --overwrite." in err
    assert (out / "model.json").read_bytes() == before
    assert call(*fit, "--size", 3, "--overwrite")[0] == 0
    assert gsppca.load(out).n_selected_ == 3
    assert (out / "mine.txt").read_text() == "keep"
    assert not (out / "report.html").exists()
    assert not list(tmp_path.glob(".*"))


def test_an_empty_folder_is_used(call, table, tmp_path):
    (tmp_path / "out").mkdir()
    assert call("fit", table, "--drop", "kind", "-q", "-o", tmp_path / "out")[0] == 0
    assert (tmp_path / "out" / "selected.csv").exists()


def test_the_report_gets_what_it_needs(call, table, tmp_path, monkeypatch):
    got = {}

    def write_report(model, path, **more):
        got.update(more)
        path.write_text("page")

    monkeypatch.setitem(sys.modules, "gsppca.report", types.SimpleNamespace(write_report=write_report))
    code, out, _ = call("fit", table, "-d", 2, "--label", "kind", "-o", tmp_path / "out", "--report")
    assert code == 0
    assert (tmp_path / "out" / "report.html").read_text() == "page"
    assert "report.html" in out
    assert set(got) == {"X", "feature_names", "sample_names", "labels", "command", "settings"}
    assert got["X"].shape == (60, 20)
    assert got["labels"][:2] == ["x", "y"]
    assert got["command"].startswith(f"gsppca fit {table} -d 2 --label kind")


def test_a_failing_report_leaves_nothing(call, table, tmp_path, monkeypatch):
    def write_report(model, path, **more):
        path.write_text("half a page")
        raise OSError(28, "No space left on device")

    monkeypatch.setitem(sys.modules, "gsppca.report", types.SimpleNamespace(write_report=write_report))
    code, _, err = call("fit", table, "--drop", "kind", "-o", tmp_path / "out", "--report")
    assert code == 1
    assert "No space left on device" in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["table.csv"]


def test_transform_finds_columns_by_name(call, table, tmp_path, numbers):
    X, names, relevant = numbers
    out = tmp_path / "out"
    assert call("fit", table, "-d", 2, "--drop", "kind", "-q", "-o", out)[0] == 0
    expected = GSPPCA(2).fit(X).transform(X)
    code, printed, _ = call("transform", out, table, "--drop", "kind")
    assert code == 0
    lines = printed.splitlines()
    assert lines[0] == "sample,gsppca0,gsppca1"
    np.testing.assert_array_equal([list(map(float, line.split(",")[1:])) for line in lines[1:]], expected)
    # Columns in another order, without those that were not selected, and with others.
    kept = [name for name in reversed(names) if name in relevant]
    rows = [[*(row[names.index(name)] for name in kept), 9.0] for row in X.tolist()]
    text = "\n".join([",".join([*kept, "new"]), *(",".join(map(str, row)) for row in rows)])
    packed = tmp_path / "new.csv.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    code, printed, _ = call("transform", out / "model.json", packed, "-o", tmp_path / "scores.csv")
    assert code == 0
    np.testing.assert_allclose(column(read_csv(tmp_path / "scores.csv"), "gsppca1"), expected[:, 1], rtol=1e-12)
    assert call("transform", out, packed, "-o", tmp_path / "scores.csv")[0] == 1
    assert call("transform", out, packed, "-o", tmp_path / "scores.csv", "--overwrite", "-q")[0] == 0
    document = json.loads(call("transform", out, packed, "--json")[1])
    np.testing.assert_allclose([row[1:] for row in document["rows"]], expected, rtol=1e-12)
    packed.write_bytes(gzip.compress(text.replace(kept[0], "other").encode()))
    code, _, err = call("transform", out, packed)
    assert code == 1
    assert f"no column {kept[0]!r}, which the model selected (1 such)" in err


def test_transform_without_names_needs_all_columns(call, tmp_path, numbers):
    X, _, _ = numbers
    np.save(tmp_path / "a.npy", X)
    np.save(tmp_path / "b.npy", X[:, :5])
    assert call("fit", tmp_path / "a.npy", "-d", 2, "-q", "-o", tmp_path / "out")[0] == 0
    code, printed, _ = call("transform", tmp_path / "out", tmp_path / "a.npy")
    assert code == 0
    assert printed.startswith("sample,gsppca0,gsppca1\n1,")
    code, _, err = call("transform", tmp_path / "out", tmp_path / "b.npy")
    assert code == 1
    assert "5 columns, but the model has 20" in err


def test_info_shows_the_file_and_a_command_that_works(call, table, numbers):
    code, out, _ = call("info", table)
    assert code == 0
    for words in ("60 samples (rows) x 20 variables", "names the rows", "('kind') holds text", "missing     none"):
        assert words in out
    document = json.loads(call("info", table, "--json")[1])
    assert document["text_columns"] == ["kind"]
    assert document["n_missing"] == 0
    command = document["command"].split()
    assert command[:2] == ["gsppca", "fit"]
    assert command[3:5] == ["--label", "kind"]
    code, out, _ = call("fit", table, *command[3:5], "-d", 2, "--json")
    assert {row["name"] for row in json.loads(out)["selected"]} == numbers[2]


def test_compare_shows_the_methods_side_by_side(call, table, tmp_path, numbers):
    methods = ["--method", "GSPPCA", "--method", "VarianceRanking", "--method", "PlainPCA"]
    common = ("compare", table, "--drop", "kind", "-d", 2, "--halves", 2, *methods)
    code, out, _ = call(*common, "-o", tmp_path / "compared.csv")
    assert code == 0
    rows = read_csv(tmp_path / "compared.csv")
    assert [row["method"] for row in rows] == ["GSPPCA", "VarianceRanking", "PlainPCA"]
    assert int(rows[0]["size"]) == len(numbers[2])
    assert int(rows[2]["size"]) == 20
    assert float(rows[0]["overlap"]) == float(rows[2]["stability"]) == 1.0
    assert float(rows[2]["overlap"]) == len(numbers[2]) / 20
    assert "stability" in out
    document = json.loads(call(*common, "--size", 4, "--json")[1])
    assert [row["size"] for row in document["methods"]] == [4, 4, 20]
    assert len(document["methods"][0]["selected"]) == 4
    assert call(*common, "--method", "magic")[0] == 2


def test_comparison_does_not_depend_on_the_order_of_columns(numbers):
    X, _, _ = numbers
    order = np.random.default_rng(1).permutation(20)
    names = ["GSPPCA", "ThresholdedPCA", "VarianceRanking"]
    straight = compare_methods(X, 2, methods=names, n_subsamples=2)
    shuffled = compare_methods(X[:, order], 2, methods=names, n_subsamples=2)
    for one, other in zip(straight, shuffled, strict=True):
        np.testing.assert_array_equal(one.support[order], other.support)
        assert one.explained_variance == pytest.approx(other.explained_variance, rel=1e-9)
        assert one.stability == pytest.approx(other.stability)


def test_every_method_can_be_compared(numbers):
    X = numbers[0][:30, :10]
    compared = compare_methods(X, 2, size=4, methods="all", n_subsamples=0)
    assert [one.method for one in compared] == list(METHODS)
    assert {one.size for one in compared if one.method != "PlainPCA"} == {4}
    assert all(np.isnan(one.stability) for one in compared)
    assert jaccard(compared[1].support, compared[0].support) == compared[1].overlap
    # Any four of the variables hold less than all of them.
    assert max(one.explained_variance for one in compared) == compared[-1].explained_variance


def test_a_method_that_fails_gets_no_figures(numbers, monkeypatch):
    def fail(d, size, seed):
        raise ValueError("no luck")

    monkeypatch.setitem(METHODS, "SvnPCA", fail)
    _, failed = compare_methods(numbers[0], 2, methods=["GSPPCA", "SvnPCA"], n_subsamples=2)
    assert failed.note == "failed: no luck"
    assert np.isnan([failed.explained_variance, failed.stability, failed.overlap]).all()


def test_compare_refuses_a_size_that_the_table_has_not(call, table):
    code, out, err = call("compare", table, "--drop", "kind", "-d", 2, "--size", 21)
    assert (code, out) == (1, "")
    assert err.startswith("gsppca: --size must be an integer from 1 to 20, got 21")


def test_demo(call, tmp_path):
    code, out, _ = call("demo", "-o", tmp_path / "demo")
    assert code == 0
    assert "25 of 64 variables selected" in out
    assert ". . # # # # . ." in out
    assert out.endswith("digits.csv --label digit\n")
    # Lines with paths and commands are left to the terminal to wrap: they are to be copied in one piece.
    assert max(len(line) for line in out.splitlines() if str(tmp_path) not in line) <= 80
    code, out, _ = call(
        "fit", tmp_path / "demo" / "digits.csv", "--label", "digit", "--evidence", "noiseless", "--json"
    )
    assert json.loads(out)["n_selected"] == 25

"""What the commands write and show, against the library itself."""

from __future__ import annotations

import gzip
import json
import shlex
import sys
import types

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits, load_wine

import gsppca
from gsppca import GSPPCA, Paper
from gsppca.comparison import SLOW, USUAL, compare_methods, jaccard
from gsppca.experiments import methods, register_method
from tests.cli.conftest import column, read_csv


def test_fit_writes_what_the_library_finds(call, table, tmp_path, numbers):
    X, names, _ = numbers
    code, out, err = call("fit", table, "-d", 2, "--label", "kind", "-o", tmp_path / "out")
    assert code == 0
    assert err == ""
    model = GSPPCA(2).fit(X)
    variables = read_csv(tmp_path / "out" / "selected.csv")
    order = np.argsort(model.ranking_)
    assert [row["name"] for row in variables] == [names[k] for k in order]
    assert [row["selected"] for row in variables] == [str(model.support_[k]) for k in order]
    assert [row["role"] for row in variables] == model.role_[order].tolist()
    assert [int(row["rank"]) for row in variables] == list(range(1, 21))
    np.testing.assert_array_equal(column(variables, "relevance"), model.relevance_[order])
    np.testing.assert_array_equal(column(variables, "inclusion_probability"), model.inclusion_probability_[order])
    np.testing.assert_allclose(column(variables, "predicted_share"), model.predicted_share_[order].clip(0, 1))
    selected = variables[: model.n_selected_]
    np.testing.assert_array_equal(column(selected, "PC2"), model.components_[1, order[: model.n_selected_]])
    assert {row["PC1"] for row in variables[model.n_selected_ :]} == {""}
    # Every other variable is represented by the selected one that it correlates with most.
    correlations = np.corrcoef(X.T)
    for row in variables[model.n_selected_ :]:
        here, by = names.index(row["name"]), names.index(row["represented_by"])
        own = np.where(model.support_, np.abs(correlations[here]), 0)
        assert own.argmax() == by
        assert float(row["correlation"]) == pytest.approx(correlations[here, by])

    scores = read_csv(tmp_path / "out" / "scores.csv")
    assert [row["sample"] for row in scores[:3]] == ["s0", "s1", "s2"]
    assert [row["label"] for row in scores[:3]] == ["x", "y", "x"]
    np.testing.assert_array_equal(column(scores, "PC1"), model.transform(X)[:, 0])

    evidence = read_csv(tmp_path / "out" / "evidence.csv")
    path = model.evidence_path_
    np.testing.assert_array_equal(column(evidence, "log_evidence"), path.log_evidence)
    assert [row["entering"] for row in evidence] == [names[order[size - 1]] for size in path.sizes]
    shares = read_csv(tmp_path / "out" / "shares.csv")
    np.testing.assert_array_equal(column(shares, "share"), model.share_path_.share)
    assert shares[0]["entering"] == names[order[0]]

    loaded = gsppca.load(tmp_path / "out")
    assert loaded.feature_names_in_.tolist() == names
    np.testing.assert_array_equal(loaded.components_, model.components_)
    assert not list(tmp_path.glob(".*"))
    assert f"{model.n_selected_} of 20 variables are relevant and selected" in out
    assert f"A core of {model.core_.sum()} variables carries {model.core_share_:.0%}" in " ".join(out.split())
    # Lines with paths and commands are left to the terminal to wrap: they are to be copied in one piece.
    assert max(len(line) for line in out.splitlines() if str(tmp_path) not in line) <= 80


@pytest.mark.filterwarnings("ignore::gsppca.NoStructureWarning")
@pytest.mark.parametrize("rule", ["r2", "fdr", "core", "relevant", "9"])
@pytest.mark.parametrize("method", ["joint", "paper"])
def test_every_rule_is_shown_with_the_selected_variables_first(call, table, tmp_path, numbers, rule, method):
    """The rules "fdr" and "r2" select a set, the others a cut of the order; both numbers are shown for all of them."""
    X, names, _ = numbers
    out = tmp_path / "out"
    code, shown, _ = call(
        "fit", table, "-d", 2, "--drop", "kind", "--size", rule, "--method", method, "--seed", 0, "-o", out
    )
    assert code == 0
    wanted = int(rule) if rule.isdecimal() else rule
    model = GSPPCA(2, n_features_to_select=wanted, method=method, random_state=0).fit(X)
    rows = read_csv(out / "selected.csv")
    chosen = {names[k] for k in model.get_support(indices=True)}
    assert {row["name"] for row in rows[: model.n_selected_]} == chosen
    assert all(row["selected"] == "False" for row in rows[model.n_selected_ :])
    if model.supported_:
        flat = " ".join(shown.split())
        assert f"core of {model.core_.sum()} " in flat
        assert f"{model.relevant_.sum()} " in flat
    assert "inf" not in shown
    assert (out / "shares.csv").exists() == (method == "joint")


def test_json_holds_the_selection_and_nothing_else_is_printed(call, table, numbers):
    _, _, relevant = numbers
    code, out, err = call("fit", table, "-d", 2, "--drop", "kind", "--json")
    document = json.loads(out)
    assert code == 0
    assert err == ""
    assert {row["name"] for row in document["selected"]} == relevant
    assert set(document["selected"][0]) == {"rank", "name", "role", "share"}
    assert "variables" not in document
    assert document["n_selected"] == len(relevant) == len(document["selected"]) == document["n_relevant"]
    assert 0 < document["core_share"] <= 1
    assert document["n_core"] <= document["n_relevant"]
    assert document["n_samples"] == 60
    assert document["parameters"]["n_components"] == 2
    assert document["warnings"] == []
    everything = json.loads(call("fit", table, "-d", 2, "--drop", "kind", "--json-all")[1])
    assert [row["name"] for row in everything["variables"][:2]] == [row["name"] for row in document["selected"][:2]]
    assert len(everything["variables"]) == 20


def test_options_reach_the_estimator(call, table, tmp_path):
    arguments = ["-d", "3", "--size", "0.25", "--scale", "--seed", "7", "--method", "paper"]
    arguments += ["--include", "var 3", "--exclude", "var 4"]
    more = ["--set", "method__init=random", "--set", "method__max_iter=2000", "--set", "method__noise_variance=profile"]
    code, _, _ = call("fit", table, "--drop", "kind", *arguments, *more, "-o", tmp_path / "out", "-q")
    assert code == 0
    model = gsppca.load(tmp_path / "out")
    wanted = {"n_components": 3, "n_features_to_select": 0.25, "scale": True, "random_state": 7}
    assert {name: model.get_params()[name] for name in wanted} == wanted
    assert model.method == Paper(init="random", max_iter=2000, noise_variance="profile")
    assert model.n_selected_ == 5
    assert model.support_[3]
    assert not model.support_[4]
    assert (model.include, model.exclude) == (["var 3"], ["var 4"])
    code, _, err = call("fit", table, "--drop", "kind", "--include", "var 33")
    assert code == 1
    assert "--include 'var 33'" in err
    assert "The nearest names are 'var 3'" in err


@pytest.mark.parametrize(("typed", "value"), [("5", 5), ("0.5", 0.5), ("relevant", "relevant")])
def test_sizes(call, table, typed, value):
    code, out, _ = call("fit", table, "-d", 2, "--drop", "kind", "--size", typed, "--json")
    assert code == 0
    assert json.loads(out)["parameters"]["n_features_to_select"] == value


def test_quiet_and_verbose(call, table):
    assert call("fit", table, "-d", 2, "--drop", "kind", "-q") == (0, "", "")
    steps = {
        "paper": ("reading", "start grid", "variational EM", "evidence path", "column 1 ('sample') names the rows"),
        "joint": ("reading", "joint evidence"),
    }
    for method, wanted in steps.items():
        code, _, err = call("fit", table, "-d", 2, "--drop", "kind", "--method", method, "-v")
        assert code == 0
        for step in wanted:
            assert step in err


def test_warnings_are_wrapped_between_words(call, tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "noise.npy", rng.normal(size=(50, 20)))
    paper = ("--method", "paper", "--set", "method__max_iter=2")
    code, out, err = call("fit", tmp_path / "noise.npy", "-d", 2, *paper, "--json")
    assert code == 0
    assert "warning: The variational EM did not converge" in err
    assert len(json.loads(out)["warnings"]) >= 1
    code, out, err = call("fit", tmp_path / "noise.npy", "-d", 2, "--json")
    assert code == 0
    assert "warning: No statistically supported structure" in err
    assert len(json.loads(out)["warnings"]) == 1
    code, out, _ = call("fit", tmp_path / "noise.npy", "-d", 2)
    assert "No statistically supported structure" in out
    assert "%" not in out  # shares of noise are not shown


def test_the_warning_that_a_core_was_selected_has_the_whole_command(call, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2)) @ rng.normal(size=(2, 12)) + 0.05 * rng.normal(size=(80, 12))
    file = tmp_path / "a table.npy"
    np.save(file, X)
    code, out, err = call("fit", file, "-d", 2)
    assert code == 0
    flat = " ".join(err.split())
    assert "12 of 12 variables are relevant; a core of" in flat
    assert "n_features_to_select" not in err
    command = err.splitlines()[-1].strip()
    assert command == f"gsppca fit '{file}' -d 2 --size relevant"
    code, out, err = call(*shlex.split(command)[1:])
    assert (code, err) == (0, "")
    assert "12 of 12 variables are relevant and selected" in out


def test_missing_values_are_left_to_the_model(call, numbers, tmp_path):
    """--missing impute: the model of the library fills them, in fit and in transform; infinite ones are refused."""
    X, names, _ = numbers
    gaps = X.copy()
    gaps[::7, 3] = gaps[1::9, 11] = np.nan
    table = tmp_path / "gaps.csv"
    pd.DataFrame(gaps, columns=names).to_csv(table, index=False)
    code, _, err = call("fit", table, "-d", 2, "-q")
    assert code == 1
    assert "use --missing drop-rows, drop-columns, mean or impute." in err
    code, out, err = call("fit", table, "-d", 2, "--missing", "impute", "--report", "-o", tmp_path / "out", "--json")
    assert (code, err) == (0, "")
    model = GSPPCA(2, missing="impute").fit(pd.read_csv(table).to_numpy())
    assert json.loads(out)["n_selected"] == model.n_selected_
    scores = read_csv(tmp_path / "out" / "scores.csv")
    np.testing.assert_allclose(column(scores, "PC1"), model.transform(gaps)[:, 0], rtol=1e-9)
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
    assert "is not empty. Choose another folder, or use --overwrite." in err
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
    assert lines[0] == "sample,PC1,PC2"
    np.testing.assert_array_equal([list(map(float, line.split(",")[1:])) for line in lines[1:]], expected)
    # Columns in another order, without those that were not selected, and with others.
    kept = [name for name in reversed(names) if name in relevant]
    rows = [[*(row[names.index(name)] for name in kept), 9.0] for row in X.tolist()]
    text = "\n".join([",".join([*kept, "new"]), *(",".join(map(str, row)) for row in rows)])
    packed = tmp_path / "new.csv.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    code, printed, _ = call("transform", out / "model.json", packed, "-o", tmp_path / "scores.csv")
    assert code == 0
    np.testing.assert_allclose(column(read_csv(tmp_path / "scores.csv"), "PC2"), expected[:, 1], rtol=1e-12)
    assert call("transform", out, packed, "-o", tmp_path / "scores.csv")[0] == 1
    assert call("transform", out, packed, "-o", tmp_path / "scores.csv", "--overwrite", "-q")[0] == 0
    document = json.loads(call("transform", out, packed, "--json")[1])
    np.testing.assert_allclose([row[1:] for row in document["rows"]], expected, rtol=1e-12)
    for instead, hint in (("other", ""), (kept[0].upper(), f" The nearest name is {kept[0].upper()!r}.")):
        packed.write_bytes(gzip.compress(text.replace(kept[0] + ",", instead + ",").encode()))
        code, _, err = call("transform", out, packed)
        assert code == 1
        assert f"no column {kept[0]!r}, which the model selected.{hint} Add what is missing, or check" in err
    packed.write_bytes(gzip.compress(text.replace("var", "gene").encode()))
    assert (
        f"there is none of the {len(kept)} variables that the model selected, such as"
        in call("transform", out, packed)[2]
    )


def test_transform_without_names_needs_all_columns(call, tmp_path, numbers):
    X, _, _ = numbers
    np.save(tmp_path / "a.npy", X)
    np.save(tmp_path / "b.npy", X[:, :5])
    assert call("fit", tmp_path / "a.npy", "-d", 2, "-q", "-o", tmp_path / "out")[0] == 0
    code, printed, _ = call("transform", tmp_path / "out", tmp_path / "a.npy")
    assert code == 0
    assert printed.startswith("sample,PC1,PC2\n1,")
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


def test_notes_stand_below_the_headline_in_words_of_the_command_line(call, tmp_path):
    """Doubts are shown in options, and no line but a command is wider than the terminal."""
    path = tmp_path / "wine.csv"
    load_wine(as_frame=True).data.to_csv(path, index=False)
    out = call("fit", path, "-o", tmp_path / "out")[1]
    assert "note: proline holds 99.8% of the total variance and decides the components. If\n" in out
    assert "  columns have different units, use --scale.\n" in out
    assert all(len(line) <= 80 or str(tmp_path) in line for line in out.splitlines())
    assert out.endswith(":\n  selected.csv, scores.csv, shares.csv, evidence.csv, model.json, model.npz\n")
    out = call("fit", path, "--scale", "--size", "r2")[1]
    assert "note: Nothing is left out: all 13 variables are selected. --size core selects\n  11.\n" in out
    document = json.loads(call("fit", path, "--scale", "--size", 1, "--json")[1])
    assert len(document["doubts"]) == 1
    noise = tmp_path / "noise.csv"
    np.savetxt(noise, np.random.default_rng(0).normal(size=(50, 20)), delimiter=",")
    assert "supported_" not in "".join(call("fit", noise)[1:])


def test_compare_shows_the_methods_side_by_side(call, table, tmp_path, numbers):
    methods = ["--method", "gsppca-joint", "--method", "variance"]
    common = ("compare", table, "--drop", "kind", "-d", 2, "--halves", 2, *methods)
    code, out, _ = call(*common, "-o", tmp_path / "compared.csv")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80 or str(tmp_path) in out.splitlines()[0]
    rows = read_csv(tmp_path / "compared.csv")
    for at in ("common", "own"):
        assert [row["method"] for row in rows if row["at"] == at] == ["gsppca-joint", "variance", "random", "all"]
    own = {row["method"]: row for row in rows if row["at"] == "own"}
    small = {row["method"]: row for row in rows if row["at"] == "common"}
    assert int(own["gsppca-joint"]["size"]) == int(own["random"]["size"]) == len(numbers[2])
    assert {int(small[name]["size"]) for name in ("gsppca-joint", "variance", "random")} == {5}
    assert int(own["all"]["size"]) == 20
    assert float(own["all"]["overlap"]) == len(numbers[2]) / 20
    assert float(own["all"]["share"]) > float(small["gsppca-joint"]["share"]) > float(small["random"]["share"])
    for words in ("All at 5 variables", "Each at its own size", "\nstability: 1 if", "\noverlap: with gsppca-joint"):
        assert words in out
    scaled = call("compare", table, "--drop", "kind", "--scale", "-d", 2, "--halves", 0, *methods)[1]
    assert "\nno variable at its own size: variance\n" in scaled  # all variances are equal
    document = json.loads(call(*common, "--size", 4, "--json")[1])
    assert [row["size"] for row in document["methods"][:4]] == [4, 4, 4, 20]
    assert len(document["methods"][0]["selected"]) == 4
    assert call(*common, "--method", "magic")[0] == 2


def test_comparison_does_not_depend_on_the_order_of_columns(numbers):
    X, _, _ = numbers
    order = np.random.default_rng(1).permutation(20)
    names = ["gsppca-joint", "tpca", "variance"]
    straight = compare_methods(X, 2, methods=names, n_subsamples=2, n_random=0)
    shuffled = compare_methods(X[:, order], 2, methods=names, n_subsamples=2, n_random=0)
    for one, other in zip(straight, shuffled, strict=True):
        np.testing.assert_array_equal(one.support[order], other.support)
        assert one.share == pytest.approx(other.share, rel=1e-9)
        assert one.redundancy == pytest.approx(other.redundancy)
        assert one.stability == pytest.approx(other.stability, nan_ok=True)


def test_every_method_can_be_compared(numbers):
    X = numbers[0][:30, :10]
    compared = compare_methods(X, 2, size=4, methods="all", n_subsamples=0, n_random=0)
    common = [one for one in compared if one.at == "common"]
    assert [one.method for one in common] == [*USUAL, *SLOW, "all"]
    assert {one.size for one in common[:-1]} == {4}
    assert all(np.isnan(one.stability) and np.isnan(one.share) for one in compared)
    assert jaccard(common[1].support, common[0].support) == common[1].overlap


def test_variables_that_are_unlike_each_other_are_not_useless():
    """Ledoit & Wolf's shrinkage is near 1 for three variables of wine that hardly correlate, and their share near 0."""
    from sklearn.datasets import load_wine

    compared = compare_methods(load_wine().data, size=3, methods=["gsppca-joint"], n_random=5, random_state=0)
    share = {one.method: one.share for one in compared if one.at == "common"}
    assert share["gsppca-joint"] > 0.5
    assert share["gsppca-joint"] > share["random"]


def test_redundancy_is_the_mean_absolute_correlation(numbers):
    X = numbers[0]
    row = compare_methods(X, 2, methods=["variance"], size=6, n_subsamples=0, n_random=0)[0]
    correlations = np.abs(np.corrcoef(X[:, row.support].T))
    assert row.redundancy == pytest.approx(correlations[np.triu_indices(6, 1)].mean())


def test_a_method_that_fails_gets_no_figures(numbers):
    class Failing:
        def fit(self, X):
            raise ValueError("no luck")

    register_method("failing", lambda d, size, seed: Failing())
    try:
        compared = compare_methods(numbers[0], 2, methods=["gsppca-joint", "failing"], n_subsamples=2)
    finally:
        methods._METHODS.pop("failing")
    failed = [one for one in compared if one.method == "failing"]
    assert {one.note for one in failed} == {"failed: no luck"}
    assert np.isnan([[one.share, one.stability, one.overlap] for one in failed]).all()


def test_compare_refuses_a_size_that_the_table_has_not(call, table):
    code, out, err = call("compare", table, "--drop", "kind", "-d", 2, "--size", 21)
    assert (code, out) == (1, "")
    assert err.startswith("gsppca: --size must be an integer from 1 to 20, got 21")


@pytest.mark.filterwarnings("ignore::gsppca.MostVariablesWarning")
def test_demo(call, tmp_path):
    code, out, _ = call("demo", "-o", tmp_path / "demo")
    assert code == 0
    flat = " ".join(out.split())
    assert "10 variables, 10 of the 10 true ones and none false" in flat
    assert "scikit-learn's make_classification" in flat
    assert "20 variables, 20 of the 20 true ones and none false; 5 components" in flat
    model = GSPPCA().fit(load_digits().data)
    tones = {"core": "#", "related": "+", "noise": "."}
    for row in model.role_.reshape(8, 8):
        assert "    " + " ".join(tones[role] for role in row) + "\n" in out
    assert out.endswith("digits.csv --label digit\n")
    # Lines with paths and commands are left to the terminal to wrap: they are to be copied in one piece.
    assert max(len(line) for line in out.splitlines() if str(tmp_path) not in line) <= 80
    code, out, _ = call("fit", tmp_path / "demo" / "digits.csv", "--label", "digit", "--json")
    assert json.loads(out)["n_selected"] == model.n_selected_
    code, out, _ = call("fit", tmp_path / "demo" / "madelon-like.csv", "--json")
    assert json.loads(out)["n_selected"] == 20

"""gsppca.scanpy: the estimator's results, in scanpy's slots, through files and back."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from gsppca import GSPPCA, Paper
from gsppca.progress import listening
from gsppca.scanpy import gsppca
from tests.needs import optional

ad, pd = optional("anndata"), optional("pandas")

# The genes were chosen by scanpy: most of them share something.
pytestmark = pytest.mark.filterwarnings("ignore::gsppca.MostVariablesWarning")


@pytest.fixture(scope="module")
def pbmc():
    """scanpy's bundled cells; X is scaled, raw holds the logarithms."""
    sc = optional("scanpy")
    original = sc.datasets.pbmc68k_reduced()
    adata = ad.AnnData(original.raw.X.copy(), original.obs[["bulk_labels"]].copy(), original.var[[]].copy())
    adata.layers["scaled"] = original.X
    adata.var["listed"] = np.arange(adata.n_vars) % 3 > 0
    return adata


@pytest.fixture
def adata(pbmc):
    return pbmc.copy()


def test_the_slots_hold_what_the_estimator_finds(adata):
    model = GSPPCA(8).fit(adata.X)
    assert gsppca(adata, 8) is None
    np.testing.assert_array_equal(adata.var["gsppca"], model.support_)
    np.testing.assert_array_equal(adata.var["gsppca_rank"], model.ranking_)
    np.testing.assert_allclose(adata.var["gsppca_relevance"], model.relevance_)
    np.testing.assert_allclose(adata.obsm["X_gsppca"], model.transform(adata.X))
    np.testing.assert_allclose(adata.varm["gsppca"], model.components_.T)
    stored = adata.uns["gsppca"]
    np.testing.assert_allclose(stored["variance_ratio"], model.explained_variance_ratio_)
    assert stored["n_selected"] == model.n_selected_
    assert stored["n_relevant"] == model.relevant_.sum()
    assert (stored["n_core"], stored["core_share"]) == (model.core_.sum(), model.core_share_)
    np.testing.assert_array_equal(stored["share"], model.share_path_.share)
    assert adata.var["gsppca_role"].tolist() == model.role_.tolist()
    assert adata.var["gsppca_represented_by"].isna().tolist() == model.support_.tolist()
    groups = adata.var["gsppca_represented_by"]
    first, others = model.represented_by(3)[0]
    assert {groups.iloc[k] for k, _ in others} == {adata.var_names[first]}
    assert stored["params"]["n_components"] == 8
    assert "highly_variable" not in adata.var


def test_scores_are_the_centred_data_times_the_loadings(adata):
    gsppca(adata, 5, n_features_to_select=60, layer="scaled")
    X = adata.layers["scaled"].astype(float)
    np.testing.assert_allclose(adata.obsm["X_gsppca"], (X - X.mean(0)) @ adata.varm["gsppca"], atol=2e-3)
    assert adata.obsm["X_gsppca"].dtype == np.float32
    assert not adata.varm["gsppca"][~adata.var["gsppca"]].any()
    assert adata.uns["gsppca"]["params"]["layer"] == "scaled"


@pytest.mark.parametrize("as_column", [True, False])
def test_a_mask_is_the_fit_of_its_genes(adata, as_column):
    listed = adata.var["listed"].to_numpy()
    alone = adata[:, listed].copy()
    gsppca(alone, 6, method="paper")
    gsppca(adata, 6, method="paper", mask_var="listed" if as_column else listed)
    np.testing.assert_array_equal(adata.var["gsppca"][listed], alone.var["gsppca"])
    assert not adata.var["gsppca"][~listed].any()
    np.testing.assert_array_equal(adata.var["gsppca_rank"][listed], alone.var["gsppca_rank"])
    assert adata.var.loc[~listed, ["gsppca_rank", "gsppca_relevance"]].isna().all(axis=None)
    np.testing.assert_allclose(adata.obsm["X_gsppca"], alone.obsm["X_gsppca"])
    assert not adata.varm["gsppca"][~listed].any()
    assert adata.var.loc[~listed, ["gsppca_role", "gsppca_represented_by"]].isna().all(axis=None)
    assert adata.uns["gsppca"]["params"]["mask_var"] == ("listed" if as_column else "array")


def test_copy_leaves_the_original_alone(adata):
    result = gsppca(adata, 5, n_features_to_select=50, copy=True)
    assert int(result.var["gsppca"].sum()) == 50
    assert "gsppca" not in adata.var
    assert not adata.obsm
    assert not adata.uns


def test_key_added_names_everything(adata):
    gsppca(adata, 5, n_features_to_select=50, key_added="sparse")
    assert list(adata.var) == [
        "listed",
        "sparse",
        "sparse_role",
        "sparse_represented_by",
        "sparse_rank",
        "sparse_relevance",
    ]
    assert list(adata.obsm) == list(adata.varm) == list(adata.uns) == ["sparse"]


def test_highly_variable_is_written_only_when_asked_and_then_scanpy_uses_it(adata):
    sc = optional("scanpy")
    gsppca(adata, 5, n_features_to_select=50, write_highly_variable=True)
    np.testing.assert_array_equal(adata.var["highly_variable"], adata.var["gsppca"])
    sc.pp.pca(adata, n_comps=5)
    np.testing.assert_array_equal((adata.varm["PCs"] != 0).any(axis=1), adata.var["gsppca"])
    # PCA of the selected genes is what the scores are, up to signs.
    np.testing.assert_allclose(np.abs(adata.obsm["X_pca"]), np.abs(adata.obsm["X_gsppca"]), atol=1e-3)


@pytest.mark.filterwarnings("ignore:Writing zarr v2 data:UserWarning")
@pytest.mark.parametrize("suffix", ["h5ad", "zarr"])
def test_results_survive_a_file(adata, tmp_path, suffix):
    gsppca(adata, 5, mask_var="listed", batch_key="bulk_labels", method=Paper(), random_state=np.random.RandomState(0))
    path = tmp_path / f"cells.{suffix}"
    if suffix == "h5ad":
        adata.write_h5ad(path)
        back = ad.read_h5ad(path)
    else:
        adata.write_zarr(path)
        back = ad.read_zarr(path)
    pd.testing.assert_frame_equal(back.var, adata.var)
    np.testing.assert_array_equal(back.obsm["X_gsppca"], adata.obsm["X_gsppca"])
    np.testing.assert_array_equal(back.varm["gsppca"], adata.varm["gsppca"])
    assert set(back.uns["gsppca"]) == set(adata.uns["gsppca"])
    assert back.uns["gsppca"]["params"] == adata.uns["gsppca"]["params"]
    assert back.uns["gsppca"]["n_selected"] == adata.uns["gsppca"]["n_selected"]


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("mask", [None, "listed"])
def test_a_backed_file_gives_the_same(adata, tmp_path, monkeypatch, dense, mask):
    monkeypatch.setattr("gsppca.scanpy.BLOCK_ROWS", 300)
    if dense:
        adata.X = adata.X.toarray()
    adata.write_h5ad(tmp_path / "cells.h5ad")
    gsppca(adata, 6, method="paper", mask_var=mask)
    backed = ad.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    heard = []
    with listening(lambda event: heard.append((event.step, event.done))):
        gsppca(backed, 6, method="paper", mask_var=mask)
    assert backed.isbacked
    assert [done for step, done in heard if step == "reading the file"] == [300, 600, 700]
    pd.testing.assert_frame_equal(backed.var, adata.var)
    np.testing.assert_allclose(backed.obsm["X_gsppca"], adata.obsm["X_gsppca"], atol=1e-5)
    with pytest.raises(ValueError, match=r"copy=True is not possible .* adata.to_memory\(\)"):
        gsppca(backed, 6, copy=True)
    backed.file.close()


def test_dense_and_sparse_agree(adata):
    dense = adata.copy()
    dense.X = adata.X.toarray()
    gsppca(adata, 6, method="paper")
    gsppca(dense, 6, method="paper")
    pd.testing.assert_frame_equal(adata.var, dense.var)


def test_permuting_genes_permutes_the_answer(adata):
    shuffled = adata[:, np.random.default_rng(0).permutation(adata.n_vars)].copy()
    gsppca(adata, 6, method="paper")
    gsppca(shuffled, 6, method="paper")
    assert set(adata.var_names[adata.var["gsppca"]]) == set(shuffled.var_names[shuffled.var["gsppca"]])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"layer": "counts"}, r"layer must be one of \['scaled'\], got 'counts'"),
        ({"mask_var": "highly_variable"}, "mask_var must be a column of adata.var"),
        ({"mask_var": [0, 1, 2]}, "one boolean for each of the 765 genes, got dtype int64"),
        ({"mask_var": [True, False]}, r"got dtype bool and shape \(2,\)"),
        ({"key_added": "a/b"}, "key_added must be a name without '/'"),
        ({"key_added": 3}, "key_added must be a name"),
        ({"n_features_to_select": 766}, "n_features_to_select must be"),
    ],
)
def test_wrong_arguments_are_named(adata, arguments, message):
    with pytest.raises(ValueError, match=message):
        gsppca(adata, 5, **arguments)
    assert list(adata.var) == ["listed"]


@pytest.mark.parametrize(("theirs", "ours"), [("n_top_genes", "n_features_to_select"), ("n_comps", "n_components")])
def test_names_of_scanpy_are_answered_with_ours(adata, theirs, ours):
    with pytest.raises(TypeError, match=f"no parameter {theirs}: use {ours}"):
        gsppca(adata, **{theirs: 50})


def test_batches_are_centred_and_a_shift_between_them_changes_nothing(adata):
    rng = np.random.default_rng(0)
    adata.X = adata.X.toarray()
    adata.obs["batch"] = np.where(rng.random(adata.n_obs) < 0.4, "a", "b")
    shifted = adata.copy()
    shifted.X[shifted.obs["batch"] == "b"] += rng.normal(size=adata.n_vars).astype(np.float32)
    for one in (adata, shifted):
        gsppca(one, 6, n_features_to_select=40, batch_key="batch")
    assert (adata.var["gsppca"] == shifted.var["gsppca"]).mean() > 0.99
    np.testing.assert_allclose(shifted.varm["gsppca"], adata.varm["gsppca"], atol=0.02)
    for batch in "ab":
        scores = adata.obsm["X_gsppca"][adata.obs["batch"] == batch]
        np.testing.assert_allclose(scores.mean(axis=0), 0, atol=1e-3)
    assert adata.uns["gsppca"]["params"]["batch_key"] == "batch"
    with pytest.raises(ValueError, match=r"batch_key must be a column of adata\.obs"):
        gsppca(adata, 6, batch_key="lane")


def test_genes_to_include_are_named(adata):
    gsppca(adata, 6, n_features_to_select=20, include=["CD79A", "CD3D"], exclude="NKG7")
    assert adata.var.loc[["CD79A", "CD3D"], "gsppca"].all()
    assert not adata.var.loc["NKG7", "gsppca"]
    with pytest.raises(ValueError, match="include names 'CD79', which is no gene"):
        gsppca(adata, 6, include=["CD79"])


def test_a_missing_value_is_named_by_its_gene(adata):
    adata.layers["scaled"][3, adata.var_names.get_loc("CD79A")] = np.nan
    with pytest.raises(ValueError, match=r"NaN: .* row 3, .*'CD79A'"):
        gsppca(adata, 5, layer="scaled")


def test_what_is_no_annotated_data_is_refused():
    with pytest.raises(TypeError, match=r"adata must be an AnnData, got csr_array"):
        gsppca(sparse.eye_array(5, format="csr"))
    with pytest.raises(ValueError, match=r"adata\.X is empty"):
        gsppca(ad.AnnData(obs=pd.DataFrame(index=["a", "b"]), var=pd.DataFrame(index=["c", "d"])))


@pytest.mark.parametrize("batch_key", [None, "batch"])
def test_missing_entries_of_annotated_data_are_imputed_or_refused(factor_data, batch_key):
    X = factor_data(0)[0]
    mask = np.zeros(X.shape, dtype=bool)
    mask[3, ::2] = mask[20, 2] = True
    gaps, under = np.where(mask, np.nan, X), np.ma.masked_array(np.where(mask, 1e4, X), mask=mask)
    obs = pd.DataFrame({"batch": ["a", "b"] * 20}, index=[f"cell{k}" for k in range(40)])
    found = []
    for data in (gaps, under):
        adata = ad.AnnData(data, obs)
        with pytest.raises(ValueError, match=r"NaN: the first one at row 3, column 0 \('0'\)"):
            gsppca(adata, 3, batch_key=batch_key)
        gsppca(adata, 3, batch_key=batch_key, missing="impute")
        found.append(adata.obsm["X_gsppca"])
    assert np.isfinite(found[0]).all()
    np.testing.assert_array_equal(found[0], found[1])
    if batch_key is None:
        np.testing.assert_array_equal(found[0], GSPPCA(3, missing="impute").fit(gaps).transform(gaps))
    infinite = np.where(mask, np.inf, X)
    with pytest.raises(ValueError, match="infinity: the first one at row 3"):
        gsppca(ad.AnnData(infinite, obs), 3, missing="impute")

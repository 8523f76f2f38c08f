"""Other formats: the same table comes back from all of them."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from gsppca.io import TableError, read_table, survey_file
from tests.needs import optional

pd = optional("pandas")
NAMES = ["gène 1", "b", "c,d", "e"]
ROWS = [f"s{i}" for i in range(6)]
KINDS = ["x", "y", "x", "y", "x", "x"]
DATA = np.random.default_rng(0).normal(size=(6, 4)).round(3)


def frame():
    table = pd.DataFrame(DATA.copy(), columns=NAMES, index=ROWS)  # tests change it
    table["kind"] = KINDS
    return table


def write_h5ad(path, sparse=False):
    anndata = optional("anndata")
    obs = pd.DataFrame({"kind": pd.Categorical(KINDS)}, index=ROWS)
    X = sp.csr_matrix(DATA) if sparse else DATA
    adata = anndata.AnnData(X, obs=obs, var=pd.DataFrame(index=NAMES), layers={"twice": 2 * DATA})
    adata.write_zarr(path) if path.suffix == ".zarr" else adata.write_h5ad(path)


WRITERS = {
    "csv": lambda path: frame().to_csv(path),
    "tsv": lambda path: frame().to_csv(path, sep="\t"),
    "csv.gz": lambda path: frame().to_csv(path),
    "parquet": lambda path: frame().to_parquet(path),
    "feather": lambda path: frame().rename_axis("index").reset_index().to_feather(path),
    "npz": lambda path: np.savez(path, X=DATA, feature_names=NAMES, sample_names=ROWS, kind=KINDS),
    "h5ad": write_h5ad,
}


@pytest.mark.parametrize("suffix", WRITERS)
def test_every_format_gives_the_same_table(tmp_path, suffix):
    path = tmp_path / f"table.{suffix}"
    WRITERS[suffix](path)
    table = read_table(path, label="kind")
    np.testing.assert_array_equal(table.data, DATA)
    assert list(table.feature_names) == NAMES
    assert list(table.sample_names) == ROWS
    assert list(table.labels) == KINDS


@pytest.mark.filterwarnings("ignore")  # anndata and zarr warn of each other's versions
def test_anndata_in_zarr_and_layers_and_sparse(tmp_path):
    write_h5ad(tmp_path / "a.zarr")
    table = read_table(tmp_path / "a.zarr", label="kind")
    np.testing.assert_array_equal(table.data, DATA)
    assert table.labels == KINDS
    write_h5ad(tmp_path / "a.h5ad", sparse=True)
    table = read_table(tmp_path / "a.h5ad")
    assert sp.issparse(table.data)  # noqa: TID251
    np.testing.assert_array_equal(table.data.toarray(), DATA)
    assert table.notes == ("X is read; --layer can be twice", "--label can be kind")
    np.testing.assert_array_equal(read_table(tmp_path / "a.h5ad", layer="twice").data, 2 * DATA)
    for options, said in (({"layer": "none"}, "The file has twice"), ({"label": "none"}, "There are kind")):
        with pytest.raises(TableError, match=said):
            read_table(tmp_path / "a.h5ad", **options)


def test_arrays(tmp_path):
    np.save(tmp_path / "a.npy", DATA.astype(np.float32))
    table = read_table(tmp_path / "a.npy")
    assert table.data.dtype == np.float32
    assert table.feature_names is None
    assert table.names == ["x0", "x1", "x2", "x3"]
    np.save(tmp_path / "i.npy", np.arange(6).reshape(3, 2))
    assert read_table(tmp_path / "i.npy").data.dtype == np.float64
    sp.save_npz(tmp_path / "s.npz", sp.csr_array(DATA))
    np.testing.assert_array_equal(read_table(tmp_path / "s.npz").data.toarray(), DATA)
    np.savez(tmp_path / "two.npz", one=DATA, two=DATA)
    with pytest.raises(TableError, match=r"2 arrays could be the data: one, two\. Choose one with --key"):
        read_table(tmp_path / "two.npz")
    assert read_table(tmp_path / "two.npz", key="two").shape == (6, 4)


def test_plain_zarr(tmp_path):
    zarr = optional("zarr")
    zarr.save_array(str(tmp_path / "a.zarr"), DATA)
    np.testing.assert_array_equal(read_table(tmp_path / "a.zarr").data, DATA)
    group = zarr.open_group(str(tmp_path / "g.zarr"), mode="w")
    group.create_array("one", data=DATA)
    np.testing.assert_array_equal(read_table(tmp_path / "g.zarr").data, DATA)
    group.create_array("two", data=DATA)
    with pytest.raises(TableError, match="Choose an array with --key"):
        read_table(tmp_path / "g.zarr")
    with pytest.raises(TableError, match="a folder, and no zarr store"):
        read_table(tmp_path)


@pytest.mark.parametrize("packed", [False, True])
def test_matrix_market(tmp_path, packed):
    path = tmp_path / "m.mtx"
    scipy.io.mmwrite(path, sp.coo_array(DATA))
    if packed:
        path = path.with_suffix(".mtx.gz")
        path.write_bytes(gzip.compress((tmp_path / "m.mtx").read_bytes()))
    np.testing.assert_allclose(read_table(path).data.toarray(), DATA, rtol=1e-14)


def test_ten_x_folders_have_genes_in_rows(tmp_path):
    scipy.io.mmwrite(tmp_path / "matrix.mtx", sp.coo_array(DATA.T))
    with gzip.open(tmp_path / "features.tsv.gz", "wt") as file:
        file.writelines(f"ENS{i}\t{name}\tGene\n" for i, name in enumerate(["A", "B", "A", "C"]))
    (tmp_path / "barcodes.tsv").write_text("\n".join(ROWS) + "\n")
    table = read_table(tmp_path / "matrix.mtx")
    np.testing.assert_allclose(table.data.toarray(), DATA, rtol=1e-14)
    assert table.feature_names == ["A", "B", "A-1", "C"]
    assert table.sample_names == ROWS


def test_parquet_of_many_kinds(tmp_path):
    table = pd.DataFrame(
        {"i": [1, 2, 3], "flag": [True, False, True], "x": [0.5, None, 2.0], "when": pd.to_datetime(["2020"] * 3)}
    )
    table.to_parquet(tmp_path / "t.parquet", index=False)
    with pytest.raises(TableError, match=r"column 4 \('when'\).*is not a number.*--drop when"):
        read_table(tmp_path / "t.parquet")
    with pytest.raises(TableError, match=r"row 2, column 3 \('x'\): the value is missing"):
        read_table(tmp_path / "t.parquet", drop=("when",))
    read = read_table(tmp_path / "t.parquet", drop=("when",), missing="mean")
    np.testing.assert_array_equal(read.data, [[1, 1, 0.5], [2, 0, 1.25], [3, 1, 2.0]])


@pytest.mark.parametrize("suffix", ["parquet", "feather", "npy", "npz", "h5ad"])
def test_cut_off_and_wrong_content(tmp_path, suffix):
    path = tmp_path / f"t.{suffix}"
    if suffix == "npy":
        np.save(path, DATA)
    else:
        WRITERS[suffix](path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(TableError, match=f"t.{suffix}") as caught:
        read_table(path)
    assert "\n" not in str(caught.value)
    path.write_text("a,b\n1,2\n")
    with pytest.raises(TableError, match=f"not a file of the format {suffix}"):
        read_table(path)
    disguised = tmp_path / "t.csv"
    disguised.write_bytes(whole)
    with pytest.raises(TableError, match="this should be csv by its name, but the content is"):
        read_table(disguised)
    # Without an extension, the content decides.
    bare = tmp_path / "bare"
    bare.write_bytes(whole)
    assert read_table(bare, **({} if suffix == "npy" else {"label": "kind"})).shape == (6, 4)


def test_pickles_in_arrays_are_not_opened(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[object()]]), allow_pickle=True)
    with pytest.raises(TableError, match="cannot be read"):
        read_table(tmp_path / "a.npy")


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "a.csv")
    np.save(tmp_path / "a.npy", DATA)
    with pytest.raises(TableError, match="there is no such format"):
        read_table(tmp_path / "a.npy", format="sas")


def test_a_survey_says_what_stands_in_the_way(tmp_path):
    table = frame()
    table["flat"] = 3.0
    table["huge"] = 1e4 * DATA[:, 0]
    table.iloc[2, 1] = np.nan
    table.to_csv(tmp_path / "t.csv")
    survey = survey_file(tmp_path / "t.csv")
    assert survey.table.shape == (6, 6)
    assert survey.n_missing == 1
    assert survey.missing_columns == ["b"]
    assert survey.constant_columns == ["flat"]
    assert survey.is_uneven
    assert [column.name for column in survey.table.text] == ["kind"]
    assert survey.command.endswith("--label kind --missing impute --scale --output results --report")
    np.testing.assert_allclose(survey.spread[2], 1e4 * DATA[:, 0].std(), rtol=1e-12)


def test_a_survey_of_sparse_data_is_that_of_dense_data(tmp_path):
    data = np.where(DATA > 0, DATA, 0.0)
    sp.save_npz(tmp_path / "s.npz", sp.csr_array(data))
    np.save(tmp_path / "d.npy", data)
    one, other = survey_file(tmp_path / "s.npz"), survey_file(tmp_path / "d.npy")
    assert one.spread == pytest.approx(other.spread, rel=1e-12)
    assert one.density == other.density == np.mean(data > 0)

"""A stranger's file on the command line: what is said about it, and that the command that is proposed works."""

from __future__ import annotations

import io
import json
import os
import shlex
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import gsppca
from gsppca.cli.arguments import corrected, spelled
from tests.cli.conftest import column, read_csv
from tests.cli.test_behaviour import SOURCE

GSM = [f"GSM{1000 + i}" for i in range(60)]


def proposed(text):
    """The words of the last command that a text proposes."""
    command = shlex.split([line for line in text.splitlines() if line.startswith("  gsppca ")][-1])
    assert command[0] == "gsppca"
    return command[1:]


@pytest.fixture
def upside_down(tmp_path, numbers):
    """Genes in rows, as GEO writes them, with a missing value."""
    X, _, _ = numbers
    path = tmp_path / "GSE1_series_matrix.txt"
    lines = [
        '!Series_title\t"Some genes"',
        "!Sample_characteristics_ch1\t" + "\t".join(f'"grade: {i % 2}"' for i in range(60)),
    ]
    lines += ["!series_matrix_table_begin", "\t".join(["ID_REF", *GSM])]
    for j, row in enumerate(X.T.tolist()):
        lines.append("\t".join([f"{2000 + j}_at", *("" if (i, j) == (3, 5) else repr(v) for i, v in enumerate(row))]))
    path.write_text("\n".join([*lines, "!series_matrix_table_end", ""]))
    return path


def test_spelling():
    assert spelled(["fit", "a", "--transpose"]) == ["fit", "a", "--transpose=yes"]
    assert spelled(["fit", "--transpose", "a"]) == ["fit", "--transpose=yes", "a"]
    assert spelled(["fit", "a", "--transpose", "auto", "-q"]) == ["fit", "a", "--transpose=auto", "-q"]
    assert spelled(["fit", "-", "--na", "-", "--na", "-999"]) == ["fit", "./-", "--na=-", "--na=-999"]
    assert spelled(["fit", "a", "--label", "--json"]) == ["fit", "a", "--label", "--json"]


def test_corrected_commands_are_whole():
    assert corrected(["fit", "my file.csv", "--scale"], ["--log"]) == "gsppca fit 'my file.csv' --log"
    assert corrected(["fit", "a", "-o", "r"], ["--log"], has_written=True) == "gsppca fit a -o r --log --overwrite"
    assert corrected(["fit", "a"], ["--na=-"], has_written=True) == "gsppca fit a --na=-"


def test_one_message_gives_the_whole_command_for_a_geo_file(call, upside_down, tmp_path, numbers):
    code, _, err = call("fit", upside_down, "-d", 2, "-o", tmp_path / "out")
    assert code == 1
    assert "the value is missing" in err
    assert "The 20 rows look like variables" in err
    words = proposed(err)
    assert words[-3:] == ["--transpose", "--missing", "impute"]
    code, out, err = call(*words, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["n_samples"] == 60


def test_info_speaks_of_the_table_that_its_command_reads(call, upside_down, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, _ = call("info", upside_down.name)
    assert code == 0
    assert "attention   The 20 rows look like variables and the 60 columns like samples: " in out
    assert "20 rows x 60 columns; with --transpose 60 samples x 20 variables" in out
    assert "--label can be grade" in out
    assert "missing     1 value in 1 column: 2005_at" in out
    code, _, err = call(*proposed(out), "-d", 2, "-q")
    assert (code, err) == (0, "")
    assert gsppca.load(tmp_path / "results").feature_names_in_[5] == "2005_at"
    document = json.loads(call("info", upside_down.name, "--json")[1])
    assert len(document["hints"]) == 1
    assert "--transpose" in document["command"]


def test_fit_says_loudly_that_rows_look_like_variables(call, tmp_path, numbers):
    X, _, _ = numbers
    frame = pd.DataFrame(X.T, index=[f"ENSG{i:011d}" for i in range(20)], columns=GSM)
    frame.to_csv(tmp_path / "genes.csv")
    code, out, err = call("fit", tmp_path / "genes.csv", "-d", 2, "--json", "-o", tmp_path / "out")
    assert code == 0
    assert err.startswith(f"warning: {tmp_path / 'genes.csv'}: The 20 rows look like variables")
    assert "  gsppca fit" in json.loads(out)["warnings"][0]
    words = proposed(json.loads(out)["warnings"][0])
    assert words[-2:] == ["--transpose", "--overwrite"]
    code, out, err = call(*words)
    assert (code, err) == (0, "")
    assert json.loads(out)["n_samples"] == 60
    code, out, err = call("fit", tmp_path / "genes.csv", "--transpose", "auto", "-d", 2, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["n_features"] == 20


def test_text_and_gaps_and_words_among_numbers_are_one_message(call, tmp_path, numbers):
    X, names, _ = numbers
    frame = pd.DataFrame(X, columns=names).astype(object)
    frame.iloc[3, 4], frame.iloc[5, 6], frame.iloc[6, 7] = "n.d.", None, "-"
    frame.insert(0, "who", [f"Doe, {i}" for i in range(60)])
    frame["a kind"] = ["x", "y"] * 30
    frame["a note"] = [f"seen {i}" for i in range(60)]
    frame.to_csv(tmp_path / "t.csv", index=False)
    code, _, err = call("fit", tmp_path / "t.csv", "-d", 2)
    assert code == 1
    words = proposed(err)
    assert words[-9:] == ["--na", "n.d.", "--na=-", "--label", "a kind", "--drop", "a note", "--missing", "impute"]
    assert call(*words, "-q") == (0, "", "")
    code, _, err = call("compare", tmp_path / "t.csv", "-d", 2, "--method", "pca", "--halves", 0)
    assert proposed(err)[-2:] == ["--missing", "mean"]
    assert call(*proposed(err), "-q") == (0, "", "")


def test_a_file_that_no_option_reads_gets_no_command(call, tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,x\n" + "1,2\n" * 1_000_000 + "4\n")
    code, _, err = call("fit", tmp_path / "t.csv")
    assert code == 1
    assert err.count("\n") == 1
    assert "'x' is not a number. Correct it, or use --na x --missing impute" in err


def test_standard_input(call, table, monkeypatch):
    code, expected, _ = call("fit", table, "-d", 2, "--label", "kind", "--json")
    assert code == 0
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(table.read_bytes())))
    code, out, err = call("fit", "-", "-d", 2, "--label", "kind", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["selected"] == json.loads(expected)["selected"]
    assert json.loads(out)["file"] == "standard input"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(table.read_bytes())))
    code, _, err = call("fit", "-", "-d", 2)
    assert code == 1
    assert err.startswith("gsppca: standard input: row 1, column 22 ('kind')")
    assert err.endswith("\n  gsppca fit - -d 2 --label kind\n")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert "standard input: the file is empty" in call("info", "-")[2]


def test_transform_accepts_the_file_of_the_fit(call, table, tmp_path):
    out = tmp_path / "out"
    assert call("fit", table, "-d", 2, "--label", "kind", "-q", "-o", out)[0] == 0
    code, printed, err = call("transform", out, table)
    assert (code, err) == (0, "")
    assert printed.encode() == (out / "scores.csv").read_bytes().replace(b"\r\n", b"\n")
    # Neither label nor other columns need be there, nor hold anything that makes sense.
    frame = pd.read_csv(table)
    model = gsppca.load(out)
    kept = set(model.feature_names_in_[model.support_])
    others = [name for name in frame if name.startswith("var") and name not in kept]
    frame[others[0]] = "rubbish"
    frame.loc[3, others[1]] = np.nan
    frame.loc[4, others[2]] = np.inf
    frame = frame.rename(columns={others[3]: others[4]}).drop(columns="kind")
    frame["another"] = "text"
    frame.to_csv(tmp_path / "new.csv", index=False)
    code, printed, err = call("transform", out, tmp_path / "new.csv", "-o", tmp_path / "scores.csv")
    assert (code, err) == (0, "")
    expected, found = read_csv(out / "scores.csv"), read_csv(tmp_path / "scores.csv")
    np.testing.assert_allclose(column(found, "PC2"), column(expected, "PC2"), rtol=1e-12)
    assert [row["sample"] for row in found] == [row["sample"] for row in expected]
    assert "label" not in found[0]


@pytest.mark.parametrize("way", ["as in the fit", "the other way round"])
def test_transform_finds_variables_in_rows_or_columns(call, tmp_path, numbers, way):
    X, _, _ = numbers
    frame = pd.DataFrame(np.exp2(X), columns=[f"{2000 + j}_at" for j in range(20)], index=GSM)
    frame.T.to_csv(tmp_path / "genes.csv")
    out = tmp_path / "out"
    assert call("fit", tmp_path / "genes.csv", "--transpose", "--log", "-d", 2, "-q", "-o", out)[0] == 0
    (frame.T if way == "as in the fit" else frame).to_csv(tmp_path / "new.csv")
    code, _, err = call("transform", out, tmp_path / "new.csv", "-o", tmp_path / "scores.csv")
    assert (code, err) == (0, "")
    expected, found = read_csv(out / "scores.csv"), read_csv(tmp_path / "scores.csv")
    np.testing.assert_allclose(column(found, "PC1"), column(expected, "PC1"), rtol=1e-10)
    code, _, err = call("transform", out, tmp_path / "nothing.csv")
    assert "there is no such file" in err


def test_gaps_of_new_samples_are_filled_as_in_the_fit(call, tmp_path, numbers):
    X, names, _ = numbers
    gaps = X.copy()
    gaps[::7, :] = np.where(np.arange(20) % 3 == 0, np.nan, gaps[::7, :])
    for how in ("mean", "impute"):
        pd.DataFrame(gaps, columns=names).fillna(-99).to_csv(tmp_path / "t.csv", index=False)
        out = tmp_path / how
        assert call("fit", tmp_path / "t.csv", "--na", "-99", "--missing", how, "-d", 2, "-q", "-o", out)[0] == 0
        code, _, err = call("transform", out, tmp_path / "t.csv", "-o", tmp_path / "scores.csv", "--overwrite")
        assert (code, err) == (0, "")
        expected, found = read_csv(out / "scores.csv"), read_csv(tmp_path / "scores.csv")
        np.testing.assert_allclose(column(found, "PC1"), column(expected, "PC1"), rtol=1e-9)


def test_without_openpyxl_the_extra_is_named(call, tmp_path, monkeypatch):
    import zipfile

    with zipfile.ZipFile(tmp_path / "t.xlsx", "w") as archive:
        archive.writestr("xl/workbook.xml", "")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    code, _, err = call("info", tmp_path / "t.xlsx")
    assert code == 1
    assert "reading Excel files needs the package openpyxl" in err
    assert "pip install 'gsppca[excel]'" in err


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are of Unix")
def test_at_80_columns_words_are_whole_and_commands_in_one_piece(upside_down):
    import pty

    leader, follower = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "COLUMNS": "80", "TERM": "dumb"}
    command = [sys.executable, "-m", "gsppca", "info", str(upside_down)]
    process = subprocess.Popen(command, stdout=follower, stderr=follower, env=environment)
    os.close(follower)
    shown = b""
    while True:
        try:
            more = os.read(leader, 65536)
        except OSError:  # the other end is closed
            break
        if not more:
            break
        shown += more
    os.close(leader)
    assert process.wait(60) == 0
    lines = shown.decode().replace("\r", "").splitlines()
    long = [line for line in lines if len(line) > 80]
    assert all(str(upside_down) in line for line in long)
    start = next(i for i, line in enumerate(lines) if line.startswith("attention"))
    assert lines[start + 1].startswith(" " * 12)
    assert f"  gsppca fit {upside_down} --transpose --missing impute --output results --report" in lines


def test_codes_for_missing_values_come_with_the_command_that_reads_them(call, tmp_path):
    """What is proposed can be typed: compare, which knows no imputation, takes means."""
    data = np.random.default_rng(0).normal(size=(40, 6)).round(3)
    data[3:6, 2] = -999
    path = tmp_path / "sensors.csv"
    np.savetxt(path, data, delimiter=",", header="a,b,c,d,e,f", comments="", fmt="%g")
    quick = ("--method", "variance", "--halves", 0)
    for command, missing, options in (("fit", "impute", ()), ("compare", "mean", quick)):
        _, _, err = call(command, path, *options)
        (proposed,) = [line for line in err.splitlines() if line.startswith(f"  gsppca {command}")]
        assert proposed.endswith(f"--na=-999 --missing {missing}")
        code, _, err = call(*shlex.split(proposed)[1:])
        assert code == 0
        assert "-999 occurs" not in err

"""The command line of the experiments."""

from __future__ import annotations

import subprocess
import sys

from tests.needs import optional

optional("cyclopts")

from gsppca.cli.experiment import app


def test_list(capsys):
    app("list", result_action="return_value")
    shown = capsys.readouterr().out
    assert "noise-range" in shown
    assert "Table 5" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_run_and_report(tmp_path, capsys):
    app(["run", "introductory", "--quick", "--out", str(tmp_path)], result_action="return_value")
    assert "3 runs done" in capsys.readouterr().out
    app(["run", "introductory", "--quick", "--out", str(tmp_path)], result_action="return_value")
    assert "0 runs done, 3 found done" in capsys.readouterr().out
    app(["report", "--out", str(tmp_path / "quick")], result_action="return_value")
    assert (tmp_path / "quick" / "index.html").exists()


def test_importing_the_commands_loads_no_plots():
    code = (
        "import sys, gsppca; before = set(sys.modules); import gsppca.cli.experiment;"
        "print(sorted({'matplotlib', 'jinja2', 'gsppca.experiments'} & (set(sys.modules) - before)))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"

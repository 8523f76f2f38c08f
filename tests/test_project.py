"""What surrounds the code agrees with it: targets, versions, links, pages that are drawn from the source."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import gsppca
from tests.needs import optional
from tests.tiers import nightly_cases, slow_tests

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = set(re.findall(r"^([\w.%-]+):(?!=)", MAKEFILE, re.MULTILINE))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PROSE = [
    *ROOT.glob("*.md"),
    *(ROOT / ".github").glob("*.md"),
    *(ROOT / "docs").rglob("*.md"),
    ROOT / "tests" / "README.md",
]


def is_target(name):
    return name in TARGETS or any(
        "%" in target and re.fullmatch(target.replace(".", r"\.").replace("%", ".+"), name) for target in TARGETS
    )


def commands(workflow):
    """Targets that the jobs of a workflow make, one for each entry of their matrix."""
    yaml = optional("yaml")
    for job in yaml.safe_load(workflow.read_text())["jobs"].values():
        matrix = job.get("strategy", {}).get("matrix", {})
        entries = [entry["target"] for entry in matrix.get("include", [])] + matrix.get("target", [])
        for step in job["steps"]:
            for words in re.findall(r"\bmake ((?:\$\{\{[^}]*\}\}|[\w.-]+ ?)+)", step.get("run", "")):
                names = [words] if "${{" in words else words.split()
                yield from (entry for name in names for entry in (entries if "matrix.target" in name else [name]))


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_make_targets_that_exist(workflow):
    made = list(commands(workflow))
    assert made
    assert [name for name in made if not is_target(name)] == []


def test_everything_that_we_claim_is_made_by_a_workflow():
    made = {name for workflow in WORKFLOWS for name in commands(workflow)}
    assert {"test", "minimal", "lowest", "newest", "python3.12", "python3.13"} <= made
    assert {"versions", "package", "nightly", "cluster", "browser-tests", "coverage"} <= made


def test_make_test_runs_every_test():
    """Files that are named in the Makefile are all those that it must name; what CI runs has every part."""
    recipe = re.search(r"^test: .*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)[1]
    words = re.sub(r"#.*|--?[\w=-]+|\$\(MAKE\)", "", recipe).split()
    assert words == ["cluster", "types", "docs", "lint", "arrays", "unit"]
    for sign, line in (
        ("pytest.mark." + "cluster", r"-m cluster (.*)"),
        ("parametrize_" + "with_checks", r"CHECKED := (.*)"),
    ):
        marked = {str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("*.py") if sign in path.read_text()}
        named = set(re.search(line, MAKEFILE)[1].replace("$(REQUIRED)", "").split())
        assert marked == named


def test_commands_in_the_prose_exist():
    for path in PROSE:
        for words in re.findall(r"`make ([\w. -]+)`", path.read_text()):
            assert [name for name in words.split() if not is_target(name)] == [], f"{path.name}: make {words}"


def test_phony_targets_are_targets():
    phony = re.search(r"\.PHONY: ((?:.*\\\n)*.*)", MAKEFILE)[1].replace("\\", "").split()
    assert set(phony) <= TARGETS
    real = {name for name in TARGETS if not name.startswith((".", "$")) and "%" not in name}
    assert real <= set(phony)


def test_sites_of_several_versions_are_listed_newest_first(tmp_path):
    for name in ("dev", "v0.2.0", "v0.10.1", "v0.10.0"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "index.html").write_text("")
    subprocess.run([sys.executable, str(ROOT / ".ci" / "versions.py"), str(tmp_path)], check=True)
    listed = [entry["version"] for entry in json.loads((tmp_path / "versions.json").read_text())]
    assert listed == ["v0.10.1", "v0.10.0", "v0.2.0", "dev"]
    assert 'url=v0.10.1/"' in (tmp_path / "index.html").read_text()


def test_the_version_is_the_same_everywhere():
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "src/gsppca/__init__.py"
    release = gsppca.__version__.split(".dev")[0]
    assert re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)[1] == release
    assert re.search(r'set version = "(.*?)"', (ROOT / "conda/recipe/meta.yaml").read_text())[1] == release
    assert f"## {release}" in (ROOT / "CHANGELOG.md").read_text()


def test_the_conda_recipe_asks_for_what_the_package_asks_for():
    """Its builder, Python, packages and command; and that extras, where they are there, are not older than we allow."""
    text = (ROOT / "conda" / "recipe" / "meta.yaml").read_text()
    lists = dict(re.findall(r"^  (\w+):\n((?:    - .*\n)+)", text, re.MULTILINE))
    recipe = {name: {tuple(line.split()[1:]) for line in lines.splitlines()} for name, lines in lists.items()}
    project = PROJECT["project"]

    def pinned(requirements):
        names = {"dask": "dask-core", "matplotlib": "matplotlib-base"}
        pairs = [re.fullmatch(r"([\w-]+)(?:\[.*\])?(>=.*)", requirement).groups() for requirement in requirements]
        return {(names.get(name, name).lower(), version) for name, version in pairs}

    extras = [one for some in project["optional-dependencies"].values() for one in some if "gsppca[" not in one]
    assert recipe["run"] == pinned(project["dependencies"]) | {("python", project["requires-python"])}
    assert recipe["run_constrained"] == pinned(extras)
    assert pinned(PROJECT["build-system"]["requires"]) <= recipe["host"]
    assert f"- gsppca = {project['scripts']['gsppca']}\n" in text
    for field, key in (("summary", "description"), ("license", "license")):
        assert f"  {field}: {project[key]}\n" in text
    assert f"  home: {project['urls']['Homepage']}\n" in text


def test_all_holds_every_extra_and_no_tool():
    extras = PROJECT["project"]["optional-dependencies"]
    named, waiting = set(), ["all"]
    while waiting:
        for requirement in extras[waiting.pop()]:
            for inner in re.findall(r"gsppca\[(.*?)\]", requirement):
                waiting.extend(set(inner.split(",")) - named)
                named.update(inner.split(","))
    assert named == set(extras) - {"all", "real-data"}  # a peer there holds scikit-learn back
    assert not {"pytest", "mypy", "ruff"} & {re.split(r"[\[>]", r)[0] for name in extras for r in extras[name]}


def _packages(extra):
    """What an extra brings, those that it includes counted."""
    found = set()
    for requirement in PROJECT["project"]["optional-dependencies"][extra]:
        name, inner = re.fullmatch(r"([\w-]+)(?:\[(.*?)\])?(?:>=.*)?", requirement).groups()
        found |= set().union(*map(_packages, inner.split(","))) if name == "gsppca" else {name}
    return found


def test_errors_name_an_extra_that_brings_the_package():
    """Who is told to install an extra must have the package afterwards."""
    told = 0
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not (isinstance(node, ast.Call) and getattr(node.func, "id", "") == "optional_import"):
                continue
            module, _, extra, *package = (
                argument.value if isinstance(argument, ast.Constant) else "" for argument in node.args
            )
            if not module or module.startswith("gsppca.") or extra is None:
                continue
            told += 1
            brings = _packages(extra) | ({"pandas"} if extra == "scanpy" else set())  # anndata needs it
            assert (package[0] if package else module) in brings, f"{path.name}: {module!r} by {extra!r}"
    assert told > 15


def test_links_of_the_readme_work_on_an_index():
    """The substitutions of pyproject.toml leave no relative link, and lead to files that exist."""
    text = (ROOT / "README.md").read_text()
    settings = PROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    for substitution in settings["substitutions"]:
        text = re.sub(substitution["pattern"], substitution["replacement"], text)
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(links) > 10
    assert all(link.startswith(("https://", "#")) for link in links)
    base = PROJECT["project"]["urls"]["Source"]
    raw = f"{base}/raw/"
    for link in links:
        for start in (f"{base}/source/", raw):
            if link.startswith(start):
                assert (ROOT / link.removeprefix(start).partition("#")[0]).exists(), link
    assert text.count(raw) == len(re.findall(r"!\[", text))


def test_the_architecture_page_is_up_to_date():
    script = ROOT / "docs" / "make_architecture.py"
    result = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_listed_tests_exist():
    """A name that is gone stands for a test that was renamed, and is in its tier no more."""
    listed = slow_tests() | {name for name, _ in nightly_cases()}
    there = {
        f"{file}::{node.name}"
        for file in {name.partition("::")[0] for name in listed}
        for node in ast.walk(ast.parse((ROOT / file).read_text()))
        if isinstance(node, ast.FunctionDef)
    }
    assert sorted(listed - there) == []


def test_mutations_can_be_made():
    for mutation in tomllib.loads((ROOT / "tests" / "mutations.toml").read_text())["mutation"]:
        assert (ROOT / mutation["file"]).read_text().count(mutation["old"]) >= 1, mutation["what"]
        assert (ROOT / mutation["tests"].split()[0]).exists()


def test_citations_of_the_paper_exist():
    text, bibliography = ((ROOT / "paper" / name).read_text() for name in ("paper.md", "paper.bib"))
    cited = set(re.findall(r"@([a-z]+\d{4})", text))
    assert cited == set(re.findall(r"^@\w+\{(\w+),", bibliography, re.MULTILINE))
    for picture in re.findall(r"!\[.*?\]\((.*?)\)", text):
        assert (ROOT / "paper" / picture).exists(), picture


def test_the_software_paper_has_the_sections_that_its_journal_asks_for():
    text = (ROOT / "paper" / "paper.md").read_text()
    wanted = ["Summary", "Statement of need", "State of the field", "Software design", "Research impact statement"]
    assert re.findall(r"^# (.*)$", text, re.MULTILINE)[:6] == [*wanted, "AI usage disclosure"]
    assert 750 <= len(text.partition("# Summary")[2].split()) <= 1750


@pytest.mark.parametrize("path", [*WORKFLOWS, ROOT / ".pre-commit-config.yaml"], ids=lambda path: path.name)
def test_settings_are_yaml(path):
    assert optional("yaml").safe_load(path.read_text())


def test_hooks_are_pinned():
    for repository in optional("yaml").safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]:
        assert repository["repo"] == "local" or re.fullmatch(r"v\d+\.\d+\.\d+", repository["rev"])


def test_optional_packages_are_asked_for():
    """A test file that imports one unasked fails to be collected where it is missing: optional means optional."""
    extras = [r for name in PROJECT["project"]["optional-dependencies"].values() for r in name]
    groups = [r for name in ("peers", "docs", "lint") for r in PROJECT["dependency-groups"][name]]
    names = {re.split(r"[\[>]", requirement)[0] for requirement in extras + groups} - {"gsppca", "mkdocs-material"}
    modules = {{"PyWavelets": "pywt", "pyyaml": "yaml"}.get(name, name) for name in names}
    for path in sorted((ROOT / "tests").rglob("*.py")):
        tree = ast.parse(path.read_text())
        asked: set[str] = set()
        if path.name != "conftest.py" and (path.parent / "conftest.py").exists() and path.parent.name != "tests":
            asked |= _asked_for(ast.parse((path.parent / "conftest.py").read_text()).body)
        for statement in tree.body:
            imported = {alias.name for alias in statement.names} if isinstance(statement, ast.Import) else set()
            imported |= {statement.module or ""} if isinstance(statement, ast.ImportFrom) else set()
            wanted = {name.partition(".")[0] for name in imported} & modules
            assert wanted <= asked, f"{path.name} imports {wanted - asked} before tests.needs.optional has found it"
            asked |= _asked_for([statement])


def _asked_for(statements):
    """Packages for which `optional` is called on the level of the module."""
    calls = [
        node
        for statement in statements
        if not isinstance(statement, ast.FunctionDef | ast.ClassDef)
        for node in ast.walk(statement)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "optional"
    ]
    named = [call.args[0] for call in calls]
    return {one.value.partition(".")[0] for one in named if isinstance(one, ast.Constant)}


def test_no_environment_variable_selects_tests():
    switches = ("GSPPCA_" + "CLUSTER", "GSPPCA_" + "REQUIRE")
    for path in [*(ROOT / "tests").rglob("*.py"), ROOT / "Makefile", ROOT / ".ci" / "run"]:
        assert not any(switch in path.read_text() for switch in switches), path

"""How many small errors the tests notice: mutants of a module, each run against the tests of that module.

    pip install cosmic-ray
    python -m benchmarks.mutations --mutants 40 --write benchmarks/results/mutations.md

cosmic-ray knows where a sign, a comparison, a number, a keyword or a decorator can be exchanged. A sample of these
changes, the same for the same seed, is made one at a time; the tests of the module are run until one fails. numpy,
scipy and pytest are imported once, and each mutant runs in a fork of that process.

Left out are changes that nothing can notice: of the bars in annotations, which are never evaluated, and of ``strict``
in a zip of things that are equally long. Others of that kind remain, such as "<=" for "<" between numbers that are
never equal: a share of 100 % is not to be had.
"""

from __future__ import annotations

import argparse
import difflib
import importlib
import importlib.machinery
import os
import random
import signal
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "gsppca"
SECONDS = 150  # for the tests of one mutant: one that makes them endless is noticed

# Module, and the tests that are to notice its mutants.
TESTS = {
    "evidence/bessel.py": ("tests/evidence/test_bessel.py",),
    "evidence/radii.py": ("tests/evidence/test_radii.py", "tests/evidence/test_row_norms.py"),
    "evidence/row_norms.py": ("tests/evidence/test_row_norms.py",),
    "evidence/noisy.py": ("tests/evidence/test_noisy.py",),
    "evidence/bayes_factors.py": ("tests/evidence/test_bayes_factors.py",),
    "evidence/noise_units.py": ("tests/evidence/test_noise_units.py",),
    "evidence/factors.py": ("tests/evidence/test_factors.py",),
    "evidence/joint.py": ("tests/evidence/test_joint.py",),
    "rankings/noise_path.py": ("tests/rankings/test_noise_path.py",),
    "rankings/order.py": ("tests/rankings/test_order.py",),
    "rankings/vem/em.py": (
        "tests/rankings/test_vem.py",
        "tests/rankings/test_literal_algorithm.py",
    ),
    "rankings/vem/bound.py": ("tests/rankings/test_vem.py",),
    "rankings/vem/start.py": (
        "tests/rankings/test_vem.py",
        "tests/rankings/test_literal_algorithm.py",
    ),
    "rankings/vem/relaxed.py": (
        "tests/rankings/test_vem.py",
        "tests/rankings/test_literal_algorithm.py",
        "tests/rankings/test_checkpoint.py",
    ),
    "rankings/vem/checkpoint.py": ("tests/rankings/test_checkpoint.py", "tests/test_checkpoint.py"),
    "rules/communality.py": ("tests/rules/test_communality.py",),
    "rules/knockoffs.py": ("tests/rules/test_knockoffs.py",),
    "components/imputation.py": ("tests/components/test_imputation.py",),
    "components/observed_em.py": ("tests/components/test_imputation.py",),
    "evidence/mixture.py": ("tests/evidence/test_mixture.py",),
    "evidence/posterior.py": ("tests/evidence/test_posterior.py",),
    "linalg/krylov.py": ("tests/linalg/test_krylov.py",),
    "components/clipping.py": ("tests/evidence/test_clipping.py",),
    "components/noise.py": ("tests/components/test_small_stages.py",),
    "rules/deal.py": ("tests/rules/test_deal.py",),
    "rules/switch.py": ("tests/rules/test_switch.py",),
    "io/numerals.py": ("tests/io/test_delimited.py", "tests/io/test_as_they_are.py"),
    "io/values.py": ("tests/io/test_delimited.py", "tests/io/test_as_they_are.py"),
    "io/encoding.py": ("tests/test_saving.py",),
    "io/models.py": ("tests/test_saving.py",),
    "_npz.py": ("tests/test_saving.py", "tests/rankings/test_checkpoint.py"),
    "_atomic.py": ("tests/test_atomic.py",),
}


# One or two changes for each place, the hardest to notice: any number of wrong operators would only dilute the figure.
OPERATORS = (
    *(f"ReplaceBinaryOperator_{pair}" for pair in ("Add_Sub", "Sub_Add", "Mul_Div", "Div_Mul", "Pow_Mul")),
    *(f"ReplaceBinaryOperator_{pair}" for pair in ("FloorDiv_Div", "Mod_FloorDiv", "BitAnd_BitXor")),
    *(f"ReplaceComparisonOperator_{pair}" for pair in ("Lt_LtE", "Lt_GtE", "LtE_Lt", "LtE_Gt", "Gt_GtE", "Gt_LtE")),
    *(
        f"ReplaceComparisonOperator_{pair}"
        for pair in ("GtE_Gt", "GtE_Lt", "Eq_NotEq", "NotEq_Eq", "Is_IsNot", "IsNot_Is")
    ),
    *("ReplaceUnaryOperator_USub_UAdd", "ReplaceUnaryOperator_Invert_USub", "ReplaceUnaryOperator_Delete_Not"),
    *("AddNot", "ReplaceTrueWithFalse", "ReplaceFalseWithTrue", "ReplaceAndWithOr", "ReplaceOrWithAnd"),
    *("ReplaceBreakWithContinue", "ReplaceContinueWithBreak", "ExceptionReplacer", "NumberReplacer", "RemoveDecorator"),
    "ZeroIterationForLoop",
)


def mutants_of(path: Path) -> list[tuple[str, int]]:
    """All mutants of a module: names of cosmic-ray's operators, and at which of its places each is applied."""
    from cosmic_ray import plugins
    from cosmic_ray.ast import ast_nodes, get_ast

    nodes = list(ast_nodes(get_ast(path.read_text())))
    operators = {f"core/{name}": plugins.get_operator(f"core/{name}")() for name in OPERATORS}
    counts = {
        name: sum(len(list(operator.mutation_positions(node))) for node in nodes)
        for name, operator in operators.items()
    }
    return [(name, occurrence) for name, count in counts.items() for occurrence in range(count)]


def mutated(path: Path, name: str, occurrence: int) -> str | None:
    """The source of a mutant."""
    from cosmic_ray import plugins
    from cosmic_ray.mutating import mutate_code

    return mutate_code(path.read_text(), plugins.get_operator(name)(), occurrence)


def survives(path: Path, source: str, tests: tuple[str, ...]) -> bool:
    """Whether all tests pass with another source of a module."""
    child = os.fork()
    if child == 0:
        _run_child(path, source, tests)
    signal.signal(signal.SIGALRM, lambda *_: os.kill(child, signal.SIGKILL))
    signal.alarm(SECONDS)
    _, status = os.waitpid(child, 0)
    signal.alarm(0)
    return os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0


def _run_child(path: Path, source: str, tests: tuple[str, ...]) -> None:
    """Run the tests with the other source, quietly, and leave."""
    code = 1
    try:
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        os.setsid()
        real = importlib.machinery.SourceFileLoader.get_code

        def get_code(self, fullname):
            if Path(self.path) == path:
                return compile(source, str(path), "exec")
            return real(self, fullname)

        importlib.machinery.SourceFileLoader.get_code = get_code
        import pytest

        code = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *tests]))
    finally:
        os._exit(code)


def changed_line(before: str, after: str) -> str:
    """The first line that differs, as it was and as it is."""
    lines = [line for line in difflib.ndiff(before.splitlines(), after.splitlines()) if line[:2] in ("- ", "+ ")]
    return "  ->  ".join(line[2:].strip() for line in lines[:2])


def preload() -> None:
    """Import what all mutants need, but nothing of ours."""
    for name in ("pandas", "pytest", "scipy.sparse.linalg", "scipy.special", "scipy.stats", "sklearn.base"):
        importlib.import_module(name)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--mutants", type=int, default=20, help="per module; 0 for all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--modules", nargs="*", default=list(TESTS))
    parser.add_argument("--write", type=Path, help="a page for the figures")
    options = parser.parse_args()
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT / "src"))
    sys.dont_write_bytecode = True
    preload()
    rows, survivors = [], []
    for module in options.modules:
        path, tests = SOURCE / module, TESTS[module]
        before = path.read_text()
        if not survives(path, before, tests):
            raise SystemExit(f"{module}: its tests fail without any mutation")
        every = mutants_of(path)
        chosen = random.Random(options.seed).sample(every, min(options.mutants or len(every), len(every)))
        start, alive, tried = time.monotonic(), [], len(chosen)
        for name, occurrence in chosen:
            after = mutated(path, name, occurrence)
            if after is None or after.replace("strict=False", "strict=True") == before:
                tried -= 1
                continue
            if survives(path, after, tests):
                alive.append((name.removeprefix("core/"), changed_line(before, after)))
                print("  survived:", module, *alive[-1], flush=True)
        rows.append((module, len(every), tried, tried - len(alive), time.monotonic() - start))
        survivors += [(module, *one) for one in alive]
        print(*rows[-1], flush=True)
    if options.write is not None:
        options.write.write_text(page(rows, survivors, options.seed))


def page(rows: list, survivors: list, seed: int) -> str:
    """The figures as Markdown."""
    total, killed = sum(row[2] for row in rows), sum(row[3] for row in rows)
    lines = [
        "# Mutations",
        "",
        f"{killed} of {total} mutants ({killed / total:.0%}) are noticed by the tests of their module. They are made",
        f"by operators of cosmic-ray, sampled with seed {seed}. How to repeat it stands in `benchmarks/mutations.py`.",
        "",
        "| module | possible | tried | noticed | share |",
        "|---|---|---|---|---|",
        *(
            f"| {m} | {possible} | {tried} | {dead} | {dead / max(1, tried):.0%} |"
            for m, possible, tried, dead, _ in rows
        ),
        "",
        "## Survivors",
        "",
        *(f"- {module}: {name}: `{change}`" for module, name, change in survivors),
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()

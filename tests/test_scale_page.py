"""The page of large data is made of sections that are measured one by one."""

from __future__ import annotations

from tests.needs import optional


def test_a_new_section_leaves_the_others_as_they_are():
    optional("distributed")
    from benchmarks.scale import PROOFS, merged

    names = list(PROOFS)
    page = ""
    for name in reversed(names):
        page = merged(page, {name: f"## {PROOFS[name].heading}\n\nfirst {name}\n\n| a |\n"})
    page = merged(page, {names[1]: f"## {PROOFS[names[1]].heading}\n\nsecond\n"})
    expected = [f"## {PROOFS[name].heading}\n\nfirst {name}\n\n| a |" for name in names]
    expected[1] = f"## {PROOFS[names[1]].heading}\n\nsecond"
    assert page == "\n\n".join(["# Data of any size", *expected]) + "\n"

"""Table 3: pixels of handwritten sevens over three backgrounds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gsppca.experiments.drawing import new_figure
from gsppca.experiments.methods import get_method, label_of
from gsppca.experiments.paper.printed import notes_of
from gsppca.experiments.spec import Claim, Experiment, Plan, Row, RunSpec, Table, verdict

SAMPLE = "sample"  # not a method: one image of the data, and the ink of all
METHODS = ("spca", "sspca", "gsppca-paper")
BACKGROUNDS = {"basic": "none", "back-rand": "random", "back-image": "image"}
SIDE, N_SELECTED = 28, 200
CHANCE = N_SELECTED / SIDE**2


class Digits(Experiment):
    """200 pixels of 784, by three methods on three data sets, section 3.4."""

    name = "digits"
    title = "Handwritten sevens"
    paper = "Table 3, section 3.4"
    question = "Nine images: three data sets by three methods, q = 200, d = 100 (SPCA one axis), n = 500."
    parameters = ("background", "method", "n", "d")
    values = ("pixel", "value", "ink")
    needs_data = True
    notes = notes_of("digits")

    def runs(self, plan: Plan) -> Iterator[RunSpec]:
        """Backgrounds times methods."""
        n, d = (100, 5) if plan.quick else (500, 100)
        for background in BACKGROUNDS:
            for method in dict.fromkeys((SAMPLE, *METHODS, *plan.methods)):
                for seed in plan.seeds(1, quick=1):
                    yield RunSpec.of(seed, {"background": background, "method": method, "n": n, "d": d})

    def run(self, spec: RunSpec) -> list[Row]:
        """One row per selected pixel; per pixel for the sample."""
        from gsppca.datasets import load_mnist_sevens

        X = load_mnist_sevens(BACKGROUNDS[spec["background"]], spec["n"], spec.seed).X
        ink = load_mnist_sevens("none", spec["n"], spec.seed).X.mean(axis=0)
        if spec["method"] == SAMPLE:
            shown = [(pixel, round(float(value), 3)) for pixel, value in enumerate(X[0])]
        else:
            support = get_method(spec["method"]).supports(X, spec["d"], [N_SELECTED], spec.seed)[0]
            shown = [(int(pixel), 1.0) for pixel in np.flatnonzero(support)]
        return [{"pixel": pixel, "value": value, "ink": round(float(ink[pixel]), 4)} for pixel, value in shown]

    def images(self, rows: Any) -> dict[tuple[str, str], Any]:
        """Image of each background and method, first seed."""
        rows = rows[rows.seed == rows.seed.min()]
        images = {}
        for (background, method), part in rows.groupby(["background", "method"]):
            image = np.zeros(SIDE**2)
            image[part.pixel] = part.value
            images[background, method] = image.reshape(SIDE, SIDE)
        return images

    def measures(self, rows: Any) -> dict[tuple[str, str], tuple[float, float]]:
        """Share of the ink, and selected neighbours, of each selection."""
        sample = rows[(rows.method == SAMPLE) & (rows.background == "basic") & (rows.seed == rows.seed.min())]
        inked = np.zeros(SIDE**2, dtype=bool)
        inked[sample.pixel.to_numpy()[np.argsort(-sample.ink.to_numpy())[:N_SELECTED]]] = True
        found = {}
        for key, image in self.images(rows).items():
            if key[1] != SAMPLE:
                chosen = image > 0
                framed = np.pad(chosen, 1)
                around = [framed[:-2, 1:-1], framed[2:, 1:-1], framed[1:-1, :-2], framed[1:-1, 2:]]
                found[key] = (float(inked[chosen.ravel()].mean()), float(np.sum(around, axis=0)[chosen].mean()))
        return found

    def summary(self, rows: Any) -> list[Table]:
        """The two numbers, methods by data sets."""
        found = self.measures(rows)
        methods = list(dict.fromkeys(method for _, method in found))
        methods.sort(key=lambda name: METHODS.index(name) if name in METHODS else len(METHODS))
        lines = [
            [label_of(method), *(f"{100 * found[b, method][0]:.0f} %, {found[b, method][1]:.1f}" for b in BACKGROUNDS)]
            for method in methods
        ]
        return [
            Table("Ink and neighbours of the selected pixels", ["method", *(f"mnist-{b}" for b in BACKGROUNDS)], lines)
        ]

    def figure(self, rows: Any) -> Any:
        """Table 3: a sample and the selections; selected pixels are white."""
        images = self.images(rows)
        methods = list(dict.fromkeys((SAMPLE, *METHODS, *(method for _, method in images))))
        methods = [name for name in methods if ("basic", name) in images]
        figure, axes = new_figure(len(methods), len(BACKGROUNDS), height=1.7, width=5.4)
        for i, method in enumerate(methods):
            for j, background in enumerate(BACKGROUNDS):
                axis = axes[i * len(BACKGROUNDS) + j]
                axis.imshow(images[background, method], cmap="gray", vmin=0, vmax=1, interpolation="nearest")
                axis.set(xticks=[], yticks=[])
                if i == 0:
                    axis.set_title(
                        f"mnist-{background}\n(reconstruction)" if j else f"mnist-{background}\n", fontsize=9
                    )
                if j == 0:
                    axis.set_ylabel(label_of(method))
        return figure

    def claims(self, rows: Any) -> list[Claim]:
        """Sentences of section 3.4, on what the two numbers can tell."""
        found = self.measures(rows)
        methods = [name for name in METHODS if ("basic", name) in found]

        def tell(background: str, index: int, form: str) -> str:
            return ", ".join(f"{label_of(m)} {form.format(found[background, m][index])}" for m in methods)

        def ink(background: str, method: str) -> float:
            return found[background, method][0]

        seven = 2 * CHANCE
        recognisable = f"Asked: twice the ink of a random choice, {100 * seven:.0f} %."
        ours = "gsppca-paper"
        global_methods = [name for name in methods if name != "spca"]
        scattered = all(found["back-rand", "spca"][1] < found["back-rand", m][1] for m in global_methods)
        claims = [
            Claim(
                "mnist-basic: a seven can be recognised in all selections",
                verdict(all(ink("basic", m) >= seven for m in methods)),
                recognisable,
                tell("basic", 0, "{:.0%}"),
                "by eye",
            ),
            Claim(
                "mnist-back-rand: the two global selections are still consistent",
                verdict(all(ink("back-rand", m) >= seven for m in global_methods)),
                recognisable,
                tell("back-rand", 0, "{:.0%}"),
                "by eye",
            ),
            Claim(
                "mnist-back-rand: SPCA's pixels are more scattered",
                verdict(scattered),
                "Asked: fewer selected neighbours than both global methods.",
                tell("back-rand", 1, "{:.1f}"),
                "by eye",
            ),
            Claim(
                "mnist-back-image: a seven can still be recognised in GSPPCA's selection",
                verdict(ink("back-image", ours) >= seven),
                recognisable,
                tell("back-image", 0, "{:.0%}"),
                "by eye",
            ),
            Claim(
                "mnist-back-image: SPCA selects almost everywhere but near the mean seven",
                verdict(ink("back-image", "spca") < CHANCE),
                "Asked: less ink than a random choice.",
                tell("back-image", 0, "{:.0%}"),
                "by eye",
            ),
        ]
        if "sspca" in methods:
            claims.append(
                Claim(
                    "mnist-back-image: SSPCA's selection does not appear interpretable",
                    verdict(ink("back-image", "sspca") < seven),
                    "Asked: less than twice the ink of a random choice.",
                    tell("back-image", 0, "{:.0%}"),
                    "by eye",
                )
            )
        return claims

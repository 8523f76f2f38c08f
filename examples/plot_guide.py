"""The pictures of the user guide: the model, the evidence, and what scale and dimension do."""

import warnings

import numpy as np
from showing import BLUE, GREEN, GREY, ORANGE, PURPLE, QUICK, plt, save
from sklearn.datasets import load_digits, load_wine
from sklearn.decomposition import PCA

from gsppca import GSPPCA, MostVariablesWarning, NoStructureWarning
from gsppca.baselines import SPCA
from gsppca.datasets import make_introductory, make_model_selection, make_noise, make_noise_range
from gsppca.metrics import f_score

warnings.simplefilter("ignore", MostVariablesWarning)  # what is drawn is what is relevant
warnings.simplefilter("ignore", NoStructureWarning)  # it is part of the answer, and is drawn


def matrix(ax, values, title="", xlabel="", ylabel="", limit=None):
    """Numbers as colours: blue below zero, red above, white at zero."""
    limit = np.abs(values).max() if limit is None else limit
    ax.imshow(values, cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto", interpolation="nearest")
    ax.set(xticks=[], yticks=[], title=title, xlabel=xlabel, ylabel=ylabel)
    ax.spines[:].set_visible(True)
    ax.spines[:].set_color(GREY)


def the_model():
    """X = Y W' + noise, with columns of W' that are zero."""
    data = make_introductory(40, 24, 3, 8, noise_variance=0.1, random_state=3)
    signal = data.scores @ data.loadings.T
    limit = 0.7 * np.abs(data.X).max()
    figure, axes = plt.subplots(
        1, 7, figsize=(10, 3.2), layout="constrained", width_ratios=[2.4, 0.35, 0.7, 0.25, 2.4, 0.35, 2.4]
    )
    matrix(axes[0], data.X, "data X", "24 variables", "40 samples", limit)
    matrix(axes[2], data.scores, "scores Y", "3 factors", "40 samples", 2.5)
    matrix(axes[4], data.loadings.T, "loadings W, transposed", "24 variables", "3 factors", 2)
    matrix(axes[6], data.X - signal, "noise", "24 variables", "40 samples", limit)
    axes[4].set_box_aspect(0.18)
    for place in np.flatnonzero(data.support):
        axes[4].annotate(
            "", (place, -0.55), (place, -2.2), arrowprops={"arrowstyle": "-|>", "color": ORANGE}, annotation_clip=False
        )
    axes[4].set_title("loadings W, transposed", pad=26)
    for ax, sign in zip(axes[[1, 3, 5]], "=×+", strict=True):
        ax.axis("off")
        ax.text(0.5, 0.5, sign, fontsize=20, ha="center", va="center")
    save(figure, "guide_model")


def one_pattern():
    """Loadings of PCA, sparse PCA and GSPPCA on the same data."""
    data = make_introductory(60, 30, 3, 9, noise_variance=0.3, random_state=4)
    model = GSPPCA(3).fit(data.X)
    local = SPCA(3, n_features_to_select=9, random_state=0).fit(data.X)
    figure, axes = plt.subplots(1, 4, figsize=(9.6, 4), layout="constrained", width_ratios=[0.35, 1, 1, 1], sharey=True)
    axes[0].imshow(data.support[:, None], cmap="Greys", aspect="auto", vmin=0, vmax=1.6)
    axes[0].set(xticks=[], title="truth", ylabel="variables")
    names = ("PCA: all variables", "sparse PCA: each axis its own", "GSPPCA: one set for all")
    for ax, loadings, name in zip(
        axes[1:], (PCA(3).fit(data.X).components_, local.components_, model.components_), names, strict=True
    ):
        matrix(ax, loadings.T, name, limit=0.7)
        used = (loadings != 0).any(axis=0).sum()
        ax.set(xticks=range(3), xticklabels=["axis 1", "axis 2", "axis 3"], xlabel=f"{used} of 30 variables used")
    save(figure, "guide_pattern")


def ranking_and_evidence():
    """Relevance, evidence, and what each variable adds to it, on the introductory example."""
    data = make_introductory(random_state=0)
    model = GSPPCA(5, method="paper").fit(data.X)
    order = np.argsort(model.ranking_)
    colours = np.where(data.support[order], BLUE, GREY)
    path = model.evidence_path_
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(10, 3.1), layout="constrained")
    left.bar(path.sizes, model.relevance_[order], color=colours)
    left.set(title="1. Rank", xlabel="variables, most relevant first", ylabel="relevance")
    gains = np.diff(path.log_evidence)
    middle.bar(path.sizes[1:], gains, color=colours[1:])
    middle.axhline(0, color="black", lw=0.6)
    middle.set(title="2. What each one adds", xlabel="rank of the variable", ylabel="change of the log evidence")
    right.plot(path.sizes, path.log_evidence - path.log_evidence.max(), color=BLUE)
    right.axvline(model.n_selected_, color=ORANGE, ls="--", lw=1.2)
    right.set(title=f"3. Keep as many as is best: {model.n_selected_}", xlabel="number of variables kept")
    right.set_ylabel("log evidence − maximum")
    for label, colour in (("carries the factors", BLUE), ("noise", GREY)):
        left.bar([0], [0], color=colour, label=label)
    left.legend(frameon=False)
    save(figure, "guide_evidence")


def shapes():
    """Evidence curves that readers will meet."""
    peaked = make_noise_range(1.0, 100, random_state=0)
    heavy = make_model_selection(100, "laplacian", random_state=0)
    noise = make_noise(100, 200, random_state=0)
    wine = load_wine().data
    everything = make_introductory(60, 40, 3, 40, random_state=0)
    cases = [
        ("20 of 200 carry factors", peaked.X, 10, {}),
        ("digits", load_digits().data[:: 6 if QUICK else 1], 12, {}),
        ("heavy tails, 20 of 200", heavy.X, 10, {}),
        ("pure noise, 200 variables", noise.X, 2, {}),
        ("wine, standardised, 13", wine, 2, {"scale": True}),
        ("all 40 carry the factors", everything.X, 3, {}),
    ]
    figure, axes = plt.subplots(2, 3, figsize=(9.6, 5), layout="constrained")
    for ax, (title, X, d, options) in zip(axes.flat, cases, strict=True):
        found = []
        for name, colour in (("joint", BLUE), ("paper", ORANGE)):
            model = GSPPCA(d, method=name, **options).fit(X)
            path, size = model.evidence_path_, int(model.relevant_.sum())
            height = path.log_evidence - path.log_evidence.max()
            ax.plot(path.sizes, height / -height.min(), color=colour, label=name)
            ax.axvline(size, color=colour, ls="--", lw=1.2)
            found.append(f"{size}{'' if model.supported_ or name == 'paper' else ', not supported'}")
        ax.set(title=title, xlabel=f"variables (joint {found[0]}; paper {found[1]})", yticks=[-1, 0])
        ax.set_yticklabels(["least", "largest"])
    axes[0, 0].legend(frameon=False, loc="lower right")
    for ax in axes[:, 0]:
        ax.set_ylabel("log evidence")
    save(figure, "guide_shapes")


def scale():
    """The same data in its units, with one column in another unit, and standardised."""
    repeats = 1 if QUICK else 30
    sizes = (40, 60) if QUICK else (40, 100, 200)
    settings = {
        "as simulated": lambda X: (X, {}),
        "one noise column × 10": lambda X: (X, {}),
        "standardised: scale=True": lambda X: (X, {"scale": True}),
    }
    found = {(method, name): np.zeros((len(sizes), repeats)) for method in ("joint", "paper") for name in settings}
    for i, n in enumerate(sizes):
        for seed in range(repeats):
            data = make_noise_range(0.5, n, random_state=seed)
            for name, prepare in settings.items():
                X = data.X.copy()
                if "10" in name:
                    X[:, np.flatnonzero(~data.support)[0]] *= 10
                X, options = prepare(X)
                for method in ("joint", "paper"):
                    model = GSPPCA(10, method=method, **options).fit(X)
                    found[method, name][i, seed] = f_score(model.relevant_, data.support)
    figure, ax = plt.subplots(figsize=(6, 3.3), layout="constrained")
    styles = dict(zip(settings, ((BLUE, "-"), (GREEN, "--"), (ORANGE, ":")), strict=True))
    for (method, name), scores in found.items():
        colour, line = styles[name]
        thick = method == "joint"
        label = f"{name}{'' if thick else ', paper'}"
        ax.plot(sizes, 100 * scores.mean(axis=1), line, marker="o", color=colour, lw=2.4 if thick else 0.9, label=label)
    ax.set(xlabel="samples", ylabel="F-score × 100", title="20 of 200 variables, ten factors, SNR 0.5", ylim=(0, 103))
    ax.set_xticks(sizes)
    ax.legend(frameon=False, loc="lower right")
    save(figure, "guide_scale")


def dimension():
    """What the choice of d does: eigenvalues, and the selection at each d."""
    repeats = 1 if QUICK else 20
    truth = 5
    dimensions = [1, 5, 10] if QUICK else [1, 2, 3, 4, 5, 6, 8, 10, 15]
    scores = np.zeros((len(dimensions), repeats))
    for seed in range(repeats):
        data = make_noise_range(1.0, 60, n_components=truth, random_state=seed)
        for i, d in enumerate(dimensions):
            scores[i, seed] = f_score(GSPPCA(d).fit(data.X).relevant_, data.support)
    data = make_noise_range(1.0, 60, n_components=truth, random_state=0)
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.1), layout="constrained")
    values = PCA().fit(data.X).explained_variance_[:20]
    left.bar(np.arange(1, 21), values, color=[BLUE] * truth + [GREY] * (20 - truth))
    left.set(xlabel="component of PCA", ylabel="variance", title="Five factors stand out of the noise")
    left.set_xticks([1, 5, 10, 15, 20])
    right.plot(dimensions, 100 * scores.mean(axis=1), "o-", color=PURPLE)
    right.axvline(truth, color=GREY, ls=":")
    right.set(xlabel="d given to GSPPCA", ylabel="F-score × 100", title="Too few costs, too many little", ylim=(0, 103))
    save(figure, "guide_dimension")


the_model()
one_pattern()
ranking_and_evidence()
shapes()
scale()
dimension()

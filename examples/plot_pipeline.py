"""A classifier behind the selection: cross-validated accuracy over the number of variables."""

from functools import partial

import numpy as np
from showing import BLUE, GREEN, GREY, ORANGE, QUICK, SKY, plt, save, table
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gsppca import GSPPCASelector


def variances(X, y=None):
    """The score that VarianceThreshold thresholds; SelectKBest takes the k largest."""
    return X.var(axis=0)


def random_scores(X, y=None, seed=0):
    return np.random.default_rng(seed).random(X.shape[1])


DRAWS = 2 if QUICK else 10  # of random variables


SELECTORS = {  # name: (number of variables and of components -> selectors, colour, line)
    "GSPPCA": (lambda k, d: [GSPPCASelector(n_features_to_select=k)], BLUE, "-"),
    "GSPPCA, the paper's": (lambda k, d: [GSPPCASelector(d, method="paper", n_features_to_select=k)], SKY, "-"),
    "variance": (lambda k, d: [SelectKBest(variances, k=k)], ORANGE, "--"),
    "F test (sees the labels)": (lambda k, d: [SelectKBest(f_classif, k=k)], GREEN, ":"),
    f"at random, {DRAWS} draws": (
        lambda k, d: [SelectKBest(partial(random_scores, seed=seed), k=k) for seed in range(DRAWS)],
        GREY,
        "-.",
    ),
}


def accuracies(X, y, sizes, d, standardise_first):
    """Mean accuracy of each selector at each size. Selectors see training folds only."""
    X = X[:, np.random.default_rng(0).permutation(X.shape[1])]
    folds = StratifiedKFold(3 if QUICK else 10, shuffle=True, random_state=0)
    means = {}
    for name, (selectors, *_) in SELECTORS.items():
        means[name] = []
        for k in sizes:
            found = []
            for selector in selectors(k, d):
                first = [StandardScaler()] if standardise_first else []
                model = make_pipeline(*first, selector, StandardScaler(), LogisticRegression(C=0.1, max_iter=2000))
                found.append(cross_val_score(model, X, y, cv=folds).mean())
            means[name].append(np.mean(found))
    return means


images, numbers = load_digits(return_X_y=True)
used = (images > 0).mean(axis=0) > 0.02  # pixels of the margin are constant in some folds, which f_classif dislikes
digits = images[:, used], numbers
tumours = load_breast_cancer(return_X_y=True)
studies = {
    "digits": (*digits, [4, 8, 12, 16, 24, 32, 40, used.sum()], 12, False, f"Digits: {used.sum()} pixels, one unit"),
    "breast_cancer": (*tumours, [1, 2, 3, 5, 8, 12, 20, 30], 5, True, "Breast cancer: 30 measures, standardised"),
}

figure, axes = plt.subplots(1, 2, figsize=(9.6, 3.4), layout="constrained")
for ax, (name, (X, y, sizes, d, standardise, title)) in zip(axes, studies.items(), strict=True):
    if QUICK:
        X, y, sizes = X[::6], y[::6], sizes[2:5:2]
    means = accuracies(X, y, sizes, d, standardise)
    for method, (_, colour, line) in SELECTORS.items():
        ax.plot(sizes, means[method], line, color=colour, marker="o", ms=3.5, label=method)
    ax.set(xlabel="number of variables", ylabel="cross-validated accuracy", title=title)
    ax.legend(frameon=False, loc="lower right")
    rows = [[method, *(f"{100 * value:.1f}" for value in values)] for method, values in means.items()]
    table(f"pipeline_{name}", ["accuracy, %", *(f"{k}" for k in sizes)], rows)
save(figure, "pipeline")

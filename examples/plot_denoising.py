"""Denoising: signals that share a few wavelet coefficients, as in section 4 of the paper.

A hundred noisy signals are decomposed into wavelet coefficients. GSPPCA keeps the coefficients that vary together; new
signals are projected on its components and back. Here the states (A) and weights (B) differ between signals by 30 %:
without that, centred data have no structure, and there is nothing to select. This is an experiment of the paper, and
runs the paper's method; the default method has a row beside it.
"""

import numpy as np
from showing import BLUE, GREY, ORANGE, QUICK, plt, save, table
from sklearn.decomposition import PCA

from gsppca import GSPPCA
from gsppca.datasets import make_signals, wavelet_coefficients, wavelet_signals
from gsppca.metrics import reconstruction_error

N_TEST = 10 if QUICK else 200
D = 5


def denoise(model, train, test):
    """Signals from the projected details; the approximation stays as it is."""
    columns = np.random.default_rng(0).permutation(train.details.shape[1])
    model.fit(train.details[:, columns])
    details = np.empty_like(test.details)
    details[:, columns] = model.inverse_transform(model.transform(test.details[:, columns]))
    return wavelet_signals(test, details)


rows = []
figure, axes = plt.subplots(2, 2, figsize=(9.6, 5), layout="constrained", sharex=True)
for scenario, (left, right) in zip("AB", axes, strict=True):
    noisy = make_signals(scenario, 100, variation=0.3, random_state=0)
    new = make_signals(scenario, N_TEST, variation=0.3, random_state=1)
    train = wavelet_coefficients(noisy.noisy, noisy.wavelet)
    test = wavelet_coefficients(new.noisy, new.wavelet)
    sparse, default = GSPPCA(D, method="paper"), GSPPCA(D)
    results = {
        "noisy signal": new.noisy,
        "no details at all": wavelet_signals(test, np.zeros_like(test.details)),
        f"PCA, {D} components": denoise(PCA(D), train, test),
        f"GSPPCA, the paper's, {D} components": denoise(sparse, train, test),
        f"GSPPCA, default, {D} components": denoise(default, train, test),
    }
    coefficients = dict(zip(results, (175, 0, 175, sparse.n_selected_, default.n_selected_), strict=True))
    for name, signals in results.items():
        errors = reconstruction_error(new.clean, signals)
        rows.append([scenario, name, coefficients[name], f"{errors.mean():.2f} ± {errors.std():.2f}"])
    i = 3
    left.plot(new.time, new.noisy[i], color=GREY, lw=0.8, label="noisy")
    left.plot(new.time, new.clean[i], color="black", lw=1.2, label="true")
    left.set(title=f"Scenario {scenario}", ylabel="signal")
    left.plot(
        new.time, results[f"GSPPCA, the paper's, {D} components"][i], color=BLUE, lw=1.2, label="GSPPCA, the paper's"
    )
    right.plot(new.time, (results[f"PCA, {D} components"] - new.clean)[i], color=ORANGE, lw=0.9, label="PCA")
    right.plot(
        new.time, (results[f"GSPPCA, the paper's, {D} components"] - new.clean)[i], color=BLUE, lw=1.2, label="GSPPCA"
    )
    right.axhline(0, color=GREY, lw=0.6)
    right.set(
        title=f"Error: the paper's method keeps {sparse.n_selected_} of 175",
        ylabel="denoised − true",
    )
    for ax in (left, right):
        ax.set_ylim(top=ax.get_ylim()[1] * 1.25)
        ax.legend(frameon=False, fontsize=8, ncols=3, loc="upper right")
axes[1, 0].set_xlabel("time")
axes[1, 1].set_xlabel("time")
table("denoising", ["scenario", "method", "coefficients", "sum of squared errors of new signals"], rows)
save(figure, "denoising")

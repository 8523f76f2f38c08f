"""Which wavelengths matter? Near-infrared spectra of 60 gasolines, 401 wavelengths.

The spectra where the environment variable GSPPCA_DATA names a directory that holds them; else simulated ones, of three
substances with two bands each.
"""

import warnings

import numpy as np
from showing import BLUE, GREY, ORANGE, QUICK, plt, save, table
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline

from gsppca import GSPPCA, MostVariablesWarning
from gsppca.datasets import load_gasoline

warnings.simplefilter("ignore", MostVariablesWarning)  # its numbers are printed


def spectra():
    """Absorbances, wavelengths in nm, and an octane number, which serves to look at the result only."""
    try:
        data = load_gasoline()
    except FileNotFoundError:
        rng = np.random.default_rng(0)
        wavelengths = np.arange(900, 1701, 2.0)
        bands = np.array([[960, 1210], [1090, 1390], [1150, 1420]])
        pure = np.exp(-0.5 * ((wavelengths - bands[..., None]) / 18) ** 2).sum(axis=1)
        amounts = rng.dirichlet((8, 4, 4), 60)
        X = 0.2 + amounts @ pure + 0.01 * rng.standard_normal((60, len(wavelengths)))
        return X, wavelengths, 80 + 20 * amounts[:, 0], "simulated spectra"
    wavelengths = np.array([float(name.removesuffix(" nm")) for name in data.feature_names])
    return data.X, wavelengths, data.labels["octane"].astype(float), "gasoline"


X, wavelengths, octane, source = spectra()
columns = np.random.default_rng(0).permutation(X.shape[1])
model = GSPPCA(6).fit(X[:, columns])
chosen = np.zeros(len(wavelengths), dtype=bool)
chosen[columns[model.support_]] = True
predicted = np.empty(len(wavelengths))
predicted[columns] = model.predicted_share_
n_relevant = int(model.relevant_.sum())
print(f"{source}: {n_relevant} of {len(wavelengths)} wavelengths are relevant, {model.n_selected_} selected")
print(f"the core carries {model.core_share_:.0%} on spectra left out")

folds = KFold(5 if QUICK else 10, shuffle=True, random_state=0)


def error(*steps):
    """Root mean squared error of the predicted octane number, cross-validated."""
    squares = cross_val_score(make_pipeline(*steps), X, octane, cv=folds, scoring="neg_mean_squared_error")
    return f"{np.sqrt(-squares.mean()):.3f}"


rows = [["the mean", 0, f"{octane.std():.3f}"], ["PCA, 6 components", 401, error(PCA(6), LinearRegression())]]
for size in ("auto", 20, 40):
    sparse = GSPPCA(6, n_features_to_select=size)
    label = model.n_selected_ if size == "auto" else size
    rows.append(
        [f"GSPPCA, 6 components{', its own size' * (size == 'auto')}", label, error(sparse, LinearRegression())]
    )
for size in ("auto", 20, 40):
    sparse = GSPPCA(6, method="paper", n_features_to_select=size)
    label = sparse.fit(X).n_selected_
    name = f"GSPPCA, the paper's, 6 components{', its own size' * (size == 'auto')}"
    rows.append([name, label, error(sparse, LinearRegression())])
rows.append(["PLS, 6 components (sees the octane numbers)", 401, error(PLSRegression(6))])
table("spectra", ["predictor of octane", "wavelengths", "error, cross-validated"], rows)

figure, axes = plt.subplots(3, 1, figsize=(9.2, 5.4), layout="constrained", sharex=True, height_ratios=[1.6, 1, 1])
axes[0].plot(wavelengths, X.T, color=GREY, lw=0.4, alpha=0.6)
axes[0].set(ylabel="absorbance", title=f"{len(X)} spectra; blue: {model.n_selected_} selected wavelengths")
axes[1].plot(wavelengths, X.std(axis=0), color=GREY)
axes[1].set(ylabel="standard deviation")
axes[2].plot(wavelengths, predicted, color=ORANGE)
axes[2].set(ylabel="predicted by\nthe selected", xlabel="wavelength, nm", ylim=(0, 1.05))
for ax in axes:
    for wavelength in wavelengths[chosen]:
        ax.axvline(wavelength, color=BLUE, lw=1.2, alpha=0.7)
    ax.set_xlim(wavelengths[0], wavelengths[-1])
save(figure, "spectra")

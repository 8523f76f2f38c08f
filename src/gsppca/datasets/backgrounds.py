"""Backgrounds for digits: reconstructions of mnist-back-rand and mnist-back-image (Larochelle et al. 2007).

The original files could not be had, and their recipe is known in words only. What is chosen here:

1. A pixel is the larger of digit and background; the words say that a background is "inserted".
2. Random background: every pixel uniform on 0, ..., 255, independently.
3. Image background: 28 x 28 patches at random places of random photographs; patches of little texture are
   drawn again, as in the original: those with a standard deviation under `MIN_PATCH_SD` of 255. The
   threshold is ours, and the photographs are not the original ones.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .load_amat import N_PIXELS, SIDE

MIN_PATCH_SD = 25.0
MAX_DRAWS = 1000  # for one patch, before the photographs are called too smooth

ByteImages = NDArray[np.uint8]


def with_random_background(digits: ByteImages, rng: np.random.Generator) -> ByteImages:
    """Lay digits, (n, 784) of uint8, over uniform noise."""
    noise = rng.integers(0, 256, size=digits.shape, dtype=np.uint8)
    return np.maximum(digits, noise)


def with_image_background(
    digits: ByteImages, photographs: Sequence[ByteImages], rng: np.random.Generator
) -> ByteImages:
    """Lay digits, (n, 784) of uint8, over patches of grey photographs."""
    patches = np.array([_patch(photographs, rng) for _ in digits], dtype=np.uint8)
    return np.maximum(digits, patches.reshape(-1, N_PIXELS))


def _patch(photographs: Sequence[ByteImages], rng: np.random.Generator) -> ByteImages:
    for _ in range(MAX_DRAWS):
        photograph = photographs[int(rng.integers(len(photographs)))]
        row, column = (rng.integers(size - SIDE + 1) for size in photograph.shape)
        patch: ByteImages = photograph[row : row + SIDE, column : column + SIDE]
        if patch.std() >= MIN_PATCH_SD:
            return patch
    raise ValueError(
        f"photographs: {MAX_DRAWS} patches in a row with a standard deviation under {MIN_PATCH_SD:g} of 255; "
        "pass photographs with more texture"
    )

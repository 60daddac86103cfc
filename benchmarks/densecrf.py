"""DenseCRF (Krähenbühl and Koltun 2011, pydensecrf2) on the pixels of the same net, as a peer.

Mean field, ten iterations, DeepLab's settings: Gaussian 3 with weight 3, bilateral 4 / 67 / 3 (or
4 / 50 / 5).
"""

from __future__ import annotations

import numpy as np
import pydensecrf.densecrf as dcrf
from pydensecrf.utils import unary_from_softmax

from policrf.metrics import pair_counts, sparse_rows

SETTINGS = {"densecrf-4-67-3": (4.0, 67.0, 3.0), "densecrf-4-50-5": (4.0, 50.0, 5.0)}


def refine(image, distribution, weight, position, colour, iterations=10):
    """Labels `[H, W]` after mean field on the fully connected CRF."""
    height, width = image.shape[:2]
    model = dcrf.DenseCRF2D(width, height, len(distribution))
    model.setUnaryEnergy(unary_from_softmax(np.ascontiguousarray(distribution)))
    model.addPairwiseGaussian(sxy=3, compat=3)
    model.addPairwiseBilateral(
        sxy=position, srgb=colour, rgbim=np.ascontiguousarray(image), compat=weight
    )
    return np.asarray(model.inference(iterations)).argmax(axis=0).reshape(height, width)


def confusion(truth, labels, n_labels):
    known = truth >= 0
    matrix = pair_counts(truth[known], labels[known], (n_labels, n_labels))
    return sparse_rows(matrix).tolist()

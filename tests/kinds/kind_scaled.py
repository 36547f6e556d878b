"""Examples of models with a scaling."""

import numpy as np
from kind_cascade import iris
from kind_polynomial import polynomial
from read_fixtures import exact

from svmfast.models.scaled import ScaledModel
from svmfast.models.scaling import Scaling, TargetRange

RANGES = Scaling.from_ranges([-1, 0, 2], [3, 1, 2], 0, 1, target=TargetRange(-1, 1, 0, 5))
NAMES = ("a b", "\u00e9", ""), ("x", "y", "z")
AFFINE = Scaling(np.array([0.5, 0, -2]), np.array([2, 0, 0.25]), (-3, 2.5), *NAMES)

EXAMPLES = {
    "scaled libsvm": lambda: ScaledModel(exact("iris_c_rbf_prob"), RANGES, {"method": "compress"}),
    "scaled polynomial": lambda: ScaledModel(polynomial("wine_c_rbf_prob", 2), AFFINE),
    "scaled cascade": lambda: ScaledModel(iris(), RANGES),
}
REASON = "^the scaling clips 3 columns and does not change the model's other columns"
NOT_EXPORTED = {"scaled polynomial": REASON}

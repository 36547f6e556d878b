"""Examples of cascades."""

from kind_polynomial import polynomial
from read_fixtures import exact

from svmfast.models.cascade import CascadeModel


def iris():
    return CascadeModel(exact("iris_c_rbf_prob"), exact("iris_c_rbf_prob"), 0.25)


EXAMPLES = {
    "cascade": iris,
    "cascade order 3": lambda: CascadeModel(polynomial("iris_c_rbf_prob", 3), exact("iris_c_rbf_prob"), 0.25),
}
REASON = "^a cascade consists of two models and a rule; export its two models"
NOT_EXPORTED = dict.fromkeys([*EXAMPLES, "scaled cascade"], REASON)

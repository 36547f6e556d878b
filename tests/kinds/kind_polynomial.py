"""Examples of polynomials."""

from approximations import approximate
from read_fixtures import exact


def polynomial(name, order):
    return approximate(exact(name), order=order, provenance={"seed": "3"})[0]


EXAMPLES = {
    "polynomial": lambda: polynomial("wine_c_rbf_prob", 2),
    "polynomial order 3": lambda: polynomial("iris_c_rbf_prob", 3),
    "polynomial exact": lambda: polynomial("breast_c_poly2", 2),
}

"""Examples of LIBSVM's models."""

from read_fixtures import exact

EXAMPLES = {
    "libsvm": lambda: exact("iris_c_rbf_prob"),
    "libsvm one-class": lambda: exact("normal_one_rbf_prob"),
    "libsvm regression": lambda: exact("diabetes_eps_rbf_prob"),
    "libsvm one label": lambda: exact("single_class"),
}
NOT_EXPORTED = {"libsvm one label": "^the model has a single class; every row has its label$"}

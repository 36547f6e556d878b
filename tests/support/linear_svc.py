"""scikit-learn's LinearSVC, where the bias counts in the norm as it does in our linear models."""

from sklearn.svm import LinearSVC


def linear_svc(labels, x, y, test, weights=None, **more):
    """Fit x and y; return the decision values of `test`, in the order of a model's `labels`."""
    theirs = LinearSVC(dual=False, tol=1e-8, max_iter=100_000, **more).fit(x, y, sample_weight=weights)
    values, order = theirs.decision_function(test), theirs.classes_.tolist()
    if values.ndim == 1:
        return values[:, None] * (1 if labels[0] == order[1] else -1)
    return values[:, [order.index(label) for label in labels]]

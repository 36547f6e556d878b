"""LIBSVM's coupling of probabilities, loop by loop."""

import numpy as np


def libsvm_coupling(r):
    k = len(r)
    q, p, eps = np.zeros((k, k)), np.full(k, 1 / k), 0.005 / k
    for t in range(k):
        for j in range(k):
            if j != t:
                q[t, t] += r[j, t] * r[j, t]
                q[t, j] = -r[j, t] * r[t, j]
    for _ in range(max(100, k)):
        qp = np.array([sum(q[t, j] * p[j] for j in range(k)) for t in range(k)])
        pqp = sum(p[t] * qp[t] for t in range(k))
        if max(abs(qp[t] - pqp) for t in range(k)) < eps:
            break
        for t in range(k):
            diff = (-qp[t] + pqp) / q[t, t]
            p[t] += diff
            pqp = (pqp + diff * (diff * q[t, t] + 2 * qp[t])) / (1 + diff) / (1 + diff)
            for j in range(k):
                qp[j] = (qp[j] + diff * q[t, j]) / (1 + diff)
                p[j] /= 1 + diff
    return p

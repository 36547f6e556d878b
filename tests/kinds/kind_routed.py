"""Examples of routed models."""

import numpy as np
from routed_models import routed

from svmfast.models.head import Head

EXAMPLES = {
    "routed": lambda: routed(),
    "routed poly": lambda: routed(pseudo="poly"),
    "routed triangle": lambda: routed(pseudo="triangle"),
    "routed rule": lambda: routed(head=Head("c_svc", np.array([3, 1, 2]), one_vs_rest=True)),
}

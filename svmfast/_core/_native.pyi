"""Types of the native functions; the documentation stands with their callers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

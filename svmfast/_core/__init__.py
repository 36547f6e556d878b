"""The native core. Import what you need from ``svmfast._core``; only low layers may."""

from svmfast._core._native import *  # noqa: F403

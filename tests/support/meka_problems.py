"""Options for meka."""

from dataclasses import replace

from svmfast.methods.meka import MekaOptions


def settings(**changes):
    return replace(MekaOptions(task="svc", gamma=(0.1,), clusters=3, rank=40, overlap=0.0), **changes)

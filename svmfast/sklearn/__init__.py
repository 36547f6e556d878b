"""svmfast's models as scikit-learn estimators.

They take what scikit-learn's estimators take: arrays, sparse matrices and DataFrames, labels of any kind; and
they go through pipelines, searches, cross-validation, pickle and joblib. `model_` is the model, for
:func:`svmfast.save_model` and all other functions of svmfast. They need scikit-learn 1.6 or newer.
"""

from svmfast.sklearn.fast import FastSVC as FastSVC
from svmfast.sklearn.fast import FastSVR as FastSVR
from svmfast.sklearn.onnx import register_onnx as register_onnx
from svmfast.sklearn.trained import BudgetSVC as BudgetSVC
from svmfast.sklearn.trained import DCPredRidge as DCPredRidge
from svmfast.sklearn.trained import DCPredSVC as DCPredSVC
from svmfast.sklearn.trained import MekaRidge as MekaRidge
from svmfast.sklearn.trained import MekaSVC as MekaSVC

__all__ = [
    "BudgetSVC",
    "DCPredRidge",
    "DCPredSVC",
    "FastSVC",
    "FastSVR",
    "MekaRidge",
    "MekaSVC",
    "register_onnx",
]

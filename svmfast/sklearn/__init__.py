"""svmfast's models as scikit-learn estimators.

Like scikit-learn's own estimators they accept arrays, sparse matrices, DataFrames and labels of any type, and
work with pipelines, searches, cross-validation, pickle and joblib. The attribute `model_` is the model, which
:func:`svmfast.save_model` and all other functions of svmfast accept. scikit-learn 1.6 or newer is required.
"""

from svmfast.sklearn.fast import FastSVC, FastSVR
from svmfast.sklearn.onnx import register_onnx
from svmfast.sklearn.trained import BudgetSVC, DCPredRidge, DCPredSVC, MekaRidge, MekaSVC

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

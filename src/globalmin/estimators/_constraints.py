"""What parameters of estimators of networks with weight decay may be, in scikit-learn's terms."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

from sklearn.utils._param_validation import Interval, StrOptions

from globalmin.data import SCALINGS
from globalmin.estimators._candidates import MODELS
from globalmin.regularized.objective import HIDDEN_BIASES

SHARED_CONSTRAINTS: dict[str, list[Any]] = {
    "interactions": [StrOptions({"none", "pairs", "auto"}), list, tuple],
    "loss_parameter": [None, Interval(Real, 0, None, closed="neither")],
    "weight_decay": [StrOptions({"cv"}), Interval(Real, 0, None, closed="neither")],
    "gap": [Interval(Real, 0, 1, closed="neither")],
    "hidden_bias": [StrOptions(set(HIDDEN_BIASES) - {"none"})],
    "scaling": [StrOptions({"standardize", "none"})],
    "monotone": [None, dict, "array-like"],
    "shapes": [None, dict, "array-like"],
    "bins": [None, Interval(Integral, 2, None, closed="left")],
    "cv": ["cv_object"],
    "n_decays": [Interval(Integral, 1, None, closed="left")],
    "ratio": [Interval(Real, 0, 1, closed="neither")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "certify": ["boolean"],
    "random_state": ["random_state"],
}

SQUARES_CONSTRAINTS: dict[str, list[Any]] = {
    "weight_decay": [StrOptions({"cv"}), Interval(Real, 0, None, closed="neither")],
    "signs": [StrOptions({"mixed", "positive"})],
    "bias_scale": [Interval(Real, 0, None, closed="neither")],
    "scaling": [StrOptions({"standardize", "none"})],
    "gap": [Interval(Real, 0, 1, closed="neither")],
    "cv": ["cv_object"],
    "n_decays": [Interval(Integral, 1, None, closed="left")],
    "ratio": [Interval(Real, 0, 1, closed="neither")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "certify": ["boolean"],
    "random_state": ["random_state"],
}

RELU_CONSTRAINTS: dict[str, list[Any]] = {
    "weight_decay": [StrOptions({"cv"}), Interval(Real, 0, None, closed="neither")],
    "hidden_bias": [StrOptions(set(HIDDEN_BIASES))],
    "intercept": [StrOptions({"free", "none"}), Interval(Real, 0, None, closed="neither")],
    "linear": [StrOptions({"free", "none"}), Interval(Real, 0, None, closed="neither")],
    "scaling": [StrOptions(set(SCALINGS))],
    "gap": [Interval(Real, 0, None, closed="left")],
    "starts": [Interval(Integral, 1, None, closed="left")],
    "max_seconds": [Interval(Real, 0, None, closed="neither")],
    "max_cones": [Interval(Integral, 0, None, closed="left")],
    "cv": ["cv_object"],
    "certify": ["boolean"],
    "random_state": ["random_state"],
}

CHOICE_CONSTRAINTS: dict[str, list[Any]] = {
    "models": [StrOptions({"auto", *MODELS}), list, tuple],
    "weight_decay": [StrOptions({"cv"}), Interval(Real, 0, None, closed="neither")],
    "interactions": [StrOptions({"none", "auto", "pairs"}), list, tuple],
    "bins": [None, Interval(Integral, 2, None, closed="left")],
    "shapes": [None, dict, "array-like"],
    "scaling": [StrOptions({"standardize", "none"})],
    "gap": [None, Interval(Real, 0, 1, closed="neither")],
    "cv": [Interval(Integral, 2, None, closed="left"), "cv_object"],
    "certify": ["boolean"],
    "random_state": ["random_state"],
}

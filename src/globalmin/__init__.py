"""globalmin: train shallow neural networks to the global minimum, and prove it.

>>> import globalmin as gm
>>> data = gm.generators.sphere_with_random_labels(20, 6, seed=0)
>>> net = gm.ShallowNetwork.initialize(data, width=8, activation="softplus", seed=0)
>>> run = gm.train(net, data, method="levenberg_marquardt")
>>> cert = gm.certify(run.network, data)

Every public name is imported on first use, so that `import globalmin` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "Activation": "globalmin.activations",
    "get_activation": "globalmin.activations",
    "register_activation": "globalmin.activations",
    "Dataset": "globalmin.data",
    "ShallowNetwork": "globalmin.networks",
    "DeepNetwork": "globalmin.networks.deep",
    "OneFilterNetwork": "globalmin.networks.one_filter",
    "FilterTeacher": "globalmin.theory.one_filter",
    "HomogeneousNetwork": "globalmin.networks.homogeneous",
    "balancedness_of": "globalmin.training.balancedness",
    "gradient_flow": "globalmin.training.gradient_flow",
    "watch_pytree": "globalmin.training.balancedness",
    "watch_torch": "globalmin.training.balancedness",
    "Factors": "globalmin.networks.factorization",
    "factorize": "globalmin.training.factorization",
    "load_network": "globalmin.networks.storage",
    "load_deep_network": "globalmin.networks.deep_storage",
    "save_deep_network": "globalmin.networks.deep_storage",
    "save_network": "globalmin.networks.storage",
    "recover_teacher": "globalmin.estimators.recovery",
    "plot_recovery": "globalmin.report.recovery_figures",
    "perturbed_gradient_descent": "globalmin.training.perturbed",
    "estimate_second_order": "globalmin.training.second_order",
    "train": "globalmin.training",
    "train_auto": "globalmin.training",
    "train_deep": "globalmin.training",
    "certify": "globalmin.certificates",
    "certify_factorization": "globalmin.certificates",
    "certify_filter": "globalmin.certificates",
    "certify_gram": "globalmin.certificates",
    "check": "globalmin.certificates",
    "classify_point": "globalmin.landscape",
    "inspect": "globalmin.inspection",
    "reproduce": "globalmin.reproductions",
    "ConvolutionalFilterRegressor": "globalmin.estimators",
    "QuadraticNetworkRegressor": "globalmin.estimators",
    "QuadraticNetworkRegressorCV": "globalmin.estimators",
    "ShallowNetworkRegressor": "globalmin.estimators",
    "ShallowNetworkClassifier": "globalmin.estimators",
}
_ROOMS = {
    "generators": "globalmin.data.generators",
    "errors": "globalmin.errors",
    "references": "globalmin.references",
    "landscape": "globalmin.landscape",
    "sweep": "globalmin.sweep",
    "theory": "globalmin.theory",
}

__all__ = [*_HOMES, *_ROOMS, "__version__"]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    elif name in _ROOMS:
        value = import_module(_ROOMS[name])
    else:
        raise AttributeError(f"module 'globalmin' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


if TYPE_CHECKING:
    from globalmin import errors as errors
    from globalmin import landscape as landscape
    from globalmin import references as references
    from globalmin import sweep as sweep
    from globalmin import theory as theory
    from globalmin.activations import Activation as Activation
    from globalmin.activations import get_activation as get_activation
    from globalmin.activations import register_activation as register_activation
    from globalmin.certificates import certify as certify
    from globalmin.certificates import certify_factorization as certify_factorization
    from globalmin.certificates import certify_filter as certify_filter
    from globalmin.certificates import certify_gram as certify_gram
    from globalmin.certificates import check as check
    from globalmin.data import Dataset as Dataset
    from globalmin.data import generators as generators
    from globalmin.estimators import ConvolutionalFilterRegressor as ConvolutionalFilterRegressor
    from globalmin.estimators import QuadraticNetworkRegressor as QuadraticNetworkRegressor
    from globalmin.estimators import QuadraticNetworkRegressorCV as QuadraticNetworkRegressorCV
    from globalmin.estimators import ShallowNetworkClassifier as ShallowNetworkClassifier
    from globalmin.estimators import ShallowNetworkRegressor as ShallowNetworkRegressor
    from globalmin.estimators.recovery import recover_teacher as recover_teacher
    from globalmin.inspection import inspect as inspect
    from globalmin.landscape import classify_point as classify_point
    from globalmin.networks import ShallowNetwork as ShallowNetwork
    from globalmin.networks.deep import DeepNetwork as DeepNetwork
    from globalmin.networks.deep_storage import load_deep_network as load_deep_network
    from globalmin.networks.deep_storage import save_deep_network as save_deep_network
    from globalmin.networks.factorization import Factors as Factors
    from globalmin.networks.homogeneous import HomogeneousNetwork as HomogeneousNetwork
    from globalmin.networks.one_filter import OneFilterNetwork as OneFilterNetwork
    from globalmin.networks.storage import load_network as load_network
    from globalmin.networks.storage import save_network as save_network
    from globalmin.report.recovery_figures import plot_recovery as plot_recovery
    from globalmin.reproductions import reproduce as reproduce
    from globalmin.theory.one_filter import FilterTeacher as FilterTeacher
    from globalmin.training import train as train
    from globalmin.training import train_auto as train_auto
    from globalmin.training import train_deep as train_deep
    from globalmin.training.balancedness import balancedness_of as balancedness_of
    from globalmin.training.balancedness import watch_pytree as watch_pytree
    from globalmin.training.balancedness import watch_torch as watch_torch
    from globalmin.training.factorization import factorize as factorize
    from globalmin.training.gradient_flow import gradient_flow as gradient_flow
    from globalmin.training.perturbed import perturbed_gradient_descent as perturbed_gradient_descent
    from globalmin.training.second_order import estimate_second_order as estimate_second_order

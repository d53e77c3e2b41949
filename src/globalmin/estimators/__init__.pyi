"""The names of `gm.estimators` and their homes: the one table, read by type checkers and by
`_exports`.
"""

from globalmin.estimators.additive import AdditiveNetworkRegressor as AdditiveNetworkRegressor
from globalmin.estimators.additive_classifier import (
    AdditiveNetworkClassifier as AdditiveNetworkClassifier,
)
from globalmin.estimators.convolutional_filter import (
    ConvolutionalFilterRegressor as ConvolutionalFilterRegressor,
)
from globalmin.estimators.deep import DeepNetworkClassifier as DeepNetworkClassifier
from globalmin.estimators.deep import DeepNetworkRegressor as DeepNetworkRegressor
from globalmin.estimators.patch_network import PatchNetworkRegressor as PatchNetworkRegressor
from globalmin.estimators.proved import ProvedNetworkClassifier as ProvedNetworkClassifier
from globalmin.estimators.proved import ProvedNetworkRegressor as ProvedNetworkRegressor
from globalmin.estimators.proved import choose_model as choose_model
from globalmin.estimators.quadratic import QuadraticNetworkRegressor as QuadraticNetworkRegressor
from globalmin.estimators.quadratic_cv import (
    QuadraticNetworkRegressorCV as QuadraticNetworkRegressorCV,
)
from globalmin.estimators.quadratic_losses import (
    QuadraticNetworkClassifier as QuadraticNetworkClassifier,
)
from globalmin.estimators.quadratic_losses import SquaresNetworkRegressor as SquaresNetworkRegressor
from globalmin.estimators.relu_network import ReluNetworkClassifier as ReluNetworkClassifier
from globalmin.estimators.relu_network import ReluNetworkRegressor as ReluNetworkRegressor
from globalmin.estimators.shallow import ShallowNetworkClassifier as ShallowNetworkClassifier
from globalmin.estimators.shallow import ShallowNetworkRegressor as ShallowNetworkRegressor

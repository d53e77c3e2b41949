"""The public names of globalmin and their homes: the one table, read by type checkers and by
`_exports`.
"""

from globalmin import errors as errors
from globalmin import landscape as landscape
from globalmin import references as references
from globalmin import sweep as sweep
from globalmin import theory as theory
from globalmin.activations import Activation as Activation
from globalmin.activations import get_activation as get_activation
from globalmin.activations import register_activation as register_activation
from globalmin.balancedness.network import HomogeneousNetwork as HomogeneousNetwork
from globalmin.balancedness.watch import balancedness_of as balancedness_of
from globalmin.balancedness.watch import watch_pytree as watch_pytree
from globalmin.balancedness.watch import watch_torch as watch_torch
from globalmin.data import Dataset as Dataset
from globalmin.data import generators as generators
from globalmin.deep.claims.limit import certify_deep_gram as certify_deep_gram
from globalmin.deep.network import DeepNetwork as DeepNetwork
from globalmin.deep.storage import load_deep_network as load_deep_network
from globalmin.deep.storage import save_deep_network as save_deep_network
from globalmin.deep.train import train_deep as train_deep
from globalmin.errors import CannotCertify as CannotCertify
from globalmin.errors import DataError as DataError
from globalmin.errors import DegenerateDataWarning as DegenerateDataWarning
from globalmin.errors import GlobalMinError as GlobalMinError
from globalmin.errors import HypothesisError as HypothesisError
from globalmin.errors import MemoryRefused as MemoryRefused
from globalmin.errors import NotConverged as NotConverged
from globalmin.estimators import ConvolutionalFilterRegressor as ConvolutionalFilterRegressor
from globalmin.estimators import QuadraticNetworkRegressor as QuadraticNetworkRegressor
from globalmin.estimators import QuadraticNetworkRegressorCV as QuadraticNetworkRegressorCV
from globalmin.estimators import ShallowNetworkClassifier as ShallowNetworkClassifier
from globalmin.estimators import ShallowNetworkRegressor as ShallowNetworkRegressor
from globalmin.factorization.claims import certify_factorization as certify_factorization
from globalmin.factorization.factors import Factors as Factors
from globalmin.factorization.train import factorize as factorize
from globalmin.inspection import inspect as inspect
from globalmin.kernels.claims.gram_positive import certify_gram as certify_gram
from globalmin.kernels.explain_jacobian import JacobianExplained as JacobianExplained
from globalmin.kernels.explain_jacobian import explain_jacobian as explain_jacobian
from globalmin.kernels.sgd_decay import sgd_decay as sgd_decay
from globalmin.landscape.classify import classify_point as classify_point
from globalmin.one_filter.claims import certify_filter as certify_filter
from globalmin.one_filter.network import FilterTeacher as FilterTeacher
from globalmin.one_filter.network import OneFilterNetwork as OneFilterNetwork
from globalmin.optimize.gradient_flow import gradient_flow as gradient_flow
from globalmin.optimize.minimization import estimate_second_order as estimate_second_order
from globalmin.optimize.perturbed import perturbed_gradient_descent as perturbed_gradient_descent
from globalmin.proving.producer import certify as certify
from globalmin.proving.producer import check as check
from globalmin.proving.producer import prove as prove
from globalmin.quadratic.teacher import QuadraticTeacher as QuadraticTeacher
from globalmin.recovery.figures import plot_recovery as plot_recovery
from globalmin.recovery.planning import plan_recovery as plan_recovery
from globalmin.recovery.recover_teacher import recover_teacher as recover_teacher
from globalmin.reproductions import reproduce as reproduce
from globalmin.shallow.network import ShallowNetwork as ShallowNetwork
from globalmin.shallow.sgd_guarantee import sgd_guarantee as sgd_guarantee
from globalmin.shallow.storage import load_network as load_network
from globalmin.shallow.storage import save_network as save_network
from globalmin.shallow.train import train as train
from globalmin.shallow.train import train_auto as train_auto
from globalmin.theorems.door import Theorem as Theorem
from globalmin.theorems.door import theorem as theorem

__version__: str

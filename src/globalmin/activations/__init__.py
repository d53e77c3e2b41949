"""Activation functions: values, derivatives, suprema and Gaussian moments."""

from globalmin.activations.activation import Activation as Activation
from globalmin.activations.registry import activation_names as activation_names
from globalmin.activations.registry import get_activation as get_activation
from globalmin.activations.registry import register_activation as register_activation

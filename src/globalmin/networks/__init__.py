"""Networks as values: frozen parameters and pure forward passes."""

from globalmin.networks.shallow import ShallowNetwork as ShallowNetwork

"""The names of `gm.interop` and their homes: the one table, read by type checkers and by
`_exports`.
"""

from globalmin.interop.agreement import Agreement as Agreement
from globalmin.interop.export import to_onnx as to_onnx
from globalmin.interop.export import to_sklearn as to_sklearn
from globalmin.interop.export import to_torch as to_torch
from globalmin.interop.families import Posed as Posed
from globalmin.interop.findings import Finding as Finding
from globalmin.interop.findings import UnsupportedModel as UnsupportedModel
from globalmin.interop.flax_modules import from_flax as from_flax
from globalmin.interop.foreign import from_file as from_file
from globalmin.interop.keras_models import from_keras as from_keras
from globalmin.interop.mlflow_runs import log_to_mlflow as log_to_mlflow
from globalmin.interop.mlflow_runs import mlflow_monitor as mlflow_monitor
from globalmin.interop.network import ImportedNetwork as ImportedNetwork
from globalmin.interop.network import InputScaling as InputScaling
from globalmin.interop.network import Layer as Layer
from globalmin.interop.network import TrainedFor as TrainedFor
from globalmin.interop.onnx_graphs import from_onnx as from_onnx
from globalmin.interop.onnx_models import onnx_inputs as onnx_inputs
from globalmin.interop.sklearn_models import from_sklearn as from_sklearn
from globalmin.interop.torch_modules import from_torch as from_torch

"""The names of the room and their homes."""

from globalmin.interop.mlflow_runs import log_to_mlflow as log_to_mlflow
from globalmin.interop.mlflow_runs import mlflow_monitor as mlflow_monitor

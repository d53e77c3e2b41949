"""What the theorems say of one instance before training, and predictions set against a real run."""

from globalmin.facts.finding import Finding as Finding
from globalmin.facts.finding import Hypothesis as Hypothesis
from globalmin.facts.finding import TheoremReport as TheoremReport
from globalmin.inspection.inspection import Inspection as Inspection
from globalmin.inspection.inspection import Quantity as Quantity
from globalmin.inspection.inspection import inspect as inspect
from globalmin.inspection.prediction import RunComparison as RunComparison
from globalmin.inspection.prediction import compare_trajectory as compare_trajectory
from globalmin.inspection.prediction import predict_losses as predict_losses
from globalmin.inspection.prediction import predict_run as predict_run

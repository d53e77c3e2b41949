"""Training: gradient descent, SGD, Levenberg-Marquardt, L-BFGS, the homotopy for kinks, and the choice among them."""

from globalmin.training.auto import train as train
from globalmin.training.auto import train_auto as train_auto
from globalmin.training.deep import train_deep as train_deep
from globalmin.training.memory import estimate_memory as estimate_memory
from globalmin.training.methods import METHODS as METHODS
from globalmin.training.trajectory import Run as Run
from globalmin.training.trajectory import Status as Status
from globalmin.training.trajectory import Trajectory as Trajectory
from globalmin.training.watch import Step as Step

"""Convex losses of one row: value, derivative, curvature, conjugate with its domain, and the labels
they accept.
"""

from globalmin.losses.loss import Loss as Loss
from globalmin.losses.table import LOSSES as LOSSES
from globalmin.losses.table import get_loss as get_loss

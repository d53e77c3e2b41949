"""The names of `gm.landscape` and their homes: the one table, read by type checkers and by
`_exports`.
"""

from globalmin.landscape.classify import classify_point as classify_point
from globalmin.linalg.spectrum import Inertia as Inertia
from globalmin.linalg.spectrum import inertia as inertia
from globalmin.octopus.constants import MovedOctopus as MovedOctopus
from globalmin.octopus.constants import OctopusSmoothness as OctopusSmoothness
from globalmin.octopus.constants import octopus_smoothness_upper as octopus_smoothness_upper
from globalmin.octopus.escape import escape_ratio as escape_ratio
from globalmin.octopus.escape import escape_times_lower as escape_times_lower
from globalmin.octopus.escape import estimate_escape_times as estimate_escape_times
from globalmin.octopus.escape import octopus_escape_times as octopus_escape_times
from globalmin.octopus.extension import ExtendedOctopus as ExtendedOctopus
from globalmin.octopus.function import Octopus as Octopus
from globalmin.octopus.runs import OctopusRun as OctopusRun
from globalmin.octopus.runs import follow_octopus as follow_octopus
from globalmin.one_filter.landscape import classify_filter_point as classify_filter_point
from globalmin.quadratic.ambiguity import Disagreement as Disagreement
from globalmin.quadratic.ambiguity import bad_interpolant as bad_interpolant
from globalmin.quadratic.ambiguity import disagreeing_networks as disagreeing_networks
from globalmin.quadratic.census import StationaryPoint as StationaryPoint
from globalmin.quadratic.census import classify_stationary as classify_stationary
from globalmin.quadratic.census import population_escape as population_escape
from globalmin.quadratic.census import stationary_census as stationary_census
from globalmin.quadratic.census import stationary_weights as stationary_weights
from globalmin.quadratic.claims.below_barrier import (
    population_certificate as population_certificate,
)
from globalmin.quadratic.identifiability import SampleCount as SampleCount
from globalmin.quadratic.identifiability import samples_determine as samples_determine
from globalmin.quadratic.many_starts import Descents as Descents
from globalmin.quadratic.many_starts import QuadraticLoss as QuadraticLoss
from globalmin.quadratic.many_starts import descend as descend
from globalmin.quadratic.many_starts import random_starts as random_starts
from globalmin.quadratic.runs import population_samples as population_samples
from globalmin.shallow.hessian import curvature_along as curvature_along
from globalmin.shallow.hessian import gradient as gradient
from globalmin.shallow.hessian import hessian as hessian
from globalmin.shallow.hessian import hessian_times as hessian_times
from globalmin.shallow.stationary import Escape as Escape
from globalmin.shallow.stationary import PointClass as PointClass
from globalmin.shallow.stationary import PointKind as PointKind
from globalmin.shallow.stationary import hessian_escape as hessian_escape
from globalmin.shallow.stationary import nearest_stationary as nearest_stationary
from globalmin.shallow.stationary import quadratic_escape as quadratic_escape

"""The landscape around a network: gradient, Hessian, its inertia, escape directions, the census of stationary points, descents
from many starts, what a point is, and functions built to be hard (the octopus).
"""

from globalmin.landscape.census import StationaryPoint as StationaryPoint
from globalmin.landscape.census import classify_stationary as classify_stationary
from globalmin.landscape.census import stationary_census as stationary_census
from globalmin.landscape.census import stationary_weights as stationary_weights
from globalmin.landscape.classify import classify_point as classify_point
from globalmin.landscape.escape import Escape as Escape
from globalmin.landscape.escape import hessian_escape as hessian_escape
from globalmin.landscape.escape import population_escape as population_escape
from globalmin.landscape.escape import quadratic_escape as quadratic_escape
from globalmin.landscape.filter_point import classify_filter_point as classify_filter_point
from globalmin.landscape.hessian import curvature_along as curvature_along
from globalmin.landscape.hessian import gradient as gradient
from globalmin.landscape.hessian import hessian as hessian
from globalmin.landscape.hessian import hessian_times as hessian_times
from globalmin.landscape.inertia import Inertia as Inertia
from globalmin.landscape.inertia import inertia as inertia
from globalmin.landscape.octopus import Octopus as Octopus
from globalmin.landscape.octopus_constants import OctopusSmoothness as OctopusSmoothness
from globalmin.landscape.octopus_constants import octopus_smoothness_upper as octopus_smoothness_upper
from globalmin.landscape.octopus_escape import octopus_escape_times as octopus_escape_times
from globalmin.landscape.octopus_law import escape_ratio as escape_ratio
from globalmin.landscape.octopus_law import escape_times_lower as escape_times_lower
from globalmin.landscape.octopus_law import estimate_escape_times as estimate_escape_times
from globalmin.landscape.octopus_scaling import MovedOctopus as MovedOctopus
from globalmin.landscape.point import PointClass as PointClass
from globalmin.landscape.point import PointKind as PointKind
from globalmin.landscape.random_starts import Descents as Descents
from globalmin.landscape.random_starts import QuadraticLoss as QuadraticLoss
from globalmin.landscape.random_starts import descend as descend
from globalmin.landscape.random_starts import random_starts as random_starts
from globalmin.landscape.stationary import nearest_stationary as nearest_stationary
from globalmin.theory.quadratic_ambiguity import bad_interpolant as bad_interpolant
from globalmin.theory.quadratic_design import population_samples as population_samples
from globalmin.theory.quadratic_disagreement import Disagreement as Disagreement
from globalmin.theory.quadratic_disagreement import disagreeing_networks as disagreeing_networks
from globalmin.theory.quadratic_identifiability import SampleCount as SampleCount
from globalmin.theory.quadratic_identifiability import samples_determine as samples_determine

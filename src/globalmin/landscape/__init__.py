"""The landscape around a network: gradient, Hessian, its inertia, escape directions, the census of stationary points, and what a
point is.
"""

from globalmin.landscape.census import stationary_census as stationary_census
from globalmin.landscape.classify import PointClass as PointClass
from globalmin.landscape.classify import PointKind as PointKind
from globalmin.landscape.classify import classify_point as classify_point
from globalmin.landscape.hessian import gradient as gradient
from globalmin.landscape.hessian import hessian as hessian
from globalmin.landscape.hessian import hessian_times as hessian_times
from globalmin.landscape.inertia import inertia as inertia

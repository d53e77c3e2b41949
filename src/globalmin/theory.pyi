"""The names of `gm.theory` and their homes: the one table, read by type checkers and by
`_exports`.
"""

from globalmin.deep.constants import rate_check as rate_check
from globalmin.deep.gram import deep_gram as deep_gram
from globalmin.deep.gram import deep_ntk as deep_ntk
from globalmin.deep.lipschitz import deep_jacobian_lipschitz as deep_jacobian_lipschitz
from globalmin.deep.lipschitz import estimate_deep_descent as estimate_deep_descent
from globalmin.deep.sufficient_width import deep_width as deep_width
from globalmin.factorization.landscape import schedule_report as schedule_report
from globalmin.factorization.rank_one import rank_one_run as rank_one_run
from globalmin.kernels.gram_bounds import lambda_lower_bounds as lambda_lower_bounds
from globalmin.kernels.khatri_rao import kappa as kappa
from globalmin.kernels.khatri_rao import khatri_rao as khatri_rao
from globalmin.kernels.khatri_rao import khatri_rao_gram as khatri_rao_gram
from globalmin.kernels.khatri_rao import khatri_rao_sigma_min as khatri_rao_sigma_min
from globalmin.kernels.khatri_rao import parallel_pairs as parallel_pairs
from globalmin.kernels.khatri_rao import separation as separation
from globalmin.kernels.limit_gram import gram_error as gram_error
from globalmin.kernels.limit_gram import limit_gram as limit_gram
from globalmin.kernels.streamed_gram import streamed_lambda_min as streamed_lambda_min
from globalmin.kernels.tail_bound import prove_lambda_lower as prove_lambda_lower
from globalmin.linalg.spectrum import estimate_lambda_min as estimate_lambda_min
from globalmin.one_filter.basin import basin_estimate as basin_estimate
from globalmin.one_filter.basin import global_basin_probability as global_basin_probability
from globalmin.one_filter.landscape import filter_landscape as filter_landscape
from globalmin.one_filter.landscape import trap_test as trap_test
from globalmin.quadratic.ambiguity import disagreeing_networks as disagreeing_networks
from globalmin.quadratic.identifiability import samples_determine as samples_determine
from globalmin.shallow.finite_gram import finite_gram as finite_gram
from globalmin.shallow.finite_gram import measure_deviation as measure_deviation
from globalmin.shallow.finite_gram import normalized_finite_gram as normalized_finite_gram

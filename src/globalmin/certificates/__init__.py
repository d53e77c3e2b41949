"""Claims about a trained network with the witnesses that let an independent program verify them."""

from globalmin.certificates.certificate import Certificate as Certificate
from globalmin.certificates.checking import check as check
from globalmin.certificates.claim import Claim as Claim
from globalmin.certificates.factorization_gap import FactorizationCertificate as FactorizationCertificate
from globalmin.certificates.factorization_gap import certify_factorization as certify_factorization
from globalmin.certificates.filter_trap import FilterCertificate as FilterCertificate
from globalmin.certificates.filter_trap import certify_filter as certify_filter
from globalmin.certificates.gram_positive import InfiniteResidual as InfiniteResidual
from globalmin.certificates.gram_positive import certify_gram as certify_gram
from globalmin.certificates.producer import certify as certify

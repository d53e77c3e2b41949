"""The slow checker with the claims of sections 5.5 to 5.10 in its registries; importing this module registers them."""

from __future__ import annotations

from tests.oracles import claim_grammar, fraction_checker
from tests.oracles.claim_grammar import MalformedError, NoDataError, OtherDataError
from tests.oracles.fraction_checker import Outcome
from tests.oracles.fraction_quadratic_claims import (
    ambiguous_checks,
    barrier_checks,
    gap_checks,
    identifies_checks,
    read_rows,
)
from tests.oracles.fraction_second_order_claims import saddle_checks, second_order_checks
from tests.oracles.quadratic_grammar import GRAMMARS
from tests.oracles.strict_container import read

claim_grammar.CLAIMS.update(GRAMMARS)
fraction_checker.CHECKS.update(
    {
        "optimality-gap": gap_checks,
        "identifies": identifies_checks,
        "ambiguous": ambiguous_checks,
        "below-barrier": barrier_checks,
        "strict-saddle": saddle_checks,
        "second-order-stationary": second_order_checks,
    }
)


def _fault_of_form(raw: bytes, data: bytes | None) -> str:
    """Why the file is malformed, as far as reading its claims goes; empty if it is not."""
    try:
        certificate = read(raw, data)
        for claim in certificate.claims:
            read_rows(certificate, claim)
    except MalformedError as error:
        return str(error)
    except (OtherDataError, NoDataError):
        return ""
    return ""


def check_bytes(raw: bytes, data: bytes | None = None) -> Outcome:
    """Does the witness in this file prove its claims?"""
    fault = _fault_of_form(raw, data)
    return Outcome("MALFORMED", fault) if fault else fraction_checker.check_bytes(raw, data)


def oracle_truth(raw: bytes, data: bytes | None = None) -> bool | None:
    """Do the claims' inequalities hold for the exact quantities, whatever the witness?"""
    return None if _fault_of_form(raw, data) else fraction_checker.oracle_truth(raw, data)

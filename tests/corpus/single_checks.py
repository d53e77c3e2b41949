"""Every single check of the slow checker on one file, going on after a failure: which checks are
met, and which of them fail.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.oracles import fraction_additive_stream as additive
from tests.oracles import fraction_deep_claims as deep
from tests.oracles import fraction_factorization_claims as factorization
from tests.oracles import fraction_filter_claims as one_filter
from tests.oracles import fraction_patch_claims as patches
from tests.oracles import fraction_regularized as regularized
from tests.oracles import fraction_stream_claims as stream
from tests.oracles.claim_grammar import OtherDataError
from tests.oracles.fraction_checker import CHECKS
from tests.oracles.fraction_claims import Check, Witnessed
from tests.oracles.fraction_network import Network
from tests.oracles.strict_container import network_kind, read

BITS, FEWER = 512, 192
Walk = tuple[str, Iterator[Check]]


def _shallow(raw: bytes, data: bytes | None) -> Iterator[Walk]:
    certificate = read(raw, data)
    if not certificate.has_the_digest:
        raise OtherDataError("data digest does not match")
    for claim in certificate.claims:
        bits = FEWER if claim.kind == "gram-positive" else BITS  # its integrals take seconds
        yield claim.kind, CHECKS[claim.kind](Network(certificate, bits), claim, Witnessed())


def _walks(raw: bytes, data: bytes | None) -> Iterator[Walk]:
    kind = network_kind(raw)
    if kind == "deep":
        file = deep.read_deep(raw, data)
        yield from (
            (claim.kind, deep.CHECKS[claim.kind](file, claim, Witnessed(), FEWER))
            for claim in file.claims
        )
    elif kind == "filter":
        start = one_filter.read_filter(raw)
        yield from (
            (kind, one_filter.filter_checks(start, kind, fields, FEWER))
            for kind, fields in start.claims
        )
    elif kind == "factorization":
        product = factorization.read_factorization(raw)
        yield from (
            ("factorization-gap", factorization.gap_checks(product, claim))
            for claim in product.claims
        )
    elif kind == "regularized":
        yield from regularized.walks(raw, FEWER)
    elif kind == "stream":
        file = stream.read_stream(raw)
        yield from (("stream-gap", stream.stream_checks(file, claim)) for claim in file.claims)
    elif kind == "additive-stream":
        parts = additive.read_additive(raw)
        yield from (
            ("additive-stream-gap", additive.additive_checks(parts, claim))
            for claim in parts.claims
        )
    elif kind == "patches":
        cut = patches.read_patches(raw, data)
        yield from (
            ("patch-interpolation", patches.patch_checks(cut, claim)) for claim in cut.claims
        )
    else:
        yield from _shallow(raw, data)


def failing_checks(raw: bytes, data: bytes | None) -> tuple[set[str], set[str]]:
    """(all checks met, those that fail), as long as the formulas make sense."""
    met: set[str] = set()
    failed: set[str] = set()
    try:
        for kind, checks in _walks(raw, data):
            try:
                for name, outcome in checks:
                    word = (
                        f"{kind}: "
                        f"{name.split()[0] if name.startswith(('group', 'dropped')) else name}"
                    )
                    met.add(word)
                    failed |= {word} if outcome is False else set()
            except (ArithmeticError, ValueError):
                continue
    except OtherDataError:
        return {"data digest"}, {"data digest"}
    return met, failed

# Two commands set everything up on a fresh machine: `git clone ...` and `make demo`.
PY := .venv/bin/python
export OPENBLAS_NUM_THREADS ?= 2

QUICK := tests/house tests/activations tests/data tests/linalg tests/landscape tests/octopus

.PHONY: help setup torch demo test quick lint types campaign mutants proofs bench bench-quick bench-regressions bench-peers docs lock clean

help:  ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 20

setup:  ## environment in .venv, from hashed constraints
	@scripts/setup.sh

torch:  ## torch's CPU build, which only tests, benchmarks and examples use
	@scripts/torch.sh

demo: setup torch  ## fit, prove, check and report on the diabetes table; examine a network of torch's
	@scripts/demo.sh

test: setup torch lint  ## lint, types, import contracts, then all tests
	SCIPY_ARRAY_API=1 OPENBLAS_NUM_THREADS=1 $(PY) -m pytest -q -n 2 --dist loadgroup

quick: setup lint  ## lint, types, units of the core rooms; leaves out families, checker, docs, cli, sweeps, campaigns
	SCIPY_ARRAY_API=1 OPENBLAS_NUM_THREADS=1 $(PY) -m pytest -q -n 2 $(QUICK)

lint: setup  ## ruff, pyright, import-linter
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/lint-imports --no-cache
	.venv/bin/pyright

campaign: setup torch  ## the reliability figures in full (hours; goes on where it was); writes docs/reliability.md
	$(PY) -m scripts.campaign run
	$(PY) -m scripts.campaign publish

mutants: setup torch  ## the mutation gate over the formulas, GATE=checker: over the checker (hours); writes docs/mutation.md
	SCIPY_ARRAY_API=1 OPENBLAS_NUM_THREADS=1 $(PY) -m scripts.mutants record --gate $(or $(GATE),formulas)
	SCIPY_ARRAY_API=1 OPENBLAS_NUM_THREADS=1 $(PY) -m scripts.mutants run --gate $(or $(GATE),formulas)
	$(PY) -m scripts.mutants table --gate $(or $(GATE),formulas)

proofs: setup  ## compile the theorems of proofs/ in Coq, check them again with coqchk, print their axioms; writes docs/proofs.md
	@scripts/debian.sh
	$(PY) scripts/proofs.py

bench: setup  ## us and the peers in turns, ratios with their spread into docs/benchmarks.md (half an hour)
	@export PYTHONPATH=src:.; $$(scripts/peers.sh) -m bench

bench-quick: setup  ## the same in five minutes, small sizes, into out/bench-quick.json
	@export PYTHONPATH=src:.; $$(scripts/peers.sh) -m bench --quick

bench-regressions: setup  ## the quick run against the stored ratios; fails if one is worse by more than 15 %
	@export PYTHONPATH=src:.; $$(scripts/peers.sh) -m bench --quick --against bench/results.json

bench-peers: setup  ## networks with weight decay beside torch, pyscnn, EBM, pyGAM, scikit-learn (hours; goes on where it was)
	@export PYTHONPATH=src:. OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1; python=$$(scripts/peers.sh) && \
	$$python -m bench.regularized_peers objective && $$python -m bench.regularized_peers scores --budget $(or $(BUDGET),inf) && \
	$$python -m bench.regularized_peers report

docs: setup  ## the site in site/
	$(PY) scripts/build_docs.py

lock: setup  ## resolve constraints.txt anew
	scripts/lock.sh

clean:  ## remove what the targets made
	rm -rf out site dist build

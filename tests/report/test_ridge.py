"""The ridge regression beside a network is that of scikit-learn, without its import."""

import subprocess
import sys

import numpy as np
import pytest

from globalmin.report.measures import ridge_outputs


@pytest.mark.parametrize(("n", "d"), [(3, 1), (40, 5), (12, 30), (200, 4)])
def test_outputs_are_those_of_scikit_learn(n: int, d: int):
    from sklearn.linear_model import RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rng = np.random.default_rng(n)
    X = rng.normal(size=(n + 7, d)) * 10.0 ** rng.uniform(-3, 3, d) + rng.normal(size=d)
    X[:, 0] = 2.5 if n == 40 else X[:, 0]  # a constant column
    y = X @ rng.normal(size=d) + rng.normal(size=n + 7)
    found = ridge_outputs(X[:n], y[:n], X[n:])
    model = make_pipeline(StandardScaler(), RidgeCV(alphas=np.logspace(-4, 6, 41)))
    model.fit(X[:n], y[:n])
    assert found is not None
    assert found[0] == pytest.approx(model.predict(X[:n]), rel=1e-6, abs=1e-8)
    assert found[1] == pytest.approx(model.predict(X[n:]), rel=1e-6, abs=1e-8)


def test_too_few_rows_have_no_ridge_and_scikit_learn_is_not_imported():
    assert ridge_outputs(np.ones((2, 1)), np.ones(2), np.ones((1, 1))) is None
    code = (
        "import sys, numpy as np; from globalmin.report.measures import ridge_outputs; "
        "r = np.random.default_rng(0); "
        "ridge_outputs(r.normal(size=(9, 2)), r.normal(size=9), r.normal(size=(3, 2))); "
        "print('sklearn' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"

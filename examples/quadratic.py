"""Quadratic networks at the proved global minimum: weight decay chosen by cross-validation, a
saddle with its way down.
"""

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import globalmin as gm

X, y = load_diabetes(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

model = gm.QuadraticNetworkRegressorCV(n_decays=10, ratio=1e-3).fit(X_train, y_train)
ridge = make_pipeline(StandardScaler(), RidgeCV(alphas=np.logspace(-4, 6, 41))).fit(
    X_train, y_train
)
print(
    f"weight decay {model.weight_decay_:.3g}, bias scale {model.bias_scale_:g}, {model.width_} "
    "neurons"
)
print(
    f"held-out R^2 {model.score(X_test, y_test):.3f}, ridge regression "
    f"{ridge.score(X_test, y_test):.3f}"
)
print(f"{model.verdict_}: proved gap {model.gap_:.1e} of an objective of {model.loss_upper_:.1f}")
print("certificate in", model.save_certificate("quadratic.gmc"))

data = gm.Dataset(X_train, y_train)
zero = gm.ShallowNetwork(np.zeros((22, 11)), np.repeat([1.0, -1.0], 11), "quadratic")
point = gm.classify_point(zero, data)
print(f"zero weights: {point.kind}, curvature {point.escape.curvature:.0f} along the escape")
gm.certify(zero, data, claims=["strict-saddle"]).save("saddle.gmc")
print("the checker on that:", gm.check("saddle.gmc").verdict.value)

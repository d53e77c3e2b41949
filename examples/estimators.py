"""Fit, prove, check, predict: globalmin inside scikit-learn.

Run it with `python examples/estimators.py`; it writes diabetes.gmc to the current folder, for
`globalmin-check diabetes.gmc`.
"""

from sklearn.datasets import load_diabetes, load_iris
from sklearn.model_selection import train_test_split

import globalmin as gm

# Regression: 150 rows of the diabetes table, learned by heart, and the proof that this is the
# global minimum.
X, y = load_diabetes(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=150, random_state=0)
model = gm.ShallowNetworkRegressor(random_state=0).fit(X_train, y_train)
print(f"regressor: width {model.width_}, {model.n_iter_} iterations, {model.verdict_}")
print(
    f"proved: {model.loss_lower_} <= smallest loss, and the loss of this network is at most "
    f"{model.loss_upper_:.3g}"
)

# The certificate is a file. The checker is another program: it shares no code with the one that
# trained.
path = model.save_certificate("diabetes.gmc")
result = gm.check(path)
print(f"{path}: {result.verdict.value}")
print(result.statement)

# Zero training loss is not generalization.
print(
    f"R^2 on the training data {model.score(X_train, y_train):.6f}, on the other rows "
    f"{model.score(X_test, y_test):.2f}"
)
print(f"first predictions: {model.predict(X_test[:3]).round(1)}")

# Classification: one network per class, labels +1 and -1.
X, y = load_iris(return_X_y=True)
classifier = gm.ShallowNetworkClassifier(random_state=0).fit(X, y)
print(f"classifier: {classifier.verdict_}, training accuracy {classifier.score(X, y)}")

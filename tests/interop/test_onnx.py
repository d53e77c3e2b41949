"""Networks in ONNX in and out: graphs of torch, of skl2onnx, as tf2onnx writes them, and our own in
onnxruntime.
"""

import warnings

import numpy as np
import pytest
from tests.interop.frameworks_cases import ROWS, TORCH, module, outputs, trained

import globalmin as gm
from globalmin.interop import UnsupportedModel, from_onnx, from_torch, to_onnx

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

ACTIVATIONS = ["relu", "tanh", "sigmoid", "softplus", "softplus(4)", "swish", "leaky_relu(0.2)"]
ACTIVATIONS += ["abs", "quadratic", "linear", "gelu", "erf"]


def graph(nodes, constants, features=5, outputs_=("y",), kind=TensorProto.FLOAT):
    made = helper.make_graph(
        nodes,
        "theirs",
        [helper.make_tensor_value_info("x", kind, [None, features])],
        [helper.make_tensor_value_info(name, kind, None) for name in outputs_],
        [numpy_helper.from_array(np.asarray(v, dtype=np.float32), n) for n, v in constants.items()],
    )
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("activation", TORCH)
def test_graphs_exported_by_torch_are_read(activation, tmp_path):
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnxscript")
    own = module(activation, (5, 6, 4, 2)).eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = (torch.zeros(2, 5),)
        torch.onnx.export(own, rows, tmp_path / "m.onnx", verbose=False, dynamo=True)
    net = from_onnx(tmp_path / "m.onnx")
    # the file keeps slopes and constants of functions as float32
    room = 1e-6 if activation == "leaky_relu" else 1e-12
    np.testing.assert_allclose(net.predict(ROWS), outputs(own), rtol=0, atol=room)
    np.testing.assert_allclose(net.predict(ROWS), from_torch(own).predict(ROWS), atol=room)
    assert net.agreement.arithmetic == "float64"


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_graphs_of_skl2onnx_are_read_with_their_scalers(kind):
    skl2onnx = pytest.importorskip("skl2onnx")
    from sklearn.neural_network import MLPClassifier, MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler, StandardScaler

    y = ROWS[:, 0]
    given = {"hidden_layer_sizes": (6,), "max_iter": 20, "solver": "lbfgs", "random_state": 0}
    for scaler in (StandardScaler(), MinMaxScaler()):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = make_pipeline(scaler, MLPRegressor(**given, activation="tanh")).fit(ROWS, y)
            proto = skl2onnx.to_onnx(model, ROWS[:1].astype(kind))
        net = from_onnx(proto.SerializeToString())
        assert net.scaling is not None
        room = {"atol": 1e-5} if kind == np.float32 else {"atol": 1e-12}  # weights of the file
        np.testing.assert_allclose(net.predict(ROWS), model.predict(ROWS), rtol=0, **room)
        assert net.agreement.relative <= 1e-12
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MLPClassifier(**given).fit(ROWS, np.digitize(y, [-0.5, 0.5]))
        net = from_onnx(skl2onnx.to_onnx(model, ROWS[:1].astype(kind)))
    np.testing.assert_allclose(net.predict(ROWS), model.predict_proba(ROWS), atol=1e-5)
    assert net.output == "softmax"


def test_matmul_add_as_tf2onnx_writes_it():
    rng = np.random.default_rng(0)
    constants = {"k": rng.standard_normal((5, 4)), "b": rng.standard_normal(4)}
    constants |= {"h": rng.standard_normal((4, 1)), "c": [0.25]}
    nodes = [
        helper.make_node("MatMul", ["x", "k"], ["m"], name="model/dense/MatMul"),
        helper.make_node("Add", ["m", "b"], ["a"]),
        helper.make_node("Relu", ["a"], ["r"]),
        helper.make_node("MatMul", ["r", "h"], ["n"]),
        helper.make_node("Add", ["n", "c"], ["y"]),
    ]
    net = from_onnx(graph(nodes, constants))
    k, b, h = (constants[name].astype(np.float32).astype(float) for name in ("k", "b", "h"))
    np.testing.assert_allclose(net.predict(ROWS), (np.maximum(ROWS @ k + b, 0) @ h)[:, 0] + 0.25)
    assert np.array_equal(net.layers[0].W, k.T)
    assert np.array_equal(net.layers[0].b, b)


@pytest.mark.parametrize("transposed", [0, 1])
def test_gemm_with_factors(transposed):
    rng = np.random.default_rng(0)
    B, C = rng.standard_normal((5, 4)).astype(np.float32), rng.standard_normal(4)
    constants = {"B": B.T if transposed else B, "C": C, "h": np.ones((4, 1))}
    given = {"alpha": 0.75, "beta": 3.0, "transB": transposed}
    nodes = [
        helper.make_node("Gemm", ["x", "B", "C"], ["a"], **given),
        helper.make_node("Tanh", ["a"], ["t"]),
        helper.make_node("MatMul", ["t", "h"], ["y"]),
    ]
    net = from_onnx(graph(nodes, constants))
    z = 0.75 * (ROWS @ B.astype(float)) + 3.0 * C.astype(np.float32).astype(float)
    np.testing.assert_allclose(net.predict(ROWS), np.tanh(z).sum(axis=1), rtol=0, atol=1e-12)


def test_everything_unsupported_is_told_at_once():
    nodes = [
        helper.make_node("MatMul", ["x", "k"], ["m"]),
        helper.make_node("Elu", ["m"], ["e"]),
        helper.make_node("MatMul", ["e", "k"], ["n"]),
        helper.make_node("Add", ["n", "m"], ["s"]),
        helper.make_node("LpNormalization", ["s"], ["y"]),
    ]
    with pytest.raises(UnsupportedModel) as error:
        from_onnx(graph(nodes, {"k": np.eye(5)}))
    for word in ("Elu", "no skips or branches", "LpNormalization"):
        assert word in str(error.value)


def test_what_is_no_model_is_refused(tmp_path):
    (tmp_path / "no.onnx").write_bytes(b"something else, not a graph")
    for model, said in (
        (tmp_path / "no.onnx", r"no\.onnx: cannot be read as an ONNX model .* export the network"),
        (b"\xff\xff", "the bytes cannot be read as an ONNX model .* export the network"),
        (3, "model=int: give a path, bytes or an onnx.ModelProto"),
    ):
        with pytest.raises(gm.DataError, match=said):
            from_onnx(model)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_our_networks_run_in_onnxruntime_and_come_back(activation, tmp_path):
    data = gm.Dataset(ROWS, ROWS[:, 0] * 3 + 100)
    own = gm.ShallowNetwork.initialize(data, width=6, activation=activation, seed=0)
    expected = data.preprocessing.restore(own.predict(data.X))
    made = to_onnx(own, tmp_path / "m.onnx", preprocessing=data.preprocessing)
    assert (tmp_path / "m.onnx").read_bytes() == made.SerializeToString(deterministic=True)
    back = from_onnx(tmp_path / "m.onnx")
    assert back.activations == (own.activation.spelling,)
    np.testing.assert_allclose(back.predict(ROWS), expected, rtol=1e-12)
    runtime = pytest.importorskip("onnxruntime")
    for single, room in ((False, 1e-12), (True, 1e-4)):  # float32: scaled rows, sums of 6 terms
        proto = to_onnx(own, preprocessing=data.preprocessing, single=single)
        session = runtime.InferenceSession(proto.SerializeToString())
        rows = ROWS.astype(np.float32 if single else np.float64)
        (got,) = session.run(None, {"X": rows})
        np.testing.assert_allclose(got[:, 0], expected, rtol=room)


def test_several_outputs_and_deep_networks_go_out_and_come_back():
    for own in (module("tanh", (5, 6, 4, 3)), module("relu", (5, 6, 3))):
        net = from_torch(own)
        back = from_onnx(to_onnx(net))
        np.testing.assert_allclose(back.predict(ROWS), outputs(own), rtol=0, atol=1e-12)
        assert all(
            np.array_equal(a.W, b.W) and np.array_equal(a.b, b.b)
            for a, b in zip(net.layers, back.layers, strict=True)
        )


def test_a_network_from_an_onnx_file_is_certified(tmp_path):
    X, y, own = trained("tanh")
    to_onnx(from_torch(own), tmp_path / "m.onnx")
    posed = from_onnx(tmp_path / "m.onnx").with_data(X, y)
    assert gm.prove(posed.network, posed.data).verdict == "ACCEPTED"

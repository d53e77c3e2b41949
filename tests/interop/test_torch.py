"""Networks of PyTorch in and out: weights exactly, outputs to 1e-12, what is unsupported named at
once.
"""

import numpy as np
import pytest
from tests.interop.frameworks_cases import ROWS, TORCH, by_loops, module, outputs, trained

import globalmin as gm
from globalmin.interop import UnsupportedModel, from_torch, to_torch

torch = pytest.importorskip("torch")
nn = torch.nn


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("activation", TORCH)
def test_a_module_is_read_with_its_outputs(activation, dtype):
    own = module(activation, dtype=dtype)
    net = from_torch(own)
    assert net.agreement.arithmetic == "float64"
    assert net.agreement.relative <= 1e-12
    np.testing.assert_allclose(net.predict(ROWS), outputs(own)[:, 0], rtol=0, atol=1e-12)
    assert net.predict(ROWS[:1])[0] == pytest.approx(by_loops(net, ROWS[0])[0], abs=1e-13)


def test_weights_and_biases_are_the_very_numbers_of_the_module():
    own = module("relu", (5, 7, 3))
    net = from_torch(own)
    assert net.n_outputs == 3
    for layer, theirs in zip(net.layers, (own[0], own[2]), strict=True):
        assert np.array_equal(layer.W.astype(np.float32), theirs.weight.detach().numpy())
        assert np.array_equal(layer.b.astype(np.float32), theirs.bias.detach().numpy())
        assert layer.W.dtype == np.float64
    assert net.predict(ROWS).shape == (40, 3)
    np.testing.assert_allclose(net.predict(ROWS), outputs(own), rtol=0, atol=1e-12)
    assert from_torch(module(bias=False)).layers[0].b is None


class Written(nn.Module):
    """A forward of one's own, with functions instead of layers."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.last = nn.Linear(5, 6), nn.Linear(6, 4), nn.Linear(4, 1)

    def forward(self, x):
        h = torch.relu(self.first(x))
        h = nn.functional.softplus(self.second(h), beta=2.0)
        return self.last(h).squeeze(-1)


def test_a_forward_of_ones_own_is_followed():
    own = Written()
    net = from_torch(own)
    assert net.activations == ("relu", "softplus(2)")
    np.testing.assert_allclose(net.predict(ROWS), outputs(own), rtol=0, atol=1e-12)


class Skip(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(5, 6), nn.LayerNorm(6), nn.Linear(6, 6)
        self.act = nn.ELU()

    def forward(self, x):
        h = self.act(self.first(x))
        return self.last(self.norm(h)) + h


def test_everything_unsupported_is_told_at_once():
    with pytest.raises(UnsupportedModel) as error:
        from_torch(Skip())
    assert len(error.value.findings) == 4
    for word in ("ELU", "LayerNorm", "no skips or branches", "add", "4 things"):
        assert word in str(error.value)
    assert all(found.needed for found in error.value.findings)


class Hidden(nn.Module):
    """Tensors and traced operations look like a plain network; the hook does something else."""

    def __init__(self):
        super().__init__()
        self.net = module("relu")
        self.net[1].register_forward_hook(lambda *given: given[2] * 1.0001)

    def forward(self, x):
        return self.net(x)


def test_a_module_is_believed_by_its_outputs():
    with pytest.raises(gm.DataError, match="its outputs differ by"):
        from_torch(Hidden())


def test_a_module_that_does_not_run_in_float64_is_compared_in_float32_with_its_reason():
    class Single(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = module("tanh")

        def forward(self, x):
            return self.net(x.float())

    net = from_torch(Single())
    assert net.agreement.arithmetic == "float32"
    assert "does not run in float64" in str(net.agreement)
    # unit roundoff of float32 times sums of a few terms of size about 1
    assert net.agreement.tol < 1e-4
    np.testing.assert_allclose(net.predict(ROWS), outputs(Single().net)[:, 0], atol=1e-12)


def test_normalization_and_dropout_are_read_as_in_eval_mode():
    own = nn.Sequential(nn.BatchNorm1d(5), nn.Linear(5, 6), nn.BatchNorm1d(6), nn.Tanh())
    own = nn.Sequential(*own, nn.Dropout(0.5), nn.Linear(6, 1)).double()
    own(torch.as_tensor(ROWS))
    own.eval()
    net = from_torch(own)
    assert net.scaling is not None
    np.testing.assert_allclose(net.predict(ROWS), outputs(own)[:, 0], rtol=0, atol=1e-12)
    assert any("eval mode" in note for note in net.notes)
    assert any("rounded" in note for note in net.notes)


def test_the_threshold_of_torchs_softplus_is_said_and_allowed():
    own = nn.Sequential(nn.Linear(1, 1), nn.Softplus(), nn.Linear(1, 1)).double()
    with torch.no_grad():
        own[0].weight.fill_(1.0), own[0].bias.zero_(), own[2].weight.fill_(1.0)
    net = from_torch(own, probe=[[20.5], [0.0], [3.0]])
    assert 1e-9 < net.agreement.largest < 2.1e-9  # log(1 + exp(-20.5))
    assert any("softplus(z) = z beyond z = 20" in note for note in net.notes)


class Hostile:
    """Unpickling it would make a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


def test_a_file_of_somebody_else_is_not_executed(tmp_path):
    torch.save({"0.weight": Hostile(str(tmp_path / "made"))}, tmp_path / "hostile.pt")
    with pytest.raises(gm.DataError, match="without executing code"):
        from_torch(tmp_path / "hostile.pt", activation="tanh")
    assert not (tmp_path / "made").exists()


def test_state_dicts_need_their_activation_and_are_never_executed(tmp_path):
    own = module("tanh")
    torch.save(own.state_dict(), tmp_path / "weights.pt")
    torch.save({"epoch": 3, "model_state_dict": own.state_dict()}, tmp_path / "checkpoint.pth")
    for path in (tmp_path / "weights.pt", tmp_path / "checkpoint.pth", own.state_dict()):
        net = from_torch(path, activation="tanh")
        np.testing.assert_allclose(net.predict(ROWS), outputs(own)[:, 0], rtol=0, atol=1e-12)
    with pytest.raises(UnsupportedModel, match="activation="):
        from_torch(tmp_path / "weights.pt")
    torch.save(own, tmp_path / "whole.pt")
    with pytest.raises(gm.DataError, match="without executing code"):
        from_torch(tmp_path / "whole.pt", activation="tanh")
    strange = {**own.state_dict(), "conv.weight": torch.zeros(2, 2, 2), "scale": torch.ones(())}
    with pytest.raises(UnsupportedModel) as error:
        from_torch(strange)
    assert [found.where for found in error.value.findings] == [
        "conv.weight",
        "scale",
        "the tensors",
    ]


class Branch(nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x


def test_what_is_no_module_is_refused():
    with pytest.raises(gm.DataError, match="no torch module"):
        from_torch(3)
    with pytest.raises(UnsupportedModel, match="approximate='tanh'"):
        from_torch(nn.Sequential(nn.Linear(2, 2), nn.GELU("tanh"), nn.Linear(2, 1)))
    with pytest.raises(UnsupportedModel, match="cannot be traced"):
        from_torch(Branch())


@pytest.mark.parametrize("activation", ["tanh", "relu", "softplus(4)", "leaky_relu(0.2)"])
def test_our_networks_go_to_torch_and_come_back(activation):
    data = gm.Dataset(ROWS, ROWS[:, 0] * 3 + 100)
    own = gm.ShallowNetwork.initialize(data, width=6, activation=activation, seed=0)
    expected = data.preprocessing.restore(own.predict(data.X))
    made = to_torch(own, data.preprocessing)
    np.testing.assert_allclose(outputs(made)[:, 0], expected, rtol=1e-12)
    back = from_torch(made)
    np.testing.assert_allclose(back.predict(ROWS), expected, rtol=1e-12)
    assert back.with_data(ROWS, data.raw.y.ravel()).network.width == 6
    relu = gm.RegularizedNetwork(own.W, own.W[:, 0], own.v, 2.5)
    np.testing.assert_allclose(
        outputs(to_torch(relu), data.X)[:, 0], relu.predict(data.X), atol=1e-12
    )


@pytest.mark.parametrize("activation", ["tanh", "softplus"])
def test_a_module_trained_by_torch_is_certified(activation):
    X, y, own = trained(activation)
    posed = from_torch(own).with_data(X, y)
    replayed = posed.data.preprocessing.restore(posed.network.predict(posed.data.X))
    np.testing.assert_allclose(replayed, outputs(own, X)[:, 0], rtol=0, atol=1e-12)
    proof = gm.prove(posed.network, posed.data)
    assert proof.verdict == "ACCEPTED"
    assert proof.loss_upper < 1e-18


def test_a_module_given_to_other_doors_is_told_the_way():
    X, y, own = trained("tanh", n=8, width=4)
    data = gm.Dataset(X, y)
    for door in (gm.prove, gm.certify, gm.classify_point):
        with pytest.raises(gm.DataError, match=r"gm\.interop"):
            door(own, data)

"""Hand-written backwards, each against its formula and numerical derivatives."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from structnet.tensor_tree.aggregators.contraction import OuterProduct, RowProduct
from structnet.tensor_tree.gates import Forget, LSTMState


def test_gradcheck_of_the_gates():
    i, o, u, kept = (torch.randn(2, 3, dtype=torch.float64, requires_grad=True) for _ in range(4))
    assert torch.autograd.gradcheck(LSTMState.apply, (i, o, u, kept))
    assert torch.autograd.gradcheck(lambda *x: LSTMState.apply(*x, None), (i, o, u))
    h, c = LSTMState.apply(i, o, u, kept)
    truth = torch.sigmoid(i) * torch.tanh(u) + kept
    torch.testing.assert_close(c, truth)
    torch.testing.assert_close(h, torch.sigmoid(o) * torch.tanh(truth))
    assert h.is_contiguous() and c.is_contiguous()


@pytest.mark.parametrize("joined", [False, True])
@pytest.mark.parametrize("width", [0, 4])
def test_gradcheck_of_the_forget_gate(width: int, joined: bool):
    z = torch.randn(2, 5, width + 3, dtype=torch.float64, requires_grad=True)
    bias = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    c = torch.randn(2, 5, 3, dtype=torch.float64, requires_grad=True)

    def function(z: Tensor, bias: Tensor, c: Tensor):
        return Forget.apply(z * 1.0, bias, c, joined)  # it may overwrite its first argument

    assert torch.autograd.gradcheck(function, (z, bias, c))
    found = function(z, bias, c)
    found = found if joined else torch.cat(found, -1)
    gate = torch.sigmoid(z[..., width:] + bias[:, None])
    torch.testing.assert_close(found, torch.cat([z[..., :width], gate * c], -1))


@pytest.mark.parametrize("sizes", [(2,), (2, 3), (2, 3, 4), (1, 3, 1, 2)])
def test_gradcheck_of_the_outer_product(sizes: tuple[int, ...]):
    modes = [torch.randn(2, 3, 2, n, dtype=torch.float64, requires_grad=True) for n in sizes]
    found = OuterProduct.apply(*modes)
    letters = "abcd"[: len(sizes)]
    terms = ",".join("xyz" + letter for letter in letters)
    wanted = torch.einsum(f"{terms}->xzy{letters}", *modes).flatten(3)
    torch.testing.assert_close(found, wanted)
    assert torch.autograd.gradcheck(OuterProduct.apply, modes)


def test_gradcheck_of_the_row_product():
    vector = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
    matrix = torch.randn(2, 3, 4 * 5, dtype=torch.float64, requires_grad=True)
    wanted = torch.einsum("xyb,xybk->xyk", vector, matrix.unflatten(-1, (4, 5)))
    torch.testing.assert_close(RowProduct.apply(vector, matrix), wanted)
    assert torch.autograd.gradcheck(RowProduct.apply, (vector, matrix))


def test_second_derivatives_are_refused():
    """Once differentiable: an error, not a wrong number."""
    x = torch.randn(3, 2, dtype=torch.float64, requires_grad=True)
    h, _ = LSTMState.apply(x, x, x, None)
    (first,) = torch.autograd.grad(h.square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        first.sum().backward()

"""Adagrad on rows: the numbers of torch's, and nothing else changed."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.optim import Adagrad

from structnet.label_tree import SparseAdagrad, TreeSoftmaxLoss


class Model(nn.Module):
    """Vectors, a dense layer and a tree, as a user puts them together."""

    def __init__(self, sparse: bool):
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.vectors = nn.Embedding(40, 6, sparse=sparse)
        self.mix = nn.Linear(6, 6)
        self.head = TreeSoftmaxLoss(6, 23, 4, sparse=sparse)
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.normal_(generator=generator)
            self.head.bias.masked_fill_(self.head.mask != 0, 0)

    def loss(self, words: Tensor, target: Tensor) -> Tensor:
        return self.head(self.mix(self.vectors(words)), target).loss


def trained(sparse: bool, kind: type[Adagrad], dtype: torch.dtype, **told) -> list[Tensor]:
    """The weights after some steps; a word comes up twice in a batch."""
    model = Model(sparse).to(dtype)
    optimizer = kind(model.parameters(), lr=0.3, **told)
    generator = torch.Generator().manual_seed(1)
    for _ in range(8):
        words = torch.randint(40, (5,), generator=generator)[[0, 1, 2, 3, 4, 0]]
        target = torch.randint(23, (6,), generator=generator)
        optimizer.zero_grad()
        model.loss(words, target).backward()
        optimizer.step()
    return [*model.parameters(), *(s["sum"] for s in optimizer.state.values())]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("told", [{}, {"lr_decay": 0.5, "eps": 0.1, "maximize": True}])
def test_rows_are_changed_as_the_dense_form_does(dtype: torch.dtype, told: dict) -> None:
    ours = trained(True, SparseAdagrad, dtype, **told)
    for kind, sparse in ((Adagrad, False), (Adagrad, True), (SparseAdagrad, False)):
        with torch.sparse.check_sparse_tensor_invariants(enable=True):  # else torch's own warns
            others = trained(sparse, kind, dtype, **told)
        for mine, theirs in zip(ours, others, strict=True):
            torch.testing.assert_close(mine, theirs, atol=1e-6, rtol=1e-6)


def test_a_table_that_is_not_in_one_piece() -> None:
    weights = [nn.Parameter(torch.ones(3, 4).T.contiguous().T) for _ in range(2)]
    assert not weights[0].is_contiguous()
    for weight, kind in zip(weights, (SparseAdagrad, Adagrad), strict=True):
        places, rows = torch.tensor([[2, 0, 2]]), torch.arange(12.0).reshape(3, 4)
        weight.grad = torch.sparse_coo_tensor(places, rows, (3, 4), check_invariants=True)
        kind([weight], lr=0.1).step()
    torch.testing.assert_close(*weights)
    assert (weights[0][1] == 1).all()


def test_a_closure_is_asked_and_gradients_stay() -> None:
    model = Model(sparse=True)
    optimizer = SparseAdagrad(model.parameters(), lr=0.1)

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = model.loss(torch.tensor([1, 2]), torch.tensor([3, 4]))
        loss.backward()
        return loss

    first, second = optimizer.step(closure), optimizer.step(closure)
    assert second < first
    assert model.vectors.weight.grad.is_sparse and model.mix.weight.grad is not None


def test_decay_beside_sparse_gradients_is_refused_as_torch_refuses_it() -> None:
    model = Model(sparse=True)
    optimizer = SparseAdagrad(model.parameters(), weight_decay=0.1)
    model.loss(torch.tensor([1]), torch.tensor([2])).backward()
    with pytest.raises(RuntimeError, match="weight_decay"):
        optimizer.step()

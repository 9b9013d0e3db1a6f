"""Adagrad on rows: the numbers of torch's, and nothing else changed."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.optim import Adagrad

from structnet.label_tree import SparseAdagrad, TreeSoftmaxLoss
from structnet.routing import Samples
from structnet.training import fit


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
            self.head.bias.masked_fill_(self.head.mask, 0)

    def loss(self, words: Tensor, target: Tensor) -> Tensor:
        return self.head(self.mix(self.vectors(words)), target).loss


class Scored(Model):
    """The same, as it is given to a training."""

    def __init__(self) -> None:
        super().__init__(sparse=True)

    def loss(self, batch: Samples) -> Tensor:
        return super().loss(batch.x[:, 0].long(), batch.targets)


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


@pytest.mark.parametrize("shape", [(0, 4), (3, 4)])
def test_a_gradient_of_no_rows(shape: tuple[int, int]) -> None:
    weights = [nn.Parameter(torch.ones(shape)) for _ in range(2)]
    for weight, kind in zip(weights, (SparseAdagrad, Adagrad), strict=True):
        nothing = torch.zeros(1, 0, dtype=torch.int64), torch.zeros(0, 4)
        weight.grad = torch.sparse_coo_tensor(*nothing, shape, check_invariants=True)
        kind([weight], lr=0.1).step()
        assert (weight == 1).all()


def test_hooks_are_called_once_a_step() -> None:
    model, called = Model(sparse=True), []
    Adagrad(model.parameters())  # from now on torch calls the hooks of its own class's step
    optimizer = SparseAdagrad(model.parameters())
    optimizer.register_step_pre_hook(lambda *given: called.append("before"))
    optimizer.register_step_post_hook(lambda *given: called.append("after"))
    optimizer.step()
    assert called == ["before", "after"]


def test_gradients_stay_where_a_step_fails() -> None:
    model = Model(sparse=True)
    optimizer = SparseAdagrad(model.parameters())
    model.loss(torch.tensor([1]), torch.tensor([2])).backward()
    del optimizer.state[model.mix.weight]["sum"]
    with pytest.raises(KeyError):
        optimizer.step()
    assert model.vectors.weight.grad is not None and model.head.weight.grad is not None


def test_a_checkpoint_of_torchs_adagrad_goes_on(tmp_path: Path) -> None:
    generator = torch.Generator().manual_seed(2)
    pairs = torch.randint(23, (60, 2), generator=generator)
    data = Samples(pairs[:, :1].float(), pairs[:, 1])
    kinds, found = {"whole": [SparseAdagrad] * 2, "mixed": [Adagrad, SparseAdagrad]}, []
    for name, (first, second) in kinds.items():
        for kind, epochs in ((first, 1), (second, 2)):
            model = Scored()
            how = {"batch_size": 10, "checkpoint": tmp_path / name, "progress": False}
            fit(model, data, epochs=epochs, optimizer=partial(kind, lr=0.3), resume=True, **how)
        found.append([*model.parameters()])
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=1e-6)


def test_decay_beside_sparse_gradients_is_refused_as_torch_refuses_it() -> None:
    model = Model(sparse=True)
    optimizer = SparseAdagrad(model.parameters(), weight_decay=0.1)
    model.loss(torch.tensor([1]), torch.tensor([2])).backward()
    with pytest.raises(RuntimeError, match="weight_decay"):
        optimizer.step()

"""The models that softmax trees are compared with: linear ones of all classes, trained by Adam.

One-vs-all has one logistic regression per class. The hierarchical softmax has two levels: the K
classes are in about ``sqrt(K)`` groups with similar means, and the probability of a class is that
of its group times that of the class within the group.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from structnet.routing import Samples
from structnet.training.threads import Threads

EPOCHS, BATCH, RATE = 30, 256, 3e-3


def one_vs_all(train: Samples, test: Samples, num_classes: int, seed: int) -> dict[str, float]:
    """The error and the cost of one logistic regression per class."""

    def loss(scores: Tensor, y: Tensor) -> Tensor:
        wanted = functional.one_hot(y, num_classes).to(scores.dtype)
        return functional.binary_cross_entropy_with_logits(scores, wanted, reduction="none").sum(1)

    model = _trained(train, num_classes, loss, seed)
    wrong = model(_x(test)).argmax(1) != test.targets
    size = _x(test).shape[1] * num_classes
    return {"error": wrong.double().mean().item(), "flops": size, "nonzeros": size}


def hierarchical(train: Samples, test: Samples, num_classes: int, seed: int) -> dict[str, float]:
    """The error, cost and perplexity of a softmax over groups and one within each group."""
    from sklearn.cluster import KMeans

    x, y = _x(train), train.targets
    sums = torch.zeros(num_classes, x.shape[1]).index_add(0, y, x)
    means = sums / torch.bincount(y, minlength=num_classes).clamp(min=1)[:, None]
    number = max(1, round(num_classes**0.5))
    group = torch.from_numpy(KMeans(number, random_state=seed, n_init=1).fit_predict(means.numpy()))
    group = group.long()
    same = group[None] == group[:, None]  # [K, K]

    def log_prob(scores: Tensor) -> Tensor:
        of_group, within = scores.split([number, num_classes], dim=1)
        sums = torch.stack(
            [within[:, group == g].logsumexp(1) for g in range(number)], dim=1
        )  # [n, groups]
        return of_group.log_softmax(1)[:, group] + within - sums[:, group]

    def loss(scores: Tensor, y: Tensor) -> Tensor:
        return functional.nll_loss(log_prob(scores), y, reduction="none")

    model = _trained(train, number + num_classes, loss, seed)
    found = log_prob(model(_x(test)))
    own = found.gather(1, test.targets[:, None]).double().mean()
    used = x.shape[1] * (number + same.sum(1)[found.argmax(1)].double().mean().item())
    return {
        "error": (found.argmax(1) != test.targets).double().mean().item(),
        "flops": used,
        "nonzeros": x.shape[1] * (number + num_classes),
        "perplexity": (-own).exp().item(),
        "coverage": 1.0,
    }


def _trained(
    train: Samples, outputs: int, loss: Callable[[Tensor, Tensor], Tensor], seed: int
) -> nn.Module:
    """A linear model, trained by Adam with a learning rate that falls to 0; it has no gradients."""
    generator = torch.Generator().manual_seed(seed)
    x, y = _x(train), train.targets
    model = nn.Linear(x.shape[1], outputs)
    nn.init.zeros_(model.weight)
    nn.init.zeros_(model.bias)
    optimizer = torch.optim.Adam(model.parameters(), RATE)
    steps = EPOCHS * -(-len(y) // BATCH)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, steps)
    with Threads(x.device).kept():  # one thread: the products are small
        for _ in range(EPOCHS):
            for rows in torch.randperm(len(y), generator=generator).split(BATCH):
                optimizer.zero_grad()
                loss(model(x[rows]), y[rows]).mean().backward()
                optimizer.step()
                schedule.step()
    return model.requires_grad_(False)


def _x(samples: Samples) -> Tensor:
    """The rows as a dense tensor, ``[n, D]``."""
    x: Any = samples.x
    return torch.as_tensor(x if isinstance(x, np.ndarray) else x.toarray(), dtype=torch.float32)

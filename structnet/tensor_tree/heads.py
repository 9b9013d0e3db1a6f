"""Classifiers on top of a tree encoder."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from structnet.checks import check_integer
from structnet.message_passing.scheduling import check_forest
from structnet.routing.samples import weighted_mean
from structnet.training.targets import check_classes
from structnet.trees.examples import NodeExamples, TreeExamples
from structnet.trees.forest import Forest


def forest_of(batch: TreeExamples | NodeExamples | Forest) -> Forest:
    """The trees of a batch, which may also be a forest.

    Raises:
        TypeError: the batch is something else.
    """
    forest: Any = getattr(batch, "forest", batch)
    check_forest(forest)
    return forest


def check_one_each(outputs: Tensor, batch: TreeExamples) -> None:
    """Refuses a batch whose examples have another number of trees than those of the model.

    Shapes:
        outputs ``[n, ..]``, of a batch of n examples.

    Raises:
        ValueError: there is not one output per target.
    """
    if len(outputs) != len(batch):
        raise ValueError(
            f"the model gives {len(outputs)} outputs for {len(batch.forest)} trees; expected "
            f"{len(batch)}, one per target, as roots_per_example of the batch is "
            f"{batch.roots_per_example}"
        )


class ClassLogits(nn.Module):
    """Predictions of modules whose outputs are logits of classes, a row per example or node."""

    def predict(self, batch: TreeExamples | NodeExamples | Forest) -> Tensor:
        """The likeliest class of each example or node, ``[n]``."""
        return self(forest_of(batch)).argmax(-1)

    def predict_log_proba(self, batch: TreeExamples | NodeExamples | Forest) -> Tensor:
        """Log-probabilities of the classes, ``[n, num_classes]``."""
        return self(forest_of(batch)).log_softmax(-1)

    def predict_proba(self, batch: TreeExamples | NodeExamples | Forest) -> Tensor:
        """Probabilities of the classes, ``[n, num_classes]``."""
        return self(forest_of(batch)).softmax(-1)


class _Head(ClassLogits):
    """The loss of both heads."""

    num_classes: int

    def loss(self, batch: TreeExamples) -> Tensor:
        """Mean cross-entropy over the batch, weighted by the weights of its examples.

        Raises:
            TargetError: a target is not a class (torch's loss would silently skip -100).
            ValueError: examples have another number of trees than those of the model.
        """
        check_classes(batch.targets, self.num_classes)
        logits = self(batch.forest)
        check_one_each(logits, batch)
        if batch.weights is None:
            return F.cross_entropy(logits, batch.targets)
        losses = F.cross_entropy(logits, batch.targets, reduction="none")
        return weighted_mean(losses, batch.weights.to(losses))


class TreeClassifier(_Head):
    """Predicts one class per tree: hidden layers with ReLU over the root's state, then softmax.

    Args:
        encoder: module that gives ``[len(forest), encoder.hidden_size]``.
        num_classes: the number of classes.
        hidden_sizes: sizes of the hidden layers.

    Shapes:
        output: logits ``[len(forest), num_classes]``.

    Reference: Castellana and Bacciu, IJCNN 2020, Sec. V (ListOps).

    Example:
        >>> from functools import partial
        >>> from structnet import ChildSumTreeLSTM, Tree, Vocabulary, fit
        >>> _ = torch.manual_seed(0)
        >>> trees = [Tree("f", [Tree("x"), Tree("y")]), Tree("g", [Tree("y")])] * 20
        >>> vocabulary = Vocabulary.from_trees(trees)
        >>> examples = TreeExamples(Forest.from_trees(trees, vocabulary), [0, 1] * 20)
        >>> encoder = ChildSumTreeLSTM(8, vocabulary.num_types, vocabulary.num_tokens)
        >>> model = TreeClassifier(encoder, num_classes=2)
        >>> adam = partial(torch.optim.Adam, lr=0.01)
        >>> _ = fit(model, examples, epochs=5, batch_size=10, optimizer=adam, progress=False)
        >>> model.predict(examples)[:4].tolist()
        [0, 1, 0, 1]
    """

    def __init__(
        self, encoder: nn.Module, num_classes: int, hidden_sizes: Sequence[int] = (20, 20)
    ):
        super().__init__()
        check_integer("num_classes", num_classes, 1, owner="TreeClassifier")
        self.encoder, self.num_classes = encoder, num_classes
        sizes = [cast(int, encoder.hidden_size), *hidden_sizes]
        layers: list[nn.Module] = []
        for before, after in itertools.pairwise(sizes):
            linear = nn.Linear(before, after)
            nn.init.kaiming_normal_(linear.weight)
            layers += [linear, nn.ReLU()]
        self.layers = nn.Sequential(*layers, nn.Linear(sizes[-1], num_classes))

    def forward(self, forest: Forest, backend: str = "levels") -> Tensor:
        return self.layers(self.encoder(forest, backend=backend))


class TreePairClassifier(_Head):
    """Predicts one class per pair of trees, such as the relation between two sentences.

    ``z = leaky_relu(l' T r + A l + B r + b)`` of the two root states l and r, then a linear layer
    and softmax. The linear layer is a deviation from the paper, whose text has none.

    Args:
        encoder: module that gives ``[len(forest), encoder.hidden_size]``.
        num_classes: the number of classes.
        combined_size: the size of z.

    Shapes:
        output: logits ``[len(forest) / 2, num_classes]``; roots 2i and 2i + 1 are a pair.

    Raises:
        ValueError: an odd number of trees.

    Reference: Castellana and Bacciu, IJCNN 2020, Sec. V (LRT); Bowman et al., CVSC 2015, Sec. 2.

    Example:
        >>> from structnet import ChildSumTreeLSTM, Tree, Vocabulary
        >>> trees = [Tree("a"), Tree("b"), Tree("a"), Tree("a")]  # two pairs
        >>> vocabulary = Vocabulary.from_trees(trees)
        >>> encoder = ChildSumTreeLSTM(8, vocabulary.num_types, vocabulary.num_tokens)
        >>> model = TreePairClassifier(encoder, num_classes=3)
        >>> model.predict_proba(Forest.from_trees(trees, vocabulary)).shape
        torch.Size([2, 3])
    """

    def __init__(
        self,
        encoder: nn.Module,
        num_classes: int,
        combined_size: int = 75,
    ):
        super().__init__()
        check_integer("num_classes", num_classes, 1, owner="TreePairClassifier")
        self.encoder, self.num_classes = encoder, num_classes
        c = cast(int, encoder.hidden_size)
        self.tensor = nn.Parameter(torch.randn(c, c * combined_size) / c)
        self.linear = nn.Linear(2 * c, combined_size)
        self.output = nn.Linear(combined_size, num_classes)

    def forward(self, forest: Forest, backend: str = "levels") -> Tensor:
        if len(forest) % 2:
            raise ValueError(f"pairs need an even number of trees; got {len(forest)}")
        h = self.encoder(forest, backend=backend)
        left, right = h[0::2], h[1::2]
        # l' T is one product for all pairs; its product with r is a small one for each pair.
        z = (left @ self.tensor).unflatten(-1, (right.shape[-1], -1))  # [n, c, combined]
        z = torch.matmul(right.unsqueeze(1), z).squeeze(1) + self.linear(
            torch.cat([left, right], -1)
        )
        return self.output(F.leaky_relu(z))

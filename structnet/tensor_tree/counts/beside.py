"""A Tree-LSTM beside a model of counts, mixed by weights that held-out examples choose."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from scipy.optimize import minimize
from torch import Tensor, nn

from structnet.tensor_tree.counts.label_bag import LabelBag
from structnet.tensor_tree.counts.label_table import LabelTable
from structnet.tensor_tree.counts.sizes import bag_sizes, table_sizes
from structnet.tensor_tree.predictor import (
    Answers,
    NodeAnswers,
    NodePredictor,
    TreeAnswers,
    TreePredictor,
)
from structnet.tensor_tree.targets import Question
from structnet.training.gains import is_better
from structnet.training.metrics import batch_starts
from structnet.trees.examples import NodeExamples, TreeExamples
from structnet.trees.forest import Forest
from structnet.trees.vocabulary import Vocabulary


class Beside(Answers):
    """A predictor and a model of counts, whose weighted log-probabilities are added (stacking).

    Args:
        tree: the predictor.
        bag: the model of counts.

    Attributes:
        shares: weights of both, ``[2]``; their sum is at most 1, and less where both are
            overconfident.

    Shapes:
        output: that of the predictor.

    Reference: Wolpert, "Stacked Generalization", Neural Networks 5, 1992.
    """

    shares: Tensor

    def __init__(self, tree: nn.Module, bag: nn.Module):
        super().__init__()
        self.tree, self.bag = tree, bag
        self.register_buffer("shares", torch.full((2,), 0.5))

    def forward(self, forest: Forest, **which: Any) -> Tensor:
        return self.mixed(self.tree(forest, **which), self.bag(forest, **which))

    def mixed(self, tree: Tensor, bag: Tensor) -> Tensor:
        """The mixed output, from the outputs of both parts; all ``[n, outputs]``."""
        tree, bag = self._comparable(tree, bag)
        return self.shares[0] * tree + self.shares[1] * bag

    def parts(self, forest: Forest) -> tuple[Tensor, ...]:
        """The output of each part, ``[n, outputs]``."""
        return self._comparable(self.tree(forest), self.bag(forest))

    def _comparable(self, *said: Tensor) -> tuple[Tensor, ...]:
        return said if self.kind == "numbers" else tuple(each.log_softmax(-1) for each in said)

    def fit_bag(
        self, examples: Any, held_out: Any, seed: int, groups: np.ndarray | None, **how: Any
    ) -> np.ndarray | None:
        """Fits the model of counts; for numbers, returns cross-validated predictions.

        Args:
            examples: examples to learn from.
            held_out: examples to choose a form of the counts by; None to keep what was chosen.
            seed: seed of folds.
            groups: group of each example, ``[n]``, each within one fold; None for no groups.
            how: further arguments of :meth:`.LabelBag.fit_numbers`.
        """
        raise NotImplementedError

    def left_open(self, examples: Any, held_out: Any, guess: np.ndarray | None) -> tuple[Any, Any]:
        """Both kinds of examples, with the targets that are left to the predictor.

        Args:
            examples, held_out: examples as :meth:`fit_bag` took them.
            guess: array that it returned.

        Shapes:
            guess ``[n, outputs]``.
        """
        return examples, held_out

    @torch.no_grad()
    def choose(self, examples: Any, batch_size: int = 500) -> None:
        """Sets the shares that fit some examples best, which neither part has learned from."""
        found = []
        for start in batch_starts(examples, batch_size):
            batch = examples[slice(start, start + batch_size)]
            targets, counts = self.asked(batch)
            columns = (*self.parts(batch.forest), targets, counts)
            found.append([each[counts > 0].cpu().double() for each in columns])
        tree, bag, targets, counts = map(torch.cat, zip(*found, strict=True))
        if self.kind == "numbers":
            self.shares[0] = best_share(tree, targets - bag, counts, self.shares[0].item())
        elif len(targets):
            self.shares.copy_(best_shares(torch.stack([tree, bag]), targets, counts))

    @property
    def known(self) -> dict[str, Any]:
        """What the model of counts knows beside its weights, for JSON."""
        return {}

    def told(self) -> str:
        """The model of counts and the shares, in a line for users."""
        what, short = self._named()
        tree, bag = self.shares.tolist()
        return f"{what} beside it: weights {tree:.2g} of the tree and {bag:.2g} of the {short}"

    def _named(self) -> tuple[str, str]:
        """The model of counts in words for users, and in one word."""
        raise NotImplementedError


class BesideTable(Beside, NodeAnswers):
    """A predictor of nodes beside a table of their labels."""

    tree: NodePredictor
    bag: LabelTable

    def weights_of(self, classes: Tensor) -> Tensor:
        return self.tree.weights_of(classes)

    def fit_bag(self, examples: NodeExamples, *_: Any, **__: Any) -> None:
        self.bag.fit(examples, self.tree.class_weight)

    def _named(self) -> tuple[str, str]:
        return "a table of the classes of each label", "table"


class BesideBag(Beside, TreeAnswers):
    """A predictor of trees beside a linear model on what they contain.

    For numbers the predictor learns the residuals of the linear model, and its weighted output is
    added to the linear model's.
    """

    tree: TreePredictor
    bag: LabelBag

    def __init__(self, tree: TreePredictor, bag: LabelBag):
        super().__init__(tree, bag)
        self.kind = tree.kind

    def fit_bag(
        self,
        examples: TreeExamples,
        held_out: TreeExamples | None,
        seed: int,
        groups: np.ndarray | None,
        **how: Any,
    ) -> np.ndarray | None:
        if self.kind == "classes":
            self.bag.fit_classes(examples, held_out, seed)
            return None
        weights = None if examples.weights is None else examples.weights.double().numpy()
        targets = examples.targets.double().numpy()
        given = examples.forest, targets, weights, seed
        return self.bag.fit_numbers(*given, groups=groups, **how)

    def left_open(
        self, examples: TreeExamples, held_out: TreeExamples | None, guess: np.ndarray | None
    ) -> tuple[TreeExamples, TreeExamples | None]:
        """Both kinds of examples, for numbers with the residuals as targets.

        Shapes:
            guess ``[n, outputs]``.
        """
        if guess is None:
            return examples, held_out
        unit = max((examples.targets.numpy() - guess).std(), 1e-12)
        self.shares.copy_(torch.tensor([unit, 1.0]))

        def rest(of: TreeExamples, said: np.ndarray) -> TreeExamples:
            targets = ((of.targets.numpy() - said) / unit).astype(np.float32)
            return TreeExamples(of.forest, targets, of.weights, of.roots_per_example)

        judged = held_out and rest(held_out, self.bag(held_out.forest).numpy())
        return rest(examples, guess), judged

    @property
    def known(self) -> dict[str, Any]:
        pieces = self.bag.pieces
        return {
            "form": self.bag.form,
            "num_pairs": len(self.bag.pairs),
            "num_values": len(self.bag.values),
            "num_pieces": 0 if pieces is None else len(pieces.codes),
        }

    def _named(self) -> tuple[str, str]:
        form = "" if self.bag.form == "count" else f" ({self.bag.form})"
        return f"a linear model on {len(self.bag.weight):,} counts{form}", "model"


def with_counts(
    tree: Any,
    vocabulary: Vocabulary,
    question: Question,
    forest: Forest | None = None,
    letters: bool = False,
    **known: Any,
) -> Beside:
    """A predictor beside a model of counts that is not fitted yet.

    Args:
        tree: the predictor.
        vocabulary: numbers of the labels.
        question: question that both answer.
        forest: trees to learn from, which say what is counted; None if that is ``known``.
        letters: True to count pieces of words.
        known: facts that another such model knew, its :attr:`Beside.known`.
    """
    if question.kind == "nodes":
        return BesideTable(tree, LabelTable(**table_sizes(vocabulary, question)))
    sizes = {**bag_sizes(vocabulary, question), **known}
    if forest is None:
        return BesideBag(tree, LabelBag(**sizes))
    return BesideBag(tree, LabelBag.knowing(forest, letters, **sizes))


def best_share(tree: Tensor, lacking: Tensor, count: Tensor, most: float) -> float:
    """The factor of a model's numbers with which they add up best to what another one lacks.

    Args:
        tree: numbers of the model, float64.
        lacking: numbers that they should be.
        count: weight of each example.
        most: largest factor.

    Shapes:
        tree, lacking ``[n, outputs]``; count ``[n]``.
    """
    weight = count.unsqueeze(1)
    best = (weight * tree * lacking).sum() / (weight * tree.square()).sum()
    share = best.nan_to_num(0.0).clamp(0, most).item()
    before, after = ((lacking - part * tree).square().sum(1).numpy() for part in (0.0, share))
    # A gain that is no larger than its own noise may come from a single example.
    sure = len(tree) < 2 or is_better(before, after, 1, count.numpy())
    return share if sure else 0.0


def best_shares(said: Tensor, targets: Tensor, count: Tensor) -> Tensor:
    """The weights with which two models' log-probabilities fit some examples best.

    Args:
        said: log-probabilities of both models, float64.
        targets: classes.
        count: weight of each example.

    Shapes:
        said ``[2, n, classes]``; targets, count ``[n]``; output ``[2]``, with a sum of at most 1.
    """

    def loss(shares: np.ndarray) -> tuple[float, np.ndarray]:
        weight = torch.from_numpy(shares).requires_grad_()
        with torch.enable_grad():
            mixed = torch.einsum("m,mnk->nk", weight, said)
            total = F.cross_entropy(mixed, targets.long(), reduction="none") @ count.double()
            # If few examples cannot tell the models apart, both count.
            total = total + (weight - 0.5).square().sum()
        return total.item(), torch.autograd.grad(total, weight)[0].numpy()

    # With a sum above 1, a few examples that both get right would allow any degree of certainty.
    at_most = {"type": "ineq", "fun": lambda x: 1 - x.sum(), "jac": lambda x: -np.ones(2)}
    how: dict[str, Any] = {"method": "SLSQP", "bounds": [(0.0, 1.0)] * 2}
    found = minimize(loss, np.full(2, 0.5), jac=True, constraints=at_most, **how)
    return torch.from_numpy(np.clip(found.x, 0, 1))

"""A Tree-LSTM beside a model of counts, mixed by weights that held-out examples choose."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from structnet.tensor_tree.counts.extra_trees import ExtraTrees
from structnet.tensor_tree.counts.form_choice import fit_in_best_form
from structnet.tensor_tree.counts.label_bag import FORMS, LabelBag
from structnet.tensor_tree.counts.node_bag import NodeBag
from structnet.tensor_tree.counts.shares import best_factor, best_share, best_shares
from structnet.tensor_tree.predictor import (
    Answers,
    NodeAnswers,
    NodePredictor,
    TreePredictor,
)
from structnet.tensor_tree.targets import Question
from structnet.training.metrics import batch_starts
from structnet.trees.examples import NodeExamples, TreeExamples
from structnet.trees.forest import Forest
from structnet.trees.vocabulary import Vocabulary

# Weight of decision trees below which they are not worth their time. A gain on held-out examples
# need not be sure: these are few, and a mixture of models that err differently is rarely worse.
LEAST = 0.1


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
        return self.mixed(*self._outputs(forest, **which))

    def mixed(self, *outputs: Tensor) -> Tensor:
        """The mixed output, from the outputs of all parts; all ``[n, outputs]``."""
        outputs = self._comparable(*outputs)
        return torch.stack([x * each for x, each in zip(self.weights, outputs, strict=True)]).sum(0)

    def parts(self, forest: Forest) -> tuple[Tensor, ...]:
        """The output of each part, ``[n, outputs]``."""
        return self._comparable(*self._outputs(forest))

    @property
    def weights(self) -> tuple[Tensor, ...]:
        """The weight of each part, ``[]``."""
        return tuple(self.shares)

    def _outputs(self, forest: Forest, **which: Any) -> tuple[Tensor, ...]:
        return self.tree(forest, **which), self.bag(forest, **which)

    def _comparable(self, *outputs: Tensor) -> tuple[Tensor, ...]:
        if self.kind == "numbers":
            return outputs
        return tuple(each.log_softmax(-1) for each in outputs)

    def with_tree(self, tree: Any) -> Beside:
        """Copies of the models of counts beside another predictor of the same question."""
        return type(self)(tree, *map(copy.deepcopy, self._of_counts()))

    def _of_counts(self) -> tuple[Any, ...]:
        """The models of counts, as the constructor takes them."""
        return (self.bag,)

    def fit_bag(
        self,
        examples: Any,
        held_out: Any,
        seed: int,
        groups: np.ndarray | None,
        forms: Sequence[str] = FORMS,
    ) -> np.ndarray | None:
        """Fits the model of counts; for numbers, returns cross-validated predictions.

        Args:
            examples: examples to learn from.
            held_out: examples to choose a form of the counts of classes by; None if there are none.
            seed: seed of folds.
            groups: group of each example, ``[n]``, each within one fold; None for no groups.
            forms: forms of the counts of numbers to choose from.
        """
        raise NotImplementedError

    def refit_bag(self, examples: Any, seed: int) -> None:
        """Fits the model of counts to other examples, with the choices of :meth:`fit_bag`."""
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
            targets, counts = self.targets_and_weights(batch)
            columns = (*self.parts(batch.forest), targets, counts)
            found.append([each[counts > 0].cpu().double() for each in columns])
        *outputs, targets, counts = map(torch.cat, zip(*found, strict=True))
        if len(targets):
            self._weigh(outputs, targets, counts)

    def _weigh(self, outputs: Sequence[Tensor], targets: Tensor, counts: Tensor) -> None:
        """Sets the weights of both parts by what each says of some examples, all float64.

        Shapes:
            outputs ``[n, columns]`` each; targets ``[n]`` or ``[n, outputs]``; counts ``[n]``.
        """
        tree, bag, *_ = outputs
        if self.kind == "numbers":
            self.shares[0] = best_share(tree, targets - bag, counts, self.shares[0].item())
        else:
            self.shares.copy_(best_shares(torch.stack([tree, bag]), targets, counts))

    @property
    def known(self) -> dict[str, Any]:
        """What the model of counts knows beside its weights, for JSON."""
        return {}

    def in_words(self) -> str:
        """The models of counts and the weights, in a line for users."""
        names, short = self._named()
        of_parts = zip(self.weights, ("tree", *short), strict=True)
        of = [f"{round(weight.item(), 3):.2g} of the {name}" for weight, name in of_parts]
        return f"{names} beside it: weights {', '.join(of[:-1])} and {of[-1]}"

    def _named(self) -> tuple[str, tuple[str, ...]]:
        """The models of counts in words for users, and each in a few words."""
        raise NotImplementedError


class BesideNodeBag(Beside, NodeAnswers):
    """A predictor of nodes beside a linear model on the labels around them."""

    tree: NodePredictor
    bag: NodeBag

    def weights_of(self, classes: Tensor) -> Tensor:
        return self.tree.weights_of(classes)

    def fit_bag(
        self, examples: NodeExamples, held_out: NodeExamples | None, seed: int, *_: Any
    ) -> None:
        self.refit_bag(examples, seed)

    def refit_bag(self, examples: NodeExamples, seed: int) -> None:
        self.bag.fit(examples, self.counts(examples), seed)

    @property
    def known(self) -> dict[str, Any]:
        return {"num_features": len(self.bag.features)}

    def _named(self) -> tuple[str, tuple[str, ...]]:
        number = len(self.bag.features)
        return f"a linear model on {number:,} labels and pairs around nodes", ("model",)


class BesideBag(Beside):
    """A predictor of trees beside a linear model on what they contain, and decision trees on that.

    For numbers the predictor learns the residuals of the linear model, and its weighted output is
    added to the linear model's. The decision trees are only kept if the weight with which held-out
    examples are predicted best is not small.

    Args:
        tree: the predictor.
        bag: the linear model.
        extra: the decision trees, if there are any; :meth:`fit_bag` grows them.
    """

    tree: TreePredictor
    bag: LabelBag
    extra: ExtraTrees | None

    def __init__(self, tree: TreePredictor, bag: LabelBag, extra: ExtraTrees | None = None):
        super().__init__(tree, bag)
        self.kind, self.extra = tree.kind, extra

    @property
    def weights(self) -> tuple[Tensor, ...]:
        return (*self.shares, *([] if self.extra is None else [self.extra.share]))

    def _of_counts(self) -> tuple[Any, ...]:
        return self.bag, self.extra

    def _outputs(self, forest: Forest, **which: Any) -> tuple[Tensor, ...]:
        found = super()._outputs(forest, **which)
        if self.extra is None:
            return found
        return (*found, self.extra(self.extra.rows(self.bag.simple_counts(forest))))

    def fit_bag(
        self,
        examples: TreeExamples,
        held_out: TreeExamples | None,
        seed: int,
        groups: np.ndarray | None,
        forms: Sequence[str] = FORMS,
    ) -> np.ndarray | None:
        if held_out is not None:
            self._grow(examples, seed)
        if self.kind == "numbers":
            return self.bag.fit_numbers(examples, seed, forms, groups)
        if held_out is None:
            self.bag.fit_classes(examples)
        else:
            fit_in_best_form(self.bag, examples, held_out, seed, groups)
        return None

    def refit_bag(self, examples: TreeExamples, seed: int) -> None:
        if self.extra is not None:
            self._grow(examples, seed)
        if self.kind == "numbers":
            self.bag.refit_numbers(examples)
        else:
            self.bag.fit_classes(examples)

    def _grow(self, examples: TreeExamples, seed: int) -> None:
        """Grows decision trees, in the place of earlier ones."""
        if self.extra is None:
            made = ExtraTrees(
                self.bag.weight.shape[1], self.bag.roots, self.kind, self.bag.num_labels
            )
            self.extra = made.to(self.bag.weight.device)
        weights = None if examples.weights is None else examples.weights.cpu().double().numpy()
        targets, counts = examples.targets.cpu().numpy(), self.bag.simple_counts(examples.forest)
        self.extra.fit(counts, targets, weights, seed)
        if not len(self.extra.starts):
            self.extra = None

    def _weigh(self, outputs: Sequence[Tensor], targets: Tensor, counts: Tensor) -> None:
        super()._weigh(outputs, targets, counts)
        if self.extra is None:
            return
        if self.kind == "numbers":
            before = self.shares[0] * outputs[0] + self.shares[1] * outputs[1]
            share = best_factor(outputs[2] - before, targets - before, counts, 1.0)
            shares = torch.tensor([*((1 - share) * self.shares), share])
        else:
            shares = best_shares(torch.stack(list(outputs)), targets, counts)
        if shares[2] < LEAST:
            self.extra = None
        else:
            self.shares.copy_(shares[:2])
            self.extra.share.copy_(shares[2])

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

        def rest(of: TreeExamples, outputs: np.ndarray) -> TreeExamples:
            targets = ((of.targets.numpy() - outputs) / unit).astype(np.float32)
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
            "extra": None if self.extra is None else self.extra.sizes,
        }

    def _named(self) -> tuple[str, tuple[str, ...]]:
        form = "" if self.bag.form == "count" else f" ({self.bag.form})"
        used = int(self.bag.weight.any(dim=1).sum())
        linear = f"a linear model on {used:,} counts{form}"
        if self.extra is None:
            return linear, ("model",)
        names = " and names" if (self.extra.columns >= self.bag.num_labels).any() else ""
        trees = f"{len(self.extra.starts)} decision trees on counts of labels{names}"
        return f"{linear} and {trees}", ("model", "decision trees")


def with_counts(
    tree: Any,
    vocabulary: Vocabulary,
    question: Question,
    forest: Forest | None = None,
    letters: bool = False,
    extra: dict[str, int] | None = None,
    **known: Any,
) -> Beside:
    """A predictor beside a model of counts that is not fitted yet.

    Args:
        tree: the predictor.
        vocabulary: numbers of the labels.
        question: question that both answer.
        forest: trees to learn from, which say what is counted; None if that is ``known``.
        letters: True to count pieces of words.
        extra: sizes of decision trees that are ``known``; None for no trees.
        known: facts that another such model knew, its :attr:`Beside.known`.
    """
    if question.kind == "nodes":
        sizes = {**NodeBag.sizes(vocabulary, question), "top_down": tree.top_down is not None}
        return BesideNodeBag(tree, NodeBag(**sizes, **known))
    sizes = {**LabelBag.sizes(vocabulary, question), **known}
    if forest is None:
        bag, (outputs, roots) = LabelBag(**sizes), (question.num_outputs, question.roots)
        grown = extra and ExtraTrees(outputs, roots, question.kind, bag.num_labels, **extra)
        return BesideBag(tree, bag, grown or None)
    return BesideBag(tree, LabelBag.knowing(forest, letters, **sizes))

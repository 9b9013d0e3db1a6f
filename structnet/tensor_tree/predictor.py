"""Models of users' trees, which predict from the pooled states of a tree or from each node's."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from structnet.checks import check_bool, check_integer, check_number, check_one_of
from structnet.routing.samples import weighted_mean
from structnet.tensor_tree.child_sum_cell import looked_up
from structnet.tensor_tree.child_sum_tree_lstm import ChildSumTreeLSTM
from structnet.tensor_tree.heads import ClassLogits, check_one_each, forest_of
from structnet.tensor_tree.readout import TreeReadout
from structnet.tensor_tree.recursive_network import RecursiveNetwork
from structnet.tensor_tree.top_down_tree_lstm import TopDownTreeLSTM
from structnet.tensor_tree.tree_automaton import TreeAutomaton
from structnet.tensor_tree.tree_lstm import TreeLSTM
from structnet.training.modules import not_compiled
from structnet.training.targets import check_classes
from structnet.trees.examples import NodeExamples, TreeExamples
from structnet.trees.forest import Forest
from structnet.trees.ways_down import Entries, all_entries

KINDS = ("classes", "labels", "numbers")


class Answers(nn.Module):
    """What predictors of trees and of nodes have in common.

    Attributes:
        kind: one of ``KINDS``; "classes" for nodes.
    """

    kind: str

    def targets_and_weights(self, batch: Any) -> tuple[Tensor, Tensor]:
        """The targets, ``[n]`` or ``[n, outputs]``, and how much each counts, ``[n]``."""
        return batch.targets, batch.counts()

    def losses_as_weighed(self, batch: Any) -> Tensor:
        """The loss of each example times its weight, ``[examples]``."""
        targets, counts = self.targets_and_weights(batch)
        return losses_of(self.kind, self(batch.forest), targets) * counts


class TreePredictor(Answers):
    """Predicts the class, the labels, or some numbers of each example.

    Args:
        readout: module that gives the outputs.
        kind: "classes" for one class per example, trained by cross-entropy; "labels" for any
            number of labels, each by the cross-entropy of its presence; "numbers", by squared
            error.
        class_weight: weight of each class, or of each label where it is present; 1 by default.

    Shapes:
        output: ``[n, outputs]``: logits, or numbers.
        class_weight ``[outputs]``.

    Raises:
        ValueError: the kind is unknown, or the weights have the wrong shape.

    Example:
        >>> from structnet.trees.tree import Tree
        >>> from structnet.trees.vocabulary import Vocabulary
        >>> _ = torch.manual_seed(0)
        >>> trees = [Tree("f", [Tree("x")]), Tree("f", [Tree("y")])]
        >>> vocabulary = Vocabulary.from_trees(trees)
        >>> encoder = ChildSumTreeLSTM(8, vocabulary.num_types, vocabulary.num_tokens)
        >>> model = TreePredictor(TreeReadout(encoder, 3))
        >>> batch = TreeExamples(Forest.from_trees(trees, vocabulary), [2, 0])
        >>> model.loss(batch).shape, model.predict_proba(batch).shape
        (torch.Size([]), torch.Size([2, 3]))
    """

    class_weight: Tensor | None

    def __init__(
        self,
        readout: TreeReadout,
        kind: str = "classes",
        class_weight: Tensor | None = None,
    ):
        super().__init__()
        check_one_of("kind", kind, KINDS, "TreePredictor")
        self.readout, self.kind = readout, kind
        self.num_outputs = readout.output.out_features
        hold_class_weight(self, class_weight, self.num_outputs)

    def forward(self, forest: Forest, backend: str = "levels") -> Tensor:
        return self.readout(forest, backend)

    def losses(self, batch: TreeExamples) -> Tensor:
        """The loss of each example, ``[n]``.

        Raises:
            TargetError: a target is not a class.
            ValueError: the targets do not have the shape of the outputs, or examples have another
                number of trees than those of the model.
        """
        return self._losses_at(self(batch.forest), batch)

    def _losses_at(self, outputs: Tensor, batch: TreeExamples) -> Tensor:
        check_one_each(outputs, batch)
        return losses_of(self.kind, outputs, batch.targets, self.class_weight)

    def losses_as_weighed(self, batch: TreeExamples) -> Tensor:
        return self.losses(batch) * self.targets_and_weights(batch)[1]

    def loss(self, batch: TreeExamples) -> Tensor:
        """The weighted mean loss over the batch; errors as for :meth:`losses`."""
        return self.loss_at(self(batch.forest), batch)

    def loss_at(self, outputs: Tensor, batch: TreeExamples) -> Tensor:
        """The same of outputs that are known, ``[n, outputs]``."""
        losses, weights = self._losses_at(outputs, batch), batch.weights
        return weighted_mean(losses, None if weights is None else weights.to(losses))

    def predict(self, batch: TreeExamples | Forest) -> Tensor:
        """The likeliest class, ``[n]``; or ``[n, outputs]``: for each label 1 if it is likelier
        than not, else 0; or the numbers."""
        outputs = self(forest_of(batch))
        if self.kind == "classes":
            return outputs.argmax(-1)
        return (outputs > 0).long() if self.kind == "labels" else outputs

    def predict_proba(self, batch: TreeExamples | Forest) -> Tensor:
        """The probability of each class, or of each label, ``[n, outputs]``.

        Raises:
            ValueError: the model predicts numbers.
        """
        return probabilities(self.kind, self._logits(batch))

    def predict_log_proba(self, batch: TreeExamples | Forest) -> Tensor:
        """The logarithms of these probabilities, ``[n, outputs]``; errors as there."""
        return log_probabilities(self.kind, self._logits(batch))

    def _logits(self, batch: TreeExamples | Forest) -> Tensor:
        if self.kind == "numbers":
            raise ValueError("a model of kind 'numbers' has no probabilities; it has predict")
        return self(forest_of(batch))


def probabilities(kind: str, logits: Tensor) -> Tensor:
    """The probabilities of classes, which exclude each other, or of labels. ``[n, outputs]``."""
    return logits.softmax(-1) if kind == "classes" else logits.sigmoid()


def log_probabilities(kind: str, logits: Tensor) -> Tensor:
    """The logarithms of :func:`probabilities`. ``[n, outputs]``."""
    return logits.log_softmax(-1) if kind == "classes" else F.logsigmoid(logits)


def hold_class_weight(module: nn.Module, class_weight: Tensor | None, outputs: int) -> None:
    """Registers the weight of each class in a module, as a buffer.

    Shapes:
        class_weight ``[outputs]``.

    Raises:
        ValueError: the weights have another shape.
    """
    if class_weight is not None and class_weight.shape != (outputs,):
        raise ValueError(
            f"class_weight must have shape [{outputs}], one per output; got "
            f"{list(class_weight.shape)}"
        )
    # A copy, as loading weights writes into it.
    module.register_buffer("class_weight", None if class_weight is None else class_weight.clone())


def losses_of(
    kind: str, outputs: Tensor, targets: Tensor, class_weight: Tensor | None = None
) -> Tensor:
    """The loss of each example.

    Args:
        kind: kind of :class:`TreePredictor`, where the losses and their weights are described.

    Shapes:
        outputs ``[n, outputs]``; targets ``[n]`` or ``[n, outputs]`` -> ``[n]``.

    Raises:
        TargetError: a target is not a class.
        ValueError: the targets do not have the shape of the outputs.
    """
    if kind == "classes":
        check_classes(targets, outputs.shape[-1])
        return F.cross_entropy(outputs, targets, class_weight, reduction="none")
    if targets.shape != outputs.shape:
        raise ValueError(
            f"targets must have the shape of the outputs, {list(outputs.shape)}; got "
            f"{list(targets.shape)}"
        )
    if kind == "numbers":
        return (outputs - targets.to(outputs)).square().mean(-1)
    return F.binary_cross_entropy_with_logits(
        outputs, targets.to(outputs), pos_weight=class_weight, reduction="none"
    ).mean(-1)


class NodeAnswers(ClassLogits, Answers):
    """Predictions of modules whose outputs are logits of nodes.

    The logits are ``[nodes of all trees, num_classes]``, with nodes in preorder, tree after tree:
    see :meth:`structnet.Forest.preorder`.
    """

    kind = "classes"

    def targets_and_weights(self, batch: NodeExamples) -> tuple[Tensor, Tensor]:
        return batch.labels.clamp(min=0), self.counts(batch)

    def losses_as_weighed(self, batch: NodeExamples) -> Tensor:
        trees = torch.from_numpy(batch.order.trees).to(batch.labels.device)
        losses = super().losses_as_weighed(batch)
        return losses.new_zeros(len(batch)).index_add_(0, trees, losses)

    def weights_of(self, classes: Tensor) -> Tensor:
        """The weights of nodes of some classes. ``[n] -> [n]``."""
        raise NotImplementedError

    def counts(self, batch: NodeExamples) -> Tensor:
        """How much each node counts: its weight times that of its class, or 0 without a class.

        Shapes:
            ``[nodes of all trees]``, in preorder.
        """
        found = self.weights_of(batch.labels.clamp(min=0)) * (batch.labels >= 0)
        return found if batch.weights is None else found * batch.weights

    def accuracy(self, batch: NodeExamples) -> float:
        """The accuracy over the labelled nodes, weighted by :meth:`counts`."""
        right, counts = self.predict(batch) == batch.labels, self.counts(batch).double()
        return (counts @ right.double() / counts.sum()).item() if counts.any() else 1.0


class NodePredictor(NodeAnswers):
    """Predicts the class of each node, from what is at and below it or from the whole tree.

    Args:
        encoder: module that gives the states of all nodes.
        num_classes: number of classes.
        dropout: share of a state's entries that is dropped in training.
        top_down: True to use what is above and beside a node as well, by a
            :class:`~structnet.tensor_tree.TopDownTreeLSTM`.
        class_weight: weight of each class; 1 by default.

    The module is called with a forest, a backend and the entries for which logits are wanted, by
    default those of all nodes in preorder.

    Shapes:
        output: logits ``[entries, num_classes]``.
        class_weight ``[num_classes]``.

    Raises:
        ValueError: a size or share is out of its range, or the weights have the wrong shape.

    Reference: Socher et al., "Recursive Deep Models for Semantic Compositionality Over a Sentiment
    Treebank", EMNLP 2013, Sec. 4.
    """

    class_weight: Tensor | None

    def __init__(
        self,
        encoder: ChildSumTreeLSTM | TreeLSTM | RecursiveNetwork | TreeAutomaton,
        num_classes: int,
        dropout: float = 0.0,
        top_down: bool = False,
        class_weight: Tensor | None = None,
    ):
        super().__init__()
        check_integer("num_classes", num_classes, 1, owner="NodePredictor")
        check_number("dropout", dropout, 0, 0.999, owner="NodePredictor")
        check_bool("top_down", top_down, owner="NodePredictor")
        self.encoder, self.num_classes, self.dropout = encoder, num_classes, dropout
        hold_class_weight(self, class_weight, num_classes)
        c = encoder.hidden_size
        self.output = nn.Linear(c, num_classes)
        self.top_down = TopDownTreeLSTM(c) if top_down else None
        self.top_down_output = nn.Linear(c, num_classes, bias=False) if top_down else None

    def weights_of(self, classes: Tensor) -> Tensor:
        if self.class_weight is None:
            return torch.ones(len(classes), device=classes.device)
        return self.class_weight[classes]

    @not_compiled
    def forward(
        self, forest: Forest, backend: str = "levels", entries: Entries | None = None
    ) -> Tensor:
        h = self.encoder.node_states(forest, backend)
        below = self.output(F.dropout(h, self.dropout, self.training))
        if self.top_down is None or self.top_down_output is None:
            return looked_up(below, (entries or forest.preorder()).nodes)
        entries = entries or all_entries(forest)
        logits = looked_up(below, entries.nodes)
        above = self.top_down(forest, h, backend, entries)
        return logits + self.top_down_output(F.dropout(above, self.dropout, self.training))

    def loss(self, batch: NodeExamples) -> Tensor:
        """The mean over the labelled nodes of their weighted cross-entropy; 0 if there are none.

        Raises:
            TargetError: a label is not a class.
        """
        labelled = batch.labels >= 0
        labels = batch.labels[labelled]
        check_classes(labels, self.num_classes)
        losses = F.cross_entropy(self(batch.forest)[labelled], labels, reduction="none")
        return (losses * self.counts(batch)[labelled]).sum() / max(len(labels), 1)

"""Counts of labels, and of pairs of them, in a tree; and a linear model on these counts.

Pairs are of a parent and its child, and of a child and the next one: a sum over children does not
tell their order, nor do the counts of their labels. Names are also counted by what is above them
and whether they were there before in the tree, come again, or neither, as the name of a variable
that is never used; of two trees, also by whether the other one has them, and below what.

Much of what is asked about trees depends on what they contain, wherever it is, and a linear model
learns that best from few examples. It is therefore mixed with the Tree-LSTM, see
:class:`.BesideBag`. Words and names matter by how rare they are, as in tf-idf; for sizes and
numbers of labels the counts themselves, or their logarithms, are better: held-out examples choose.
For pairs of trees it also gets cosines between their counts, which no function of one
tree alone can give.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from scipy.sparse import csr_matrix, hstack
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import normalize
from torch import Tensor, nn

from structnet.tensor_tree.counts.counted import (
    BOTH,
    Counted,
    NamesMet,
    beside,
    label_sizes,
    labels_counted,
    labels_met,
    numbers_met,
    of_two_trees,
    under,
)
from structnet.tensor_tree.counts.linear_model import linear_classes
from structnet.tensor_tree.counts.number_sums import NumberSums
from structnet.tensor_tree.counts.piece_counts import PieceCounts
from structnet.tensor_tree.counts.ridge import best_ridge, folds_of, new_ridge, numbers_of
from structnet.tensor_tree.targets import Question
from structnet.trees.examples import TreeExamples
from structnet.trees.forest import Forest, Preorder
from structnet.trees.vocabulary import Vocabulary

# Factors of the error of logarithms and tf-idf, and of pairs of siblings, whose residuals are hard
# for a tree: they must be that much better.
HARDER, SIBLINGS = 1.2, 2.0
FORMS: tuple[str, ...] = ("count", "logarithm", "tf-idf")
# Forms for classes, with their penalties, small for rows of length 1.
CLASS_FORMS = (("logarithm", 1.0), ("tf-idf", 1 / 30))
# Length of a row of pieces beside counts that are not scaled: as if with the penalty of tf-idf.
PIECES = 30**0.5


class LabelBag(nn.Module):
    """A linear model on the counts of labels and pairs, separate for each tree of an example.

    Of two trees it also reads how alike they are: the cosines between their "tf-idf" counts of
    inner labels, of tokens, of pairs, and of all, and of pieces.

    It is fitted in closed form or by scikit-learn, not by gradients, so its weights are buffers.

    Args:
        num_types, num_tokens: sizes of the vocabulary.
        num_outputs: number of outputs for each example.
        roots: number of trees in an example.
        form: function of a count: "count" for the count itself, which adds up; "logarithm" for
            ``log(1 + count)``; or "tf-idf" for that times the rarity of what is counted, in a row
            scaled to length 1, so that a large tree counts no more than a small one. Fitting
            chooses one.
        num_pairs: number of pairs that are counted, of labels of parent and child or of a child and
            the next one, or of a parent's label and whether a name below it is met again, or in
            the other tree; :meth:`knowing` finds which.
        numbers: True if tokens may be numbers (``vocabulary.any_numbers``): they are counted as one
            label, and their values are summed over the tree and by the label of the node above.
        num_values: number of values that are also counted separately, as a port or a size may be
            more of a name than a number; :meth:`knowing` finds which.
        num_pieces: number of pieces of words that are counted, which :meth:`knowing` finds; their
            rows have length 1, or in the forms that are not scaled ``PIECES``.

    Shapes:
        weight: ``[roots * width, num_outputs]``, where the width is ``num_types + num_tokens +
            num_pairs + num_values``, plus 1 and the width of the sums with ``numbers``, plus
            ``num_pieces``; a row more for each cosine of two roots; bias: ``[num_outputs]``.
        pairs: ``[num_pairs]``, int64, ascending, as :func:`.under`, :func:`.beside` and
            :class:`.NamesMet` number them.
        values: ``[num_values]``, int64, ascending: tokens.
        rarity: ``[num_counts]``: factor of each count in "tf-idf" and cosines.
        output: ``[len(forest) / roots, num_outputs]``.
    """

    weight: Tensor
    bias: Tensor
    pairs: Tensor
    values: Tensor
    rarity: Tensor

    def __init__(
        self,
        num_types: int,
        num_tokens: int,
        num_outputs: int,
        roots: int,
        form: str,
        num_pairs: int = 0,
        numbers: bool = False,
        num_values: int = 0,
        num_pieces: int = 0,
    ):
        super().__init__()
        self.num_types, self.num_labels = num_types, num_types + num_tokens + numbers
        self.roots, self.alike = roots, roots == 2
        self.num_counts = self.num_labels + num_pairs + num_values
        self.penalty = dict(CLASS_FORMS).get(form, 1.0)
        self.take_form(form, torch.ones(self.num_counts))
        self.register_buffer("pairs", torch.zeros(num_pairs, dtype=torch.int64))
        # Left out of the state if there are none, as in most files.
        nothing = torch.zeros(num_values, dtype=torch.int64)
        self.register_buffer("values", nothing, persistent=num_values > 0)
        self.sums = NumberSums(num_types) if numbers else None
        self.pieces = PieceCounts(num_pieces) if num_pieces else None
        self.width = self.num_counts + (self.sums.width if self.sums else 0) + num_pieces
        rows = roots * self.width + (len(self.blocks) + (num_pieces > 0) if self.alike else 0)
        self.register_buffer("weight", torch.zeros(rows, num_outputs))
        self.register_buffer("bias", torch.zeros(num_outputs))
        self.used = np.ones(rows, bool)  # columns that fitting chose

    @staticmethod
    def sizes(vocabulary: Vocabulary, question: Question) -> dict[str, Any]:
        """The constructor's arguments for the labels of users' trees; :meth:`knowing` adds more."""
        return {
            **label_sizes(vocabulary),
            "num_outputs": question.num_outputs,
            "roots": question.roots,
            "form": "logarithm" if question.kind == "classes" else "count",
        }

    @classmethod
    def knowing(cls, forest: Forest, letters: bool = False, **sizes: Any) -> LabelBag:
        """A model that counts the pairs and numbers that at least two trees of a forest have.

        Args:
            forest: examples to learn from.
            letters: True to count pieces of words too, if the forest has the letters.
            sizes: the constructor's arguments by name, except the numbers of what is counted.
        """
        bag, order = cls(**sizes), forest.preorder()
        pairs = of_two_trees(order, bag.pairs_met(forest, order))
        values = of_two_trees(order, numbers_met(forest, order))
        pieces = PieceCounts.knowing(forest) if letters else PieceCounts(0)
        sizes |= {"num_values": len(values), "num_pieces": len(pieces.codes)}
        bag = cls(**sizes, num_pairs=len(pairs))
        if bag.pieces is not None:
            bag.pieces = pieces
        bag.pairs.copy_(pairs)
        bag.values.copy_(values)
        if bag.sums is not None:
            bag.sums.fit_scale(forest)
        return bag

    @property
    def blocks(self) -> tuple[slice, ...]:
        """The columns of inner labels, of tokens, of pairs, and of all, which cosines compare."""
        ends = (0, self.num_types, self.num_labels, self.num_labels + len(self.pairs))
        return (*(slice(*each) for each in itertools.pairwise(ends)), slice(0, self.num_counts))

    def take_form(self, form: str, rarity: Tensor) -> None:
        """Sets the form of the counts, and ``rarity`` if that form or the cosines use it."""
        self.form = form
        self.register_buffer("rarity", rarity, persistent=form == "tf-idf" or self.alike)

    def rarity_in(self, forest: Forest) -> Tensor:
        """The rarity of all that is counted, ``[num_counts]``: ``1 + log(n / n_j)``.

        Reference:
            Salton, Buckley, Term-weighting approaches in automatic text retrieval, 1988; smoothed
            as in scikit-learn.
        """
        order = forest.preorder()
        entry, _, column = self.counted(forest, order)
        ones, shape = np.ones(len(column)), (len(forest), self.num_counts)
        met = csr_matrix((ones, (order.trees[entry], column)), shape)
        return torch.from_numpy(TfidfTransformer().fit(met).idf_).to(self.bias)

    def counts(self, forest: Forest) -> csr_matrix:
        """The counts in the model's form, and sums: ``[len(forest) / roots, roots * width]``."""
        order = forest.preorder()
        entry, _, column = self.counted(forest, order)
        example, which = np.divmod(order.trees[entry], self.roots)
        column = column + which * self.width
        shape = (len(forest) // self.roots, self.roots * self.width)
        found = csr_matrix((np.ones(len(column)), (example, column)), shape)
        found.sum_duplicates()
        pieces = self.pieces(forest) if self.pieces is not None else None
        cosines = [self._cosines(found)] if self.alike else []
        if self.alike and pieces is not None:
            cosines.append(pieces[::2].multiply(pieces[1::2]).sum(axis=1))
        found.data = self.in_form(found.data, found.indices % self.width)
        if self.form == "tf-idf":
            found = normalize(found, copy=False)
        others = [self.sums(forest, self.form)] if self.sums is not None else []
        others += [pieces * self.of_pieces] if pieces is not None else []
        if not others:
            return hstack((found, *cosines), format="csr")
        parts = []
        for i in range(self.roots):
            parts.append(found[:, i * self.width :][:, : self.num_counts])
            parts += [each[i :: self.roots] for each in others]
        return hstack((*parts, *cosines), format="csr")

    @property
    def of_pieces(self) -> float:
        """The length of a row of pieces."""
        return 1.0 if self.form == "tf-idf" else PIECES

    def in_form(
        self, counts: np.ndarray, columns: np.ndarray, form: str | None = None
    ) -> np.ndarray:
        """Counts of some columns in a form, by default the model's, before rows are scaled.

        Shapes:
            ``[n] -> [n]``.
        """
        form = form or self.form
        if form != "count":
            counts = np.log1p(counts)
        if form == "tf-idf":
            counts *= self.rarity.cpu().double().numpy()[columns]
        return counts

    def _cosines(self, counts: csr_matrix) -> np.ndarray:
        """How alike the two trees of each example are. ``[n, 2 * width] -> [n, 4]``."""
        data = self.in_form(counts.data, counts.indices % self.width, "tf-idf")
        rows = csr_matrix((data, counts.indices, counts.indptr), counts.shape)
        left, right = rows[:, : self.width], rows[:, self.width :]
        found = np.zeros((len(self.blocks), rows.shape[0]))
        for cosine, block in zip(found, self.blocks, strict=True):
            if block.stop > block.start:  # trees of a single leaf have no pairs
                one, other = (normalize(side[:, block]) for side in (left, right))
                cosine[:] = np.ravel(one.multiply(other).sum(axis=1))
        return found.T

    def counted(self, forest: Forest, order: Preorder) -> Counted:
        """What is counted in each tree, with the column of each count."""
        pair = self.pairs_met(forest, order).among(self.pairs)
        value = numbers_met(forest, order).among(self.values)
        of_pairs = pair._replace(code=self.num_labels + pair.code)
        of_values = value._replace(code=self.num_labels + len(self.pairs) + value.code)
        labels = labels_counted(forest, order, self.num_types, self.num_labels)
        return Counted(*map(np.concatenate, zip(labels, of_pairs, of_values, strict=True)))

    def pairs_met(self, forest: Forest, order: Preorder) -> Counted:
        """The pairs in all trees, at the lower or right node; see :func:`.under`."""
        labels, parents = self.labels_met(forest, order), forest.parents(order)
        given = labels, parents, self.num_labels
        found = under(*given), beside(*given)[1], self._names_met(forest, order, labels)
        return Counted(*map(np.concatenate, zip(*found, strict=True)))

    def _names_met(self, forest: Forest, order: Preorder, labels: Counted) -> Counted:
        """What becomes of names in their trees and, of two trees, in the other one."""
        names = NamesMet.in_trees(labels, forest, order, forest.parents(order))
        found = [names.repeats(self.num_labels)]
        found += [names.across(self.num_labels)] if self.roots == 2 else []
        return Counted(*map(np.concatenate, zip(*found, strict=True)))

    def labels_met(self, forest: Forest, order: Preorder) -> Counted:
        """The labels of all nodes and words; see :func:`.labels_met`."""
        return labels_met(forest, order, self.num_types, self.num_labels)

    @property
    def simple(self) -> np.ndarray:
        """The columns of labels, and of what becomes of names, which are few."""
        of_names = self.num_labels + np.flatnonzero(self._are_names)
        return np.append(np.arange(self.num_labels), of_names)

    @property
    def _are_names(self) -> np.ndarray:
        """Which of the pairs are of a label and what becomes of a name below it."""
        return self.pairs.cpu().numpy() >= 2 * self.num_labels**2

    def simple_counts(self, forest: Forest) -> csr_matrix:
        """How often each tree has what the columns ``simple`` count, ``[len(forest), columns]``."""
        order = forest.preorder()
        names = self._names_met(forest, order, self.labels_met(forest, order))
        names = names.among(self.pairs[self._are_names])
        labels = labels_counted(forest, order, self.num_types, self.num_labels)
        column = np.append(labels.code, self.num_labels + names.code)
        where = order.trees[np.append(labels.entry, names.entry)], column
        return csr_matrix((np.ones(len(column)), where), (len(forest), len(self.simple)))

    def forward(self, forest: Forest) -> Tensor:
        found = self.counts(forest) @ self.weight.cpu().double().numpy()
        return torch.from_numpy(found).to(self.bias) + self.bias

    def fit_classes(self, examples: TreeExamples) -> None:
        """Fits a logistic regression in the present form, starting from the present weights.

        Args:
            examples: examples of at least two classes.
        """
        self.take_form(self.form, self.rarity_in(examples.forest))
        self.fit_form(examples)

    def start_anew(self) -> None:
        """Forgets the weights."""
        self.weight.zero_()
        self.bias.zero_()

    @property
    def labels_alone(self) -> np.ndarray:
        """A mask of the rows of weights of all but pairs of labels, names of two trees, and values.

        Names in both trees add columns, which are noise where only labels tell.
        """
        place = np.arange(len(self.weight))
        shared = place >= self.roots * self.width  # the cosines
        place = place % self.width
        across = int((self.pairs >= (2 * self.num_labels + BOTH) * self.num_labels).sum())
        simple = self.simple[: len(self.simple) - across]
        return shared | np.isin(place, simple) | (place >= self.num_counts)

    def losses(self, examples: TreeExamples) -> np.ndarray:
        """The cross-entropy of each example, ``[n]``."""
        outputs = self(examples.forest)
        return F.cross_entropy(outputs, examples.targets, reduction="none").cpu().numpy()

    def fit_form(self, examples: TreeExamples) -> None:
        """Fits the weights in the present form, starting from the present ones."""
        x, y = self.counts(examples.forest)[:, self.used], examples.targets.cpu().numpy()
        found = linear_classes(
            x,
            y,
            len(self.bias),
            self.penalty,
            examples.counts().cpu().double().numpy(),
            (self.weight[self.used].cpu().double().numpy(), self.bias.cpu().double().numpy()),
        )
        weight, bias = (torch.from_numpy(each).to(self.weight) for each in found)
        self.weight.zero_()  # it may have been fitted before
        self.weight[self.used] = weight
        self.bias.copy_(bias)

    def fit_numbers(
        self,
        examples: TreeExamples,
        seed: int,
        forms: Sequence[str] = FORMS,
        groups: np.ndarray | None = None,
    ) -> np.ndarray:
        """Fits a ridge regression; folds choose penalty and form, and which pairs are used.

        Args:
            examples: examples with numbers.
            seed: seed of the folds.
            forms: forms to choose from.
            groups: group of each example, each within one fold; None if each example is a group
                by itself.

        Shapes:
            groups ``[n]``; output ``[n, outputs]``: the prediction for each example by a model that
            was fitted to the other folds.
        """
        place, is_label = np.arange(len(self.weight)) % self.width, self.labels_alone
        ends = [self.num_labels + int((self.pairs < i * self.num_labels**2).sum()) for i in (1, 2)]
        is_under = is_label | (place < ends[0]) | (place >= ends[1])  # all but pairs of siblings
        choices = [(is_label, 1.0), (is_under, 1.0)]
        if not is_under.all():
            choices.append((np.ones_like(is_under), SIBLINGS))
        y, count = numbers_of(examples)
        folds, rarity = folds_of(y, seed, groups), self.rarity_in(examples.forest)
        least, best, guess = np.inf, None, np.empty(y.shape)
        for form in forms:
            self.take_form(form, rarity)
            x = self.counts(examples.forest)
            for used, harder in choices:
                error, penalty, predicted = best_ridge(x[:, used], y, count, folds)
                error *= harder * (HARDER if form != "count" else 1.0)
                if best is None or error < least:
                    least, best, guess = error, (form, used, penalty), predicted
        assert best is not None
        self.form, self.used, self.penalty = best
        self.refit_numbers(examples)
        return guess

    def refit_numbers(self, examples: TreeExamples) -> None:
        """Fits a ridge regression in the present form, to the columns that are used."""
        self.take_form(self.form, self.rarity_in(examples.forest))
        y, count = numbers_of(examples)
        model = new_ridge(self.penalty).fit(self.counts(examples.forest)[:, self.used], y, count)
        coef = model.coef_.reshape(y.shape[1], -1)
        bias = np.broadcast_to(model.intercept_, y.shape[1:])
        self.weight.zero_()  # it may have been fitted before
        self.weight[self.used] = torch.from_numpy(coef.T).to(self.weight)
        self.bias.copy_(torch.from_numpy(bias.copy()))

"""How often labels, and pairs of parent and child, occur in a tree; and a linear model of that.

Much of what is asked of trees is answered by what is in them, wherever it stands, and from few
examples a linear model learns that best. So it stands beside the Tree-LSTM: see
:class:`structnet.tensor_tree.predictor.BesideBag`. Words and names say it by how rare they are, as
tf-idf counts them, and sizes and numbers of labels by counts as they are, or their logarithms:
examples that are held out choose.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from scipy.sparse import csr_matrix, hstack
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold, KFold
from sklearn.preprocessing import normalize
from torch import Tensor, nn

from structnet.estimators.held_out import parted
from structnet.tensor_tree.logistic import logistic_regression
from structnet.tensor_tree.number_sums import NumberSums
from structnet.tensor_tree.row_space import space_of
from structnet.trees.examples import TreeExamples
from structnet.trees.forest import Forest, Preorder
from structnet.trees.number_tokens import FIRST
from structnet.trees.vocabulary import NONE

FOLDS = 5
PENALTIES = np.logspace(4, -2, 7)
PAST = 2  # penalties in a row that are worse than one before, for weaker ones to be no better
HARDER = 1.2  # times the error: what logarithms and tf-idf leave is harder for a tree to learn
DENSER = 1  # a solver that makes few vectors of its own gains where products are fewer
FORMS = ("count", "logarithm", "tf-idf")
LENGTH_1 = ("tf-idf", "share")  # the latter of models saved before there was the former
CLASS_FORMS = {"logarithm": 1.0, "tf-idf": 1 / 30}  # with their penalty: rows of length 1 are small
ASKED = 1000  # examples by which a form is chosen, so that it takes a second
ABSENT = -30.0  # the logit of a class that no example to learn from has


def words_of(tokens: np.ndarray, size: int) -> np.ndarray:
    """Tokens with one for all numbers, the last of so many. ``[n] -> [n]``."""
    return np.where(tokens >= FIRST, size - 1, tokens)


class Counted(NamedTuple):
    """What is counted in trees, by where it stands.

    Attributes:
        entry: entry of the node in the preorder.
        word: place among all words, in preorder, of what a text's word counts; else -1.
        code: column of the count or, before it is known whether there is one, what is met.

    Shapes:
        ``[m]`` each.
    """

    entry: np.ndarray
    word: np.ndarray
    code: np.ndarray

    def among(self, known: Tensor) -> Counted:
        """Those whose code is a known one, by its place among them."""
        codes = known.cpu().numpy()
        place = np.searchsorted(codes, self.code)
        there = place < len(codes)
        there[there] = codes[place[there]] == self.code[there]
        return Counted(self.entry[there], self.word[there], place[there])


def _numbers(forest: Forest, order: Preorder) -> Counted:
    """All numbers in all trees, by their tokens."""
    tokens = forest.tokens[order.nodes]
    entry = np.flatnonzero(tokens >= FIRST)
    return Counted(entry, np.full(len(entry), NONE), tokens[entry])


def _shared(order: Preorder, met: Counted) -> Tensor:
    """The codes that at least two trees have, ascending."""
    both = np.unique(np.stack((met.code, order.trees[met.entry])), axis=1)[0]
    code, count = np.unique(both, return_counts=True)
    return torch.from_numpy(code[count >= 2])


def _best_ridge(
    given: csr_matrix | np.ndarray, y: np.ndarray, count: np.ndarray, folds: Sequence[Any]
) -> tuple[float, Ridge, np.ndarray]:
    """The least squared error over folds, the model that has it, and what it says of held-out rows.

    Shapes:
        given ``[n, columns]``; y ``[n, outputs]``; count ``[n]``; what is said ``[n, outputs]``.
    """
    found: list[tuple[float, Ridge, np.ndarray]] = []
    for penalty in PENALTIES:
        model, said = Ridge(penalty, solver="sparse_cg"), np.empty(y.shape)
        for learn, held in folds:
            model.fit(given[learn], y[learn], count[learn])
            said[held] = model.predict(given[held]).reshape(len(held), -1)
        found.append((float((count[:, None] * (said - y) ** 2).sum()), model, said))
        errors = [error for error, *_ in found]
        if min(errors[-PAST:]) > min(errors):
            break
    return min(found, key=lambda each: each[0])


class LabelBag(nn.Module):
    """A linear model on the counts of labels and pairs, for each tree of an example by itself.

    It is fitted in closed form or by scikit-learn, not by gradients: its numbers are buffers.

    Args:
        num_types, num_tokens: sizes of the vocabulary.
        num_outputs: numbers an example.
        roots: trees an example.
        form: function of a count: "count", itself, which adds up; "logarithm", ``log(1 + count)``;
            "tf-idf", that times how few trees have what is counted, in a row brought to length 1,
            so that a large tree says no more than a small one; or "share", without that factor.
            Fitting chooses one of the first three.
        num_pairs: pairs of labels of a parent and a child that are counted; :meth:`knowing` finds
            which.
        numbers: tokens may be numbers (``vocabulary.numbers``): count them as one label, and add
            up their values, too, by themselves and by the label of the node that they are below.
        num_values: numbers that are counted each by itself, too, as a port or a size may be a name
            more than a value; :meth:`knowing` finds which.

    Shapes:
        weight: ``[roots * width, num_outputs]``, where the width is ``num_types + num_tokens +
            num_pairs + num_values``, and with numbers 1 and the width of their sums more; bias:
            ``[num_outputs]``.
        pairs: ``[num_pairs]``, int64, ascending: parent times the number of labels, plus child.
        values: ``[num_values]``, int64, ascending: tokens.
        rarity: ``[num_counts]``: factor of each count, for "tf-idf".
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
    ):
        super().__init__()
        self.num_types, self.num_labels = num_types, num_types + num_tokens + numbers
        self.roots = roots
        self.num_counts = self.num_labels + num_pairs + num_values
        self.take_form(form, torch.ones(self.num_counts))
        self.register_buffer("pairs", torch.zeros(num_pairs, dtype=torch.int64))
        # Left out of the states where there are none: most files hold none.
        nothing = torch.zeros(num_values, dtype=torch.int64)
        self.register_buffer("values", nothing, persistent=num_values > 0)
        self.sums = NumberSums(num_types) if numbers else None
        self.width = self.num_counts + (self.sums.width if self.sums else 0)
        self.register_buffer("weight", torch.zeros(roots * self.width, num_outputs))
        self.register_buffer("bias", torch.zeros(num_outputs))

    @classmethod
    def knowing(cls, forest: Forest, **sizes: Any) -> LabelBag:
        """One that counts the pairs and numbers which at least two trees of a forest have.

        Args:
            forest: examples to learn from.
            sizes: the constructor's arguments by name, but for the numbers of these.
        """
        bag, order = cls(**sizes), forest.preorder()
        pairs = _shared(order, bag.pairs_met(forest, order))
        values = _shared(order, _numbers(forest, order))
        bag = cls(**sizes, num_pairs=len(pairs), num_values=len(values))
        bag.pairs.copy_(pairs)
        bag.values.copy_(values)
        if bag.sums is not None:
            bag.sums.fit_scale(forest)
        return bag

    def take_form(self, form: str, rarity: Tensor) -> None:
        """Counts in this form from now on; ``rarity`` is used, and kept, by "tf-idf" alone."""
        self.form = form
        self.register_buffer("rarity", rarity, persistent=form == "tf-idf")

    def rarity_in(self, forest: Forest) -> Tensor:
        """How few trees have each thing that is counted, ``[num_counts]``: ``1 + log(n / n_j)``.

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
        """The counts in their form, and sums: ``[len(forest) / roots, roots * width]``."""
        order = forest.preorder()
        entry, _, column = self.counted(forest, order)
        example, which = np.divmod(order.trees[entry], self.roots)
        column = column + which * self.width
        shape = (len(forest) // self.roots, self.roots * self.width)
        found = csr_matrix((np.ones(len(column)), (example, column)), shape)
        found.sum_duplicates()
        found.data = self.in_form(found.data, found.indices % self.width)
        if self.form in LENGTH_1:
            found = normalize(found, copy=False)
        if self.sums is None:
            return found
        parts, sums = [], self.sums(forest)
        for i in range(self.roots):
            parts += [found[:, i * self.width :][:, : self.num_counts], sums[i :: self.roots]]
        return hstack(parts, format="csr")

    def in_form(self, counts: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Counts of some columns in their form, but for the length of the row. ``[n] -> [n]``."""
        if self.form != "count":
            counts = np.log1p(counts)
        if self.form == "tf-idf":
            counts *= self.rarity.cpu().double().numpy()[columns]
        return counts

    def _words(self, tokens: np.ndarray) -> np.ndarray:
        """Tokens with one for all numbers, the last."""
        return words_of(tokens, self.num_labels - self.num_types)

    def counted(self, forest: Forest, order: Preorder) -> Counted:
        """What is counted in each tree by itself, by its column."""
        nodes = order.nodes
        kinds, tokens = forest.types[nodes], self._words(forest.tokens[nodes])
        inner, leaf = np.flatnonzero(kinds >= 0), np.flatnonzero(tokens >= 0)
        entry, words = forest.words_at(nodes)
        pair = self.pairs_met(forest, order).among(self.pairs)
        value = _numbers(forest, order).among(self.values)
        own = np.full(len(inner) + len(leaf), NONE)
        columns = (
            kinds[inner],
            self.num_types + tokens[leaf],
            self.num_types + words,
            self.num_labels + pair.code,
            self.num_labels + len(self.pairs) + value.code,
        )
        return Counted(
            np.concatenate((inner, leaf, entry, pair.entry, value.entry)),
            np.concatenate((own, np.arange(len(words)), pair.word, value.word)),
            np.concatenate(columns),
        )

    def pairs_met(self, forest: Forest, order: Preorder) -> Counted:
        """The pairs of labels at all edges of all trees, each as one number, by the lower node.

        The words of a text make pairs with the label of the node above it.
        """
        label = np.where(
            forest.types >= 0, forest.types, self.num_types + self._words(forest.tokens)
        )[order.nodes]
        of, words = forest.words_at(order.nodes)
        entry = np.concatenate((np.arange(len(label)), of))
        word = np.concatenate((np.full(len(label), NONE), np.arange(len(words))))
        below = np.concatenate((label, self.num_types + words))
        above = forest.parents(order)[entry]
        code = label[above] * self.num_labels + below
        return Counted(*(each[above >= 0] for each in (entry, word, code)))

    def forward(self, forest: Forest) -> Tensor:
        found = self.counts(forest) @ self.weight.cpu().double().numpy()
        return torch.from_numpy(found).to(self.bias) + self.bias

    def fit_classes(
        self, examples: TreeExamples, held_out: TreeExamples | None = None, seed: int = 0
    ) -> None:
        """Logistic regression, in the form that says held-out examples best.

        Args:
            examples: examples of at least two classes.
            held_out: others to choose the form by; None keeps the form, and goes on from the
                weights of now, which may have been fitted to some of these examples.
            seed: seed of the choice of some examples, where there are very many.
        """
        forms = [self.form] if held_out is None else list(CLASS_FORMS)
        rarity, number = self.rarity_in(examples.forest), len(examples)
        asked = examples
        if number > ASKED and len(forms) > 1:  # of each class at least one
            some, _ = parted(number, 1 - ASKED / number, seed, examples.targets.cpu().numpy())
            asked = examples[some]
        losses = []
        for form in forms:
            self.take_form(form, rarity)
            self._fit_logistic(asked, goes_on=held_out is None)
            losses.append(0.0 if held_out is None else self.loss(held_out))
        best = forms[int(np.argmin(losses))]
        if best != self.form or asked is not examples:
            self.take_form(best, rarity)
            self._fit_logistic(examples)

    def loss(self, examples: TreeExamples) -> float:
        """The mean cross-entropy of examples of classes."""
        losses = F.cross_entropy(self(examples.forest), examples.targets, reduction="none")
        weights = examples.weights
        return float(np.average(losses.cpu(), weights=None if weights is None else weights.cpu()))

    def _fit_logistic(self, examples: TreeExamples, goes_on: bool = False) -> None:
        """Fits the weights; those of now are the beginning if it goes on from a fit like this."""
        y, count = examples.targets.cpu().numpy(), examples.weights
        classes, codes = np.unique(y, return_inverse=True)
        x, known, start = self.counts(examples.forest), len(classes), None
        space = space_of(x, known)
        if goes_on and not space and (self.bias[classes] > ABSENT).all():
            start = np.vstack(
                [each.cpu().double()[..., classes] for each in (self.weight, self.bias)]
            )
        w = logistic_regression(
            space.coordinates if space else x,
            codes,
            # Of two classes, each has half of the one vector of weights that is usually penalised.
            CLASS_FORMS[self.form] * (2 if known == 2 else 1),
            None if count is None else count.cpu().double().numpy(),
            start,
        )
        coef, bias = w[:-1].T, w[-1]
        if space:
            coef, bias = space.model(coef, bias)
        self.weight.zero_()  # it may have been fitted before
        self.bias.fill_(ABSENT)
        self.weight[:, classes] = torch.from_numpy(coef.T).to(self.weight)
        self.bias[classes] = torch.from_numpy(bias).to(self.bias)

    def fit_numbers(
        self,
        forest: Forest,
        y: np.ndarray,
        weights: np.ndarray | None,
        seed: int,
        forms: Sequence[str] = FORMS,
        groups: np.ndarray | None = None,
    ) -> np.ndarray:
        """Ridge regression; cross-validation chooses penalty and form, and whether pairs count.

        Args:
            forest: examples.
            y: numbers of each.
            weights: count of each.
            seed: seed of the folds.
            forms: forms that it may choose from.
            groups: group of each, none of which is in two folds; None where each is by itself.

        Shapes:
            y ``[n, outputs]``; weights, groups ``[n]``; output ``[n, outputs]``: for each
            example what the model says that was fitted to the other folds.
        """
        place = np.arange(len(self.weight)) % self.width
        labels = np.flatnonzero((place < self.num_labels) | (place >= self.num_counts))
        different = 0 if groups is None else len(np.unique(groups))
        if different > 1:
            kind: Any = GroupKFold(min(FOLDS, different), shuffle=True, random_state=seed)
            folds = list(kind.split(y, groups=groups))
        else:
            kind = KFold(min(FOLDS, len(y)), shuffle=True, random_state=seed)
            folds = list(kind.split(y))
        count = np.ones(len(y)) if weights is None else weights
        least, best, guess = np.inf, None, np.empty(y.shape)
        rarity = self.rarity_in(forest)
        for form in forms:
            self.take_form(form, rarity)
            x = self.counts(forest)
            for columns in (labels, np.arange(len(place))):
                rows = x[:, columns]
                space = space_of(rows) if len(y) ** 2 < DENSER * rows.nnz else None
                given = space.coordinates if space else rows
                error, model, said = _best_ridge(given, y, count, folds)
                error *= HARDER if form != "count" else 1.0
                if best is None or error < least:
                    least, best, guess = error, (model, given, space, form, columns), said
        assert best is not None
        model, given, space, form, columns = best
        self.take_form(form, rarity)
        model.fit(given, y, count)
        coef = model.coef_.reshape(y.shape[1], -1)
        bias = np.broadcast_to(model.intercept_, y.shape[1:])
        if space:
            coef, bias = space.model(coef, bias)
        self.weight.zero_()  # it may have been fitted before
        self.weight[columns] = torch.from_numpy(coef.T).to(self.weight)
        self.bias.copy_(torch.from_numpy(bias.copy()))
        return guess

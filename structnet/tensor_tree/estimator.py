"""Estimators of scikit-learn's kind whose samples are trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from structnet.checks import check_bool, check_number, wrong
from structnet.estimators import file
from structnet.estimators.checked import encode_labels, mean_one, seed_from
from structnet.estimators.held_out import parted
from structnet.estimators.inputs import check_weights, off_torch, plain_labels, plain_numbers
from structnet.estimators.scale import Standardizer
from structnet.parse.conversion import as_tree
from structnet.tensor_tree.explanation import TreeExplanation, explain
from structnet.tensor_tree.settings import TreeLSTMSettings
from structnet.tensor_tree.training import Question, Targets, Trained, train
from structnet.training.history import History
from structnet.training.metrics import evaluating
from structnet.trees.forest import Forest
from structnet.trees.tree import Tree

BATCH = 500  # trees that are asked about at once
SHOWN = 60  # characters of a wrong sample in a sentence


class TreeLSTMEstimator(BaseEstimator):
    """What the estimators of trees share: samples, hyper-parameters, files.

    A sample is a tree, or a tuple of trees, as many in each. A tree is a :class:`structnet.Tree`,
    bracketed text, or a parse of nltk, spaCy, conllu or networkx.

    Args:
        cell, hidden_size, rank, pools, bag, min_count, dropout, label_dropout, epochs, batch_size,
        learning_rate, weight_decay, patience: hyper-parameters of
            :class:`structnet.tensor_tree.settings.TreeLSTMSettings`, with its defaults.
        vectors: file of words' vectors, as GloVe and word2vec write them as text, for the tokens.
        train_vectors: train these further.
        validation_fraction: share of the samples of ``fit`` that are held out to choose the epoch.
        random_state: seed of everything random, as in scikit-learn.
        device: "cpu", "cuda", ...
        folder: place of the training's state; ``fit`` with the same data goes on from there.
        verbose: show a bar.

    Attributes:
        trained_: the model, its vocabulary, and the hyper-parameters that were used.
        history_: a record an epoch.
    """

    trained_: Trained

    def __init__(
        self,
        *,
        cell: str = TreeLSTMSettings.cell,
        hidden_size: int = TreeLSTMSettings.hidden_size,
        rank: int | None = TreeLSTMSettings.rank,
        pools: Sequence[str] | None = TreeLSTMSettings.pools,
        bag: bool = TreeLSTMSettings.bag,
        min_count: int = TreeLSTMSettings.min_count,
        dropout: float = TreeLSTMSettings.dropout,
        label_dropout: float | None = TreeLSTMSettings.label_dropout,
        epochs: int | None = TreeLSTMSettings.epochs,
        batch_size: int | None = TreeLSTMSettings.batch_size,
        learning_rate: float = TreeLSTMSettings.learning_rate,
        weight_decay: float = TreeLSTMSettings.weight_decay,
        patience: int | None = TreeLSTMSettings.patience,
        vectors: str | Path | None = None,
        train_vectors: bool = True,
        validation_fraction: float = 0.1,
        random_state: Any = None,
        device: str = "cpu",
        folder: str | Path | None = None,
        verbose: bool = False,
    ):
        # scikit-learn asks that every parameter is kept as it is given.
        self.__dict__.update((name, value) for name, value in locals().items() if name != "self")

    @property
    def history_(self) -> History:
        """A record an epoch; see :class:`structnet.History`."""
        check_is_fitted(self)
        return self.trained_.history

    @property
    def model_(self) -> Any:
        """The torch module."""
        check_is_fitted(self)
        return self.trained_.model

    def summary(self) -> str:
        """What was chosen and what it came to, in a few lines.

        Example:
            >>> from structnet import TreeLSTMClassifier
            >>> X, y = ["(+ 1 2)", "(- 1 2)", "(+ 2 1)", "(- 2 1)"] * 10, ["sum", "rest"] * 20
            >>> print(TreeLSTMClassifier(epochs=5, random_state=0).fit(X, y).summary())
            child-sum cell of hidden size 64, 34,498 parameters
            2 labels of inner nodes, 2 of leaves or tokens, beside the unknown
            reads the root, max and attention of the nodes' states
            a linear model on 10 counts beside it: weights ... of the tree and ... of the model
            best epoch ... of 5 on the held-out examples
        """
        check_is_fitted(self)
        told, model = self.trained_.settings, self.model_
        vocabulary, best = self.trained_.vocabulary, self.history_.best
        number = sum(parameter.numel() for parameter in model.parameters())
        types, tokens = len(vocabulary.types or ()), len(vocabulary.tokens)
        lines = [
            f"{told.cell} cell of hidden size {told.hidden_size}, {number:,} parameters",
            f"{types:,} labels of inner nodes, {tokens:,} of leaves or tokens, beside the unknown",
        ]
        if self.trained_.question.kind != "nodes":
            *first, last = told.pools or ("root",)
            read = f"{', '.join(first)} and {last}" if first else last
            lines.append(f"reads the {read} of the nodes' states")
        if told.bag:
            tree, bag = model.shares.tolist()
            counts = f"a linear model on {len(model.bag.weight):,} counts beside it"
            lines.append(f"{counts}: weights {tree:.2g} of the tree and {bag:.2g} of the model")
        if best is not None:
            held = any(name.startswith("validation") for name in best)
            of = f"best epoch {best['epoch']} of {len(self.history_)}"
            lines.append(of + (" on the held-out examples" if held else ""))
        return "\n".join(lines)

    def save(self, path: str | Path) -> None:
        """Writes the fitted estimator to one safetensors file, without pickle.

        Raises:
            TypeError: a parameter, a class or a label of a node is no plain value.
        """
        check_is_fitted(self)
        file.save(self, path)

    @classmethod
    def load(cls, path: str | Path) -> TreeLSTMEstimator:
        """The estimator that :meth:`save` wrote.

        Raises:
            CheckpointError: there is no such file, or it holds something else.
        """
        return file.load(cls, path)

    def __sklearn_is_fitted__(self) -> bool:
        return "trained_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.no_validation = True
        return tags

    # Fitting

    def _fitted(
        self, kind: str, outputs: int, learn: Targets, held: Targets | None, roots: int
    ) -> Any:
        names = {each.name for each in fields(TreeLSTMSettings)} - {"seed"}
        given: dict[str, Any] = {name: getattr(self, name) for name in names}
        settings = TreeLSTMSettings(**given, seed=self.seed_)
        question = Question(kind, outputs, roots)
        self.trained_ = train(
            settings,
            question,
            learn,
            held,
            device=self.device,
            folder=self.folder,
            progress=self.verbose,
            vectors=self.vectors,
            train_vectors=self.train_vectors,
        )
        return self

    def _samples(self, X: Any, least: int = 1) -> list[tuple[Tree, ...]]:
        """The samples as tuples of trees.

        Raises:
            TypeError: a sample is no tree.
            ValueError: there are too few samples, or they differ in their number of trees.
        """
        if isinstance(X, (str, Tree)) or not hasattr(X, "__iter__"):
            raise TypeError(
                "X must be a list of trees, or of tuples of trees. Got "
                f"{'one tree' if isinstance(X, (str, Tree)) else type(X).__name__}."
            )
        found = [_sample(x, i) for i, x in enumerate(X)]
        if len(found) < least:
            raise ValueError(f"got {len(found)} samples; expected at least {least}")
        known = self.trained_.question.roots if self.__sklearn_is_fitted__() else None
        roots = known if least == 1 and known else len(found[0])
        for i, each in enumerate(found):
            if len(each) != roots:
                raise ValueError(
                    f"sample {i} has {len(each)} trees; expected {roots}, as "
                    f"{'those of fit have' if known and least == 1 else 'sample 0 has'}"
                )
        return found

    def _begin(self) -> None:
        check_number("validation_fraction", self.validation_fraction, 0, 1, open=True)
        check_bool("verbose", self.verbose)
        check_bool("train_vectors", self.train_vectors)
        self.seed_ = seed_from(self.random_state)

    # Answers

    def _outputs(self, X: Any) -> Tensor:
        """What the model gives for each sample, ``[n, outputs]``."""
        check_is_fitted(self)
        samples, model = self._samples(X), self.model_
        parts = []
        with evaluating(model):
            for start in range(0, len(samples), BATCH):
                trees = [tree for each in samples[start : start + BATCH] for tree in each]
                forest = Forest.from_trees(trees, self.trained_.vocabulary).to(self.device)
                parts.append(model(forest).cpu())
        return torch.cat(parts)

    def _one(self, x: Any) -> Tree:
        """A sample of one tree.

        Raises:
            ValueError: samples are several trees.
        """
        check_is_fitted(self)
        if self.trained_.question.roots > 1:
            raise ValueError("explain is for samples of one tree; these are of several")
        return _sample(x, 0)[0]

    # On disk

    def _state(self) -> tuple[nn.Module, dict[str, Any]]:
        return self.model_, {"trained": self.trained_.config()}

    def _restore(self, config: dict[str, Any]) -> nn.Module:
        self.trained_ = Trained.from_config(config["trained"])
        return self.model_.eval()


class TreeLSTMClassifier(ClassifierMixin, TreeLSTMEstimator):
    """A classifier of trees, or of pairs of trees.

    With the defaults it is a Child-Sum Tree-LSTM with a vector for each label, read at the root
    and by its maximum over all nodes, beside a logistic regression on how often each label occurs.

    Args: those of :class:`TreeLSTMEstimator`, and
        class_weight: what each class counts: a dictionary, "balanced", or None for all alike.

    Attributes:
        classes_: the classes, sorted; of several labels a sample, their places.

    Reference: Tai, Socher and Manning, ACL 2015, Sec. 3.1 and 4.1; Castellana and Bacciu, IJCNN
    2020, for the other cells.

    Example:
        >>> from structnet import TreeLSTMClassifier
        >>> X = ["(+ 1 2)", "(- 1 2)", "(+ (- 1 2) 3)", "(- (+ 3 1) 2)"] * 10
        >>> y = ["sum", "difference"] * 20
        >>> model = TreeLSTMClassifier(epochs=5, random_state=0).fit(X, y)
        >>> model.predict(["(+ (+ 2 3) 3)"]).tolist(), model.score(X, y)
        (['sum'], 1.0)
    """

    classes_: np.ndarray

    def __init__(
        self,
        *,
        class_weight: Any = None,
        cell: str = TreeLSTMSettings.cell,
        hidden_size: int = TreeLSTMSettings.hidden_size,
        rank: int | None = TreeLSTMSettings.rank,
        pools: Sequence[str] | None = TreeLSTMSettings.pools,
        bag: bool = TreeLSTMSettings.bag,
        min_count: int = TreeLSTMSettings.min_count,
        dropout: float = TreeLSTMSettings.dropout,
        label_dropout: float | None = TreeLSTMSettings.label_dropout,
        epochs: int | None = TreeLSTMSettings.epochs,
        batch_size: int | None = TreeLSTMSettings.batch_size,
        learning_rate: float = TreeLSTMSettings.learning_rate,
        weight_decay: float = TreeLSTMSettings.weight_decay,
        patience: int | None = TreeLSTMSettings.patience,
        vectors: str | Path | None = None,
        train_vectors: bool = True,
        validation_fraction: float = 0.1,
        random_state: Any = None,
        device: str = "cpu",
        folder: str | Path | None = None,
        verbose: bool = False,
    ):
        given = {
            k: v for k, v in locals().items() if k not in ("self", "class_weight", "__class__")
        }
        super().__init__(**given)
        self.class_weight = class_weight

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, validation: tuple | None = None
    ) -> TreeLSTMClassifier:
        """Learns from trees and their classes.

        Args:
            X: trees, or tuples of trees.
            y: a class each, text or numbers; or a row of 0 and 1 each, for several labels.
            sample_weight: count of each sample.
            validation: samples ``(X, y)`` to choose the epoch by, in place of some of these.

        Raises:
            TypeError: a sample is no tree.
            ValueError: data or hyper-parameters that do not fit.
        """
        self._begin()
        samples = self._samples(X, least=2)
        labels = plain_labels(y)
        check_lengths(samples, labels)
        weights = check_weights(off_torch(sample_weight), len(samples))
        several = np.ndim(labels) == 2 and np.shape(labels)[1] > 1
        if several:
            codes = _indicators(labels)
            self.classes_ = np.arange(codes.shape[1])
        else:
            self.classes_, codes = encode_labels(np.ravel(labels))
        if self.class_weight is not None:
            counted = compute_sample_weight(self.class_weight, y=labels)
            weights = counted if weights is None else weights * counted
        kind, roots = "labels" if several else "classes", len(samples[0])
        if validation is None:
            learn, held = parted(
                len(samples), self.validation_fraction, self.seed_, None if several else codes
            )
            held_out = None if held is None else targets(samples, codes, weights, held)
        else:
            learn = np.arange(len(samples))
            others, answers = check_validation(validation)
            others = self._samples(others)
            check_lengths(others, answers)
            of = _indicators(answers) if several else self._places(answers)
            held_out = targets(others, of, None, np.arange(len(others)))
        return self._fitted(
            kind, len(self.classes_), targets(samples, codes, weights, learn), held_out, roots
        )

    def _places(self, y: Any) -> np.ndarray:
        return encode_labels(np.ravel(plain_labels(y)), self.classes_)[1]

    def predict(self, X: Any) -> np.ndarray:
        """The likeliest class of each sample ``[n]``, or which labels it has ``[n, labels]``."""
        found = self._outputs(X).numpy()
        if self.trained_.question.kind == "labels":
            return (found > 0).astype(np.int64)
        return self.classes_[found.argmax(axis=1)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class or label, as in ``classes_``: ``[n, classes]``."""
        found = self._outputs(X).double()
        several = self.trained_.question.kind == "labels"
        return (found.sigmoid() if several else found.softmax(-1)).numpy()

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """The logarithm of that, ``[n, classes]``."""
        found = self._outputs(X).double()
        several = self.trained_.question.kind == "labels"
        return (nn.functional.logsigmoid(found) if several else found.log_softmax(-1)).numpy()

    def explain(self, x: Any, target: Any = None) -> TreeExplanation:
        """How much each part of a tree matters to the log-odds of a class, ``log p / (1 - p)``.

        Args:
            x: a tree.
            target: class of ``classes_``; by default the likeliest one.

        Raises:
            ValueError: no such class, or samples are of several trees.

        Example:
            >>> from structnet import TreeLSTMClassifier
            >>> X, y = ["(f a x)", "(f x b)", "(f b x)", "(f x a)"] * 20, ["a", "b", "b", "a"] * 20
            >>> model = TreeLSTMClassifier(epochs=5, random_state=0).fit(X, y)
            >>> model.explain("(f x b)").top(1)[0][0]
            <Tree b>
        """
        tree = self._one(x)
        if target is None:
            target = self.classes_[self._outputs([tree])[0].argmax()]
        if target not in self.classes_:
            raise wrong("target", f"one of {self.classes_.tolist()}", target, "explain")
        column = self.classes_.tolist().index(target)
        several = self.trained_.question.kind == "labels"

        def scored(outputs: Tensor) -> Tensor:
            if several:
                return outputs[:, column]
            others = [i for i in range(outputs.shape[1]) if i != column]
            return outputs[:, column] - outputs[:, others].logsumexp(-1)

        return explain(self.model_, self.trained_.vocabulary, tree, scored, target)


class TreeLSTMRegressor(RegressorMixin, TreeLSTMEstimator):
    """Numbers from trees, or from pairs of trees.

    With the defaults it is a Child-Sum Tree-LSTM with a vector for each label, read at the root
    and by its maximum and sum over all nodes, which says what a ridge regression on how often
    each label occurs leaves open.

    Args: those of :class:`TreeLSTMEstimator`.

    Reference: as of :class:`TreeLSTMClassifier`.

    Example:
        >>> from structnet import TreeLSTMRegressor
        >>> X = ["(+ 1 1)", "(+ 1 (+ 1 1))", "(+ (+ 1 1) (+ 1 1))"] * 20
        >>> model = TreeLSTMRegressor(epochs=10, random_state=0).fit(X, [2, 3, 4] * 20)
        >>> model.predict(["(+ 1 (+ 1 1))"]).round(1).tolist()
        [3.0]
    """

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, validation: tuple | None = None
    ) -> TreeLSTMRegressor:
        """Learns from trees and numbers.

        Args:
            X: trees, or tuples of trees.
            y: a number each, or a row of numbers each.
            sample_weight: count of each sample.
            validation: samples ``(X, y)`` to choose the epoch by, in place of some of these.

        Raises:
            TypeError: a sample is no tree.
            ValueError: data or hyper-parameters that do not fit.
        """
        self._begin()
        samples = self._samples(X, least=2)
        numbers = _numbers(samples, y)
        self.target_shape_ = numbers.shape[1:]
        weights = check_weights(off_torch(sample_weight), len(samples))
        learn, held = np.arange(len(samples)), None
        if validation is None:
            learn, held = parted(len(samples), self.validation_fraction, self.seed_)
        rows = numbers.reshape(len(numbers), -1)
        self.scale_ = Standardizer.fitted(rows[learn], None if weights is None else weights[learn])
        scaled = self.scale_(rows)
        held_out = None if held is None else targets(samples, scaled, weights, held)
        if validation is not None:
            others, answers = check_validation(validation)
            others = self._samples(others)
            of = self.scale_(_numbers(others, answers).reshape(len(others), -1))
            held_out = targets(others, of, None, np.arange(len(others)))
        given = targets(samples, scaled, weights, learn)
        return self._fitted("numbers", rows.shape[1], given, held_out, len(samples[0]))

    def predict(self, X: Any) -> np.ndarray:
        """The numbers, of the shape of the targets: ``[n]`` or ``[n, columns]``."""
        found = self._outputs(X).double().numpy()
        return self.scale_.inverse(found).reshape(len(found), *self.target_shape_)

    def explain(self, x: Any, column: int = 0) -> TreeExplanation:
        """How much each part of a tree matters to a number.

        Args:
            x: a tree.
            column: place of the number, where there are several.

        Raises:
            ValueError: no such column, or samples are of several trees.
        """
        tree, columns = self._one(x), len(self.scale_.mean)
        if column not in range(columns):
            raise wrong("column", f"an int from 0 to {columns - 1}", column, "explain")
        mean, sd = float(self.scale_.mean[column]), float(self.scale_.sd[column])
        return explain(
            self.model_,
            self.trained_.vocabulary,
            tree,
            lambda outputs: outputs[:, column].double() * sd + mean,
            None,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _state(self) -> tuple[nn.Module, dict[str, Any]]:
        module, state = super()._state()
        return module, {**state, "scale": self.scale_.to_lists()}

    def _restore(self, config: dict[str, Any]) -> nn.Module:
        scale = Standardizer.from_lists(config["scale"])
        assert scale is not None  # as it was saved
        self.scale_ = scale
        return super()._restore(config)


class TreeNodeClassifier(TreeLSTMEstimator):
    """A class for each node of a tree, by what is at and below it, as for sentiment treebanks.

    What a node's class is must not be its label: give labels that say nothing of it.

    Args: those of :class:`TreeLSTMEstimator`; ``pools`` and ``bag`` are not used.

    Attributes:
        classes_: the classes, sorted.

    Reference: Socher et al., EMNLP 2013, Sec. 4; Tai et al., ACL 2015, Sec. 4.1.

    Example:
        >>> from structnet import TreeNodeClassifier
        >>> X, y = ["(+ 1 0)", "(+ 0 0)"], [["odd", "odd", "even"], ["even", "even", "even"]]
        >>> model = TreeNodeClassifier(epochs=20, random_state=0).fit(X * 20, y * 20)
        >>> model.predict(["(+ 0 1)"])
        [['odd', 'even', 'odd']]
    """

    classes_: np.ndarray

    def fit(self, X: Any, y: Any, validation: tuple | None = None) -> TreeNodeClassifier:
        """Learns from trees and the classes of their nodes.

        Args:
            X: trees.
            y: for each, a class for each of its nodes in preorder; None where there is none.
            validation: samples ``(X, y)`` to choose the epoch by, in place of some of these.

        Raises:
            TypeError: a sample is no tree.
            ValueError: a tree has another number of nodes than of classes, or data or
                hyper-parameters do not fit.
        """
        self._begin()
        samples = self._samples(X, least=2)
        check_lengths(samples, y)
        known = plain_labels([label for each in y for label in each if label is not None])
        self.classes_, _ = encode_labels(np.asarray(known))
        codes = self._codes(y)
        if validation is None:
            learn, held = parted(len(samples), self.validation_fraction, self.seed_)
            held_out = None if held is None else self._targets(samples, codes, held)
        else:
            learn = np.arange(len(samples))
            others, answers = check_validation(validation)
            others = self._samples(others)
            check_lengths(others, answers)
            held_out = self._targets(others, self._codes(answers), np.arange(len(others)))
        given = self._targets(samples, codes, learn)
        return self._fitted("nodes", len(self.classes_), given, held_out, 1)

    def predict(self, X: Any) -> list[list[Any]]:
        """The likeliest class of each node of each tree, in preorder."""
        check_is_fitted(self)
        samples, model, found = self._samples(X), self.model_, []
        with evaluating(model):
            for start in range(0, len(samples), BATCH):
                trees = [tree for (tree,) in samples[start : start + BATCH]]
                forest = Forest.from_trees(trees, self.trained_.vocabulary).to(self.device)
                names = self.classes_[model.predict(forest).cpu().numpy()]
                ends = np.cumsum([tree.size for tree in trees])[:-1]
                found += [each.tolist() for each in np.split(names, ends)]
        return found

    def score(self, X: Any, y: Any) -> float:
        """The share of the nodes with a class that are predicted right."""
        check_lengths(X, y)
        pairs = [
            (guess, true)
            for guesses, trues in zip(self.predict(X), y, strict=True)
            for guess, true in zip(guesses, trues, strict=True)
            if true is not None
        ]
        return float(np.mean([guess == true for guess, true in pairs]))

    def _codes(self, y: Any) -> list[list[int]]:
        place = {label: i for i, label in enumerate(self.classes_.tolist())}
        try:
            return [[-1 if label is None else place[label] for label in each] for each in y]
        except KeyError as error:
            encode_labels(np.array([error.args[0]] * 2), self.classes_)  # says what is expected
            raise

    def _targets(self, samples: list, codes: list, chosen: np.ndarray) -> Targets:
        return Targets([samples[i][0] for i in chosen], [codes[i] for i in chosen])


def targets(
    samples: list[tuple[Tree, ...]],
    answers: np.ndarray,
    weights: np.ndarray | None,
    chosen: np.ndarray,
) -> Targets:
    """Some of the samples with their answers.

    Shapes:
        answers ``[n, ..]``; weights ``[n]``; chosen ``[m]``, places.
    """
    trees = [tree for i in chosen for tree in samples[i]]
    return Targets(trees, answers[chosen], mean_one(None if weights is None else weights[chosen]))


def check_lengths(samples: Any, y: Any) -> None:
    """Refuses another number of answers than of samples.

    Raises:
        ValueError: there is.
    """
    if len(samples) != len(y):
        raise ValueError(f"got {len(samples)} samples and {len(y)} answers in y; expected as many")


def check_validation(validation: Any) -> tuple:
    """A validation set, ``(X, y)``.

    Raises:
        ValueError: it is something else.
    """
    if not isinstance(validation, tuple) or len(validation) != 2:
        raise ValueError(
            f"the validation set must be a tuple (X, y). Got {type(validation).__name__}."
        )
    return validation


def _sample(x: Any, place: int) -> tuple[Tree, ...]:
    several = isinstance(x, (tuple, list)) and not callable(getattr(x, "label", None))
    try:
        return tuple(map(as_tree, x)) if several else (as_tree(x),)
    except (TypeError, ValueError) as error:
        shown = repr(x) if len(repr(x)) <= SHOWN else repr(x)[:SHOWN] + "..."
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"sample {place}, {shown}: {error}") from None


def _indicators(y: Any) -> np.ndarray:
    """Rows of 0 and 1."""
    found = np.asarray(off_torch(y))
    if found.ndim != 2 or not np.isin(found, (0, 1)).all():
        raise ValueError("several labels a sample must be rows of 0 and 1. Got other values.")
    return found.astype(np.int64)


def _numbers(samples: list, y: Any) -> np.ndarray:
    """Targets as finite numbers, ``[n, ..]``."""
    try:
        found = np.asarray(plain_numbers(y), dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("y must be numbers; for classes there is TreeLSTMClassifier") from None
    check_lengths(samples, found)
    if not np.isfinite(found).all():
        first = np.argwhere(~np.isfinite(found))[0][0]
        raise ValueError(f"y must be finite numbers. Got {found[first]} for sample {first}.")
    return found

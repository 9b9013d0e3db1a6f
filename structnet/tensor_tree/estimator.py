"""The base of the scikit-learn estimators whose samples are trees."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from structnet.checks import check_bool, check_number
from structnet.estimators import file
from structnet.estimators.checked import seed_from
from structnet.estimators.held_out import parted
from structnet.estimators.hyper_parameters import settings_of
from structnet.tensor_tree.aggregators import Aggregator
from structnet.tensor_tree.samples import are_trees, as_sample
from structnet.tensor_tree.settings import TreeLSTMSettings
from structnet.tensor_tree.targets import Question, Targets
from structnet.tensor_tree.training import Trained, train
from structnet.training.history import History
from structnet.training.metrics import evaluating
from structnet.training.modules import count_parameters
from structnet.training.processes import own_device
from structnet.trees.forest import Forest
from structnet.trees.label_words import with_words
from structnet.trees.spelling import with_affixes
from structnet.trees.tree import Tree
from structnet.trees.vocabulary import VocabularyError

BATCH = 500  # trees that are predicted at once
# Parameters that may differ when a training is resumed; its seed and vectors are compared as facts.
FREE = ("device", "folder", "verbose", "patience")


class TreeLSTMEstimator(file.OneFileMixin, BaseEstimator):
    """The base of the estimators of trees: samples, hyper-parameters, files.

    Args:
        vectors: file of word vectors for the tokens, in the text format of GloVe and word2vec.
        train_vectors: True to train these vectors further.
        class_weight: class -> weight, 1 for classes that are not named, multiplied by the weight of
            the sample; "balanced" gives all classes the same total weight. Samples of a class that
            weighs 0 are left out.
        validation_fraction: share of the samples of ``fit`` that is held out to choose the epoch.
        random_state: seed; an int makes results repeatable.
        device: device for training and prediction; "cpu", "cuda", ...
        folder: folder for the state of the training; calling ``fit`` again with the same data
            resumes from it; ``random_state`` must be an int. It is for one training: in a
            cross-validation, leave it out.
        verbose: True to show a progress bar.

    The others are those of :class:`structnet.tensor_tree.TreeLSTMSettings`.
    """

    trained_: Trained

    def __init__(
        self,
        *,
        cell: str | Callable[..., Aggregator] | None = TreeLSTMSettings.cell,
        hidden_size: int | None = TreeLSTMSettings.hidden_size,
        rank: int | None = TreeLSTMSettings.rank,
        pools: Sequence[str] | None = TreeLSTMSettings.pools,
        bag: bool = TreeLSTMSettings.bag,
        top_down: bool | None = TreeLSTMSettings.top_down,
        words: bool | None = TreeLSTMSettings.words,
        numbers: bool | None = TreeLSTMSettings.numbers,
        min_count: int | None = TreeLSTMSettings.min_count,
        dropout: float = TreeLSTMSettings.dropout,
        label_dropout: float | None = TreeLSTMSettings.label_dropout,
        epochs: int | None = TreeLSTMSettings.epochs,
        batch_size: int | None = TreeLSTMSettings.batch_size,
        learning_rate: float = TreeLSTMSettings.learning_rate,
        weight_decay: float | None = TreeLSTMSettings.weight_decay,
        patience: int | None = TreeLSTMSettings.patience,
        vectors: str | Path | None = None,
        train_vectors: bool = True,
        class_weight: str | Mapping[Any, float] | None = None,
        validation_fraction: float = 0.1,
        random_state: Any = None,
        device: str = "cpu",
        folder: str | Path | None = None,
        verbose: bool = False,
    ):
        # scikit-learn requires that every parameter is stored as it was given.
        self.__dict__.update((name, value) for name, value in locals().items() if name != "self")

    @property
    def history_(self) -> History:
        """One record per epoch; see :class:`structnet.History`."""
        check_is_fitted(self)
        return self.trained_.history

    @property
    def model_(self) -> Any:
        """The torch module."""
        check_is_fitted(self)
        return self.trained_.model

    @property
    def settings_(self) -> TreeLSTMSettings:
        """The settings of the training, including those that were chosen."""
        check_is_fitted(self)
        return self.trained_.settings

    def summary(self) -> str:
        """The choices that ``fit`` made and the resulting model, in a few lines.

        Example:
            >>> from structnet import TreeLSTMClassifier
            >>> X, y = ["(+ 1 2)", "(- 1 2)", "(+ 2 1)", "(- 2 1)"] * 10, ["sum", "rest"] * 20
            >>> print(TreeLSTMClassifier(epochs=5, random_state=0).fit(X, y).summary())
            child-sum cell of hidden size 64, 34,498 parameters
            2 labels of inner nodes, 2 of leaves or tokens, beside the unknown
            reads the root, max and attention of the nodes' states
            a linear model on 4 counts and 100 decision trees on counts of labels and names beside
            it: weights ... of the tree, ... of the model and ... of the decision trees
            best epoch ... of 5 on the held-out examples
        """
        check_is_fitted(self)
        settings, model = self.settings_, self.model_
        vocabulary, best = self.trained_.vocabulary, self.history_.best
        number = count_parameters(model)
        types, tokens = len(vocabulary.types or ()), len(vocabulary.tokens)
        lines = [
            f"{settings.cell_name} cell of hidden size {settings.hidden_size}, "
            f"{number:,} parameters",
            f"{types:,} labels of inner nodes, {tokens:,} of leaves or tokens, beside the unknown",
        ]
        if vocabulary.any_numbers:
            places = {"leaves": vocabulary.numbers, "inner nodes": vocabulary.inner_numbers}
            where = " and ".join(name for name, by_value in places.items() if by_value)
            lines.append(f"reads numbers at {where} by their values")
        if self.trained_.affixes:
            lines.append("reads the beginnings and endings of words")
        if settings.top_down:
            lines.append("reads what is above and beside a node, too")
        if self.trained_.question.kind != "nodes":
            *first, last = settings.pools or ("root",)
            read = f"{', '.join(first)} and {last}" if first else last
            lines.append(f"reads the {read} of the nodes' states")
        if settings.bag:
            lines.append(model.in_words())
        elif self.bag and self.trained_.question.kind == "numbers":
            lines.append("alone, as it is surely better so than beside a linear model on counts")
        if best is not None:
            held = any(name.startswith("validation") for name in best)
            of = f"best epoch {best['epoch']} of {len(self.history_)}"
            lines.append(of + (" on the held-out examples" if held else ""))
        if not self.trained_.tells:
            lines.append(
                "not surely better on the held-out examples than without reading the trees"
            )
        return "\n".join(lines)

    def __sklearn_is_fitted__(self) -> bool:
        return "trained_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.no_validation = True
        return tags

    # Fitting

    def _parted(
        self, given: Targets, held: Targets | None, labels: np.ndarray | None = None
    ) -> tuple[Targets, Targets | None]:
        """The samples to learn from, and those to choose the epoch by: ``held``, or held-out ones.

        Args:
            given: all samples of ``fit``.
            held: the user's validation samples, or None to hold out some of ``given``.
            labels: classes of the samples, ``[n]``; both parts get the same shares of them.
        """
        if held is not None:
            return given, held
        size, share = len(given.samples), self.validation_fraction
        learn, out = parted(size, share, self.seed_, labels, given.groups)
        return given.take(learn), None if out is None else given.take(out)

    def _fitted(
        self,
        kind: str,
        outputs: int,
        learn: Targets,
        held: Targets | None,
        refit: bool,
        class_weight: Sequence[float] | None = None,
    ) -> None:
        """Trains; with ``refit`` the linear model learns from ``held`` too, in the end."""
        settings = settings_of(self, TreeLSTMSettings, seed=self.seed_)
        if self.folder is not None:
            data = {"data": learn.digest(), "validation data": held and held.digest()}
            vectors = None if self.vectors is None else Path(self.vectors).resolve()
            facts = {**data, "random_state": self.seed_, "vectors": vectors}
            file.claim(self.folder, self, FREE, **facts)
        roots = len(learn.samples[0])
        question = Question(kind, outputs, roots, class_weight=class_weight)
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
            refit=refit,
        )

    def _samples(self, X: Any, least: int = 1, roots: int | None = None) -> list[tuple[Tree, ...]]:
        """The samples as tuples of trees, each of the same number of trees.

        Args:
            X: samples as the user gave them.
            least: smallest number of samples.
            roots: number of trees in each sample; None for that of the first sample.

        Raises:
            TypeError: a sample is not a tree.
            ValueError: there are too few samples, or they differ in their number of trees.
        """
        if isinstance(X, (str, Tree)) or not hasattr(X, "__iter__"):
            raise TypeError(
                "X must be a list of trees, or of tuples of trees. Got "
                f"{'one tree' if isinstance(X, (str, Tree)) else type(X).__name__}."
            )
        if isinstance(X, Mapping) or hasattr(X, "columns"):
            name = next(iter(X if isinstance(X, Mapping) else X.columns), None)
            column = "" if name is None else f", such as one of its columns, X[{name!r:.60}]"
            raise TypeError(f"X must be a list. Got {type(X).__name__}; expected a list{column}")
        X = list(X)
        alone = roots is not None or are_trees(X)
        found = [as_sample(x, i, alone) for i, x in enumerate(X)]
        if len(found) < least:
            raise ValueError(f"got {len(found)} samples; expected at least {least}")
        number = roots or len(found[0])
        if not number:
            raise ValueError("sample 0 has no tree; expected at least 1")
        others = "the samples to learn from" if roots else "sample 0"
        for i, each in enumerate(found):
            if len(each) != number:
                has = "1 tree" if len(each) == 1 else f"{len(each)} trees"
                pairs = "; X must be a list of such tuples" * (len(X) == number)  # a sample alone
                raise ValueError(f"sample {i} has {has}; expected {number}, as in {others}{pairs}")
        return found

    def _begin(self) -> None:
        check_number("validation_fraction", self.validation_fraction, 0, 1, open=True)
        check_bool("train_vectors", self.train_vectors)
        own_device(self.device)
        file.check_seed(self.folder, self.random_state)
        self.seed_ = seed_from(self.random_state)

    # Answers

    def _answers(
        self, X: Any, question: Callable[[Forest], Tensor]
    ) -> Iterator[tuple[list[Tree], Tensor]]:
        """The trees of some samples at a time, and the result of a question about them."""
        samples = self._samples(X, roots=self.trained_.question.roots)
        for start in range(0, len(samples), BATCH):
            trees = [tree for each in samples[start : start + BATCH] for tree in each]
            read = [self._read(tree) for tree in trees]
            try:
                forest = Forest.from_trees(read, self.trained_.vocabulary).to(self.device)
            except VocabularyError as error:  # too many children; new labels become the unknown one
                raise VocabularyError(
                    f"{error}, the most that the trees of fit had; a model with "
                    "cell='child-sum' takes any number"
                ) from None
            with evaluating(self.model_):
                found = question(forest).cpu()
            yield trees, found

    def _outputs(self, X: Any) -> Tensor:
        """The outputs of the model for each sample, ``[n, outputs]``."""
        check_is_fitted(self)
        return torch.cat([found for _, found in self._answers(X, self.model_)])

    def _sample(self, x: Any) -> tuple[Tree, ...]:
        """The trees of a sample, as the model reads them.

        Raises:
            ValueError: the number of trees is not that of the samples in ``fit``.
        """
        check_is_fitted(self)
        sample = as_sample(x, 0, alone=True)
        roots = self.trained_.question.roots
        if len(sample) != roots:
            number = "one tree" if roots == 1 else f"{roots} trees"
            raise ValueError(f"explain needs a sample of {number}, as in fit; got {len(sample)}")
        return tuple(map(self._read, sample))

    def _read(self, tree: Tree) -> Tree:
        """A tree as the model reads it."""
        trained = self.trained_
        tree = with_words(tree) if trained.settings.words else tree
        return with_affixes(tree) if trained.affixes else tree

    # On disk

    def _state(self) -> tuple[nn.Module, dict[str, Any]]:
        vocabulary = self.trained_.vocabulary
        for label in (*(vocabulary.types or ()), *vocabulary.tokens):
            if label is not None and not isinstance(label, (str, int, float)):
                raise TypeError(
                    "a file holds labels that are text or numbers. Got a label of the type "
                    f"{type(label).__name__}, {label!r}."
                )
        return self.model_, {"trained": self.trained_.config()}

    def _restore(self, config: dict[str, Any]) -> nn.Module:
        self.trained_ = Trained.from_config(config["trained"])
        return self.model_.eval().to(own_device(self.device))

"""``partial_fit``: samples that arrive in portions, of which the first may be a single one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse

from structnet.checks import num_threads, wrong
from structnet.estimators.checked import Checked
from structnet.estimators.class_weights import weighed
from structnet.estimators.failed_fit import whole
from structnet.estimators.few_rows import solved
from structnet.estimators.inputs import classes_of_stream
from structnet.estimators.naive_bayes import LEAST
from structnet.estimators.scale import Standardizer
from structnet.label_tree.beginning import begin
from structnet.label_tree.codes import LabelCodes
from structnet.label_tree.examples import Examples
from structnet.label_tree.features import Features
from structnet.label_tree.settings import LabelTreeSettings
from structnet.label_tree.stream import Columns, Stream, for_stream, rescale
from structnet.label_tree.training import Training

if TYPE_CHECKING:
    from typing_extensions import Self

# Settings of reassignment: the few samples of a label in a portion tell little of where it belongs,
# and if it moves, it loses what nodes have learned of it.
ANCHORS, KEPT = 10.0, 0.98
EACH = 3  # samples of a class in the first portion from which a single node starts as a solution


class StreamMixin:
    """The part of :class:`.LabelTreeClassifier` that learns from a stream."""

    classes_: np.ndarray
    input_scale_: Standardizer | None
    settings_: LabelTreeSettings
    trained_: Training
    tokens: bool
    standardize: bool
    learning_rate: float | None
    class_weight: str | Mapping[Any, float] | None
    n_jobs: int | None
    _stream: Stream
    _settings: Callable[[], LabelTreeSettings]
    _own_tree: Callable[[], LabelCodes | None]
    _checked: Callable[..., Checked]
    _new_scale: Callable[..., Standardizer | None]
    _examples: Callable[[Checked], Examples]
    _by_part: Callable[[Examples], Examples]
    _whole: Callable[[], None]
    __sklearn_is_fitted__: Callable[[], bool]

    @whole
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Trains on some samples once, and reassigns the labels.

        The rate follows from all samples so far, of which there may be one at first, and so does
        the scale of the columns of a table until there are 1,000; that of sparse rows, and the
        highest token that is known, are those of the first call. Where :meth:`fit` would try
        several kinds of trees, up to 500 classes, or as many as learn a sample in about a tenth of
        a millisecond, are in a single node here, and sparse rows or tokens are classified without
        vectors in between. If ``start`` is "groups", which ``fit`` may choose, a learned tree
        starts as Huffman's here; if it is "naive_bayes", nodes start as that, but in a first call
        of fewer than 40 samples, or of three per class, from nothing. If all settings of
        reassignments have their defaults, ``prior_weight`` is 10 and ``memory`` 0.98, so that few
        labels move by chance.
        After ``fit``, the rate is a tenth of that of ``fit``, and scales and labels stay as they
        are; so do parts of classes, of which a sample is taken to be of the likeliest. Unlike
        ``fit``, a stream neither bends heavy tails nor takes logarithms of counts, as its first
        samples may be too few to show which: give it ``numpy.log1p`` of such numbers.

        Args:
            X, y: samples, as for :meth:`fit`.
            sample_weight: number of times that each sample counts, in this call as in others.
            classes: all classes that will occur, in any order; needed in the first call.

        Shapes:
            X ``[n, features]``; y, sample_weight ``[n]``; classes ``[classes]``.

        Raises:
            ValueError: the first call has no classes, a later one has others, or a sample has a
                class that is not among them.
            CollapseError: the learning rate is too high; the tree stays as it was.
        """
        settings, first = self._settings(), not self.__sklearn_is_fitted__()
        if first and classes is None:
            raise ValueError("the first call of partial_fit needs classes, a list of all classes")
        if classes is not None:
            self.classes_ = classes_of_stream(classes, None if first else self.classes_)
        checked = self._checked(X, y, sample_weight, reset=first, stream=True)
        if self.class_weight is not None:
            if isinstance(self.class_weight, str):  # the samples to come cannot be counted
                raise wrong("class_weight", "a dict or None in partial_fit", self.class_weight)
            checked = weighed(checked, checked, self.classes_, self.class_weight)
        if first:
            self._begin_stream(checked, settings)
        undo = self._follow(checked)
        try:
            examples, stream = self._by_part(self._examples(checked)), self._stream
            if stream.rows or first:
                self._stream = stream.met(examples)
            self.trained_.stream(examples, self._rate(examples))
        except BaseException:
            undo()
            raise
        self.settings_ = self.trained_.settings
        return self

    def _begin_stream(self, checked: Checked, settings: LabelTreeSettings) -> None:
        """Makes a tree for a stream from the samples of its first call."""
        self._whole()
        self.input_scale_, self._stream = self._new_scale(checked, bends=False), Stream()
        table = not (self.tokens or issparse(checked.x))
        if table and self.standardize and not settings.vector_size:
            columns = Columns.of(checked.x, checked.weights)
            self.input_scale_ = columns.scale(checked.x)
            self._stream = Stream(columns=columns, scaled=len(checked.y))
        examples, codes, number = self._examples(checked), self._own_tree(), len(self.classes_)
        if codes is not None:
            settings = replace(settings, tree="huffman", arity=codes.arity)
        self.settings_ = for_stream(examples, number, settings)
        if self.settings_.tree == "learned" and not settings.of_reassignments:
            self.settings_ = replace(self.settings_, prior_weight=ANCHORS, memory=KEPT)
        direct = self.standardize and not self.settings_.vector_size
        if direct and isinstance(checked.x, Features):
            # A mean of many tokens is short, and only the biases would learn at a common rate.
            self.input_scale_ = Standardizer.of_rows(checked.x.to_csr(), checked.weights)
            examples = self._examples(checked)
        enough = len(examples) >= max(LEAST, EACH * number)
        bayes = self.settings_.start == "naive_bayes"
        first = replace(self.settings_, epochs=0) if bayes else self.settings_
        tree = begin(examples, number, first, codes, solve=solved if enough else None)
        if bayes and not enough:
            self.settings_ = replace(self.settings_, start="clusters")
        self.trained_ = Training(tree, self.settings_, threads=num_threads(self.n_jobs))

    def _follow(self, checked: Checked) -> Callable[[], None]:
        """Finds the scale of a stream's columns with more samples, and returns what undoes it."""
        stream, number = self._stream, len(checked.y)
        if not stream.rows:
            return lambda: None
        self._stream = stream = stream.with_columns(checked.x, checked.weights)
        if not stream.is_due(number):
            return lambda: None
        assert self.input_scale_ is not None and stream.columns is not None
        before, self.input_scale_ = self.input_scale_, stream.columns.scale(checked.x)
        self._stream = stream.rescaled(number)
        return rescale(self.trained_.tree, before, self.input_scale_)

    def _rate(self, examples: Examples) -> float | None:
        """The rate for some samples of a stream; None if it is that of the settings."""
        if self.learning_rate is not None or not self._stream.rows:
            return None
        size = examples.sum_of_squares / max(examples.weight, np.finfo(float).tiny)
        return self._stream.rate(self.settings_, examples.features.is_table, size)

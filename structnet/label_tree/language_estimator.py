"""A language model whose next word is a leaf of a tree, with scikit-learn's methods."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from structnet.checks import check_bool, check_integer
from structnet.estimators.described import described_by
from structnet.estimators.file import claim
from structnet.estimators.hyper_parameters import settings_of
from structnet.estimators.next_words import (
    NOTHING_FOLLOWS,
    NextWordEstimator,
    NextWordMeasures,
    Text,
    beginnings_of,
    digest,
    or_warned,
    sentences_of,
)
from structnet.label_tree.language_model import (
    PASS,
    Context,
    LogBilinearLM,
    NextWords,
    train_language_model,
)
from structnet.label_tree.language_settings import LanguageModelSettings
from structnet.label_tree.softmax import TreeSoftmaxLoss
from structnet.label_tree.word_tree import WordTree
from structnet.routing import Explanation, Reading, RoutedTree, Samples, explain
from structnet.routing.report import text_of
from structnet.text import Encoded, NGrams, Words
from structnet.text.ngram_mixture import NGramMixture
from structnet.text.ngrams import ends_of, without_unknown
from structnet.training.history import History
from structnet.training.metrics import evaluating
from structnet.training.modules import count_parameters

DEFAULT = LanguageModelSettings


@described_by(LanguageModelSettings)
class LabelTreeLanguageModel(NextWordEstimator):
    """Learns from a text to predict next words, by a tree whose leaves are the words.

    The vectors of the last words make one, from which a softmax at each node of the tree chooses a
    child. Similar words are grouped in the tree before the training; with ``tree="learned"``, words
    also move during it, to the children that their contexts prefer. The result is mixed with counts
    of n-grams, in the proportion that makes held-out sentences likeliest. With thousands of
    different words it is faster than a softmax over all of them, and about as good.

    Args:
        min_count: smallest number of occurrences of a known word, among the sentences that are
            not held out; all others are one unknown word.
        max_words: largest number of known words; None for no limit.
        validation_fraction: share of the sentences that is held out to choose the best epoch and
            the shares of the n-grams, which are counted in them too in the end.
        random_state: seed; an int makes results repeatable.
        verbose: True to show a progress bar.
        folder: folder for the state of one training; calling ``fit`` again with the same text
            resumes from it; ``random_state`` must be an int.

    Attributes:
        words_: the vocabulary. The word that stands for all unknown ones is never predicted.
        model_: the trained :class:`structnet.LogBilinearLM`; its ``head`` is the tree.
        history_: one record per epoch.
        seed_: seed that was drawn from ``random_state``.

    Reference:
        Jernite et al., ICML 2017, Sec. 5.2.

    Example:
        >>> text = ["the cat sat down .", "the dog ran off .", "a dog ran home ."] * 30
        >>> model = LabelTreeLanguageModel(random_state=0).fit(text)
        >>> model.predict(["the cat", "a dog"])
        ['sat', 'ran']
        >>> model.measure(text).perplexity < 2
        True
    """

    def __init__(
        self,
        *,
        tree: str = DEFAULT.tree,
        context: int = DEFAULT.context,
        vector_size: int = DEFAULT.vector_size,
        arity: int = DEFAULT.arity,
        max_depth: int | None = DEFAULT.max_depth,
        start: str = DEFAULT.start,
        ngrams: bool = DEFAULT.ngrams,
        min_count: int = 2,
        max_words: int | None = None,
        epochs: int = DEFAULT.epochs,
        batch_size: int = DEFAULT.batch_size,
        learning_rate: float = DEFAULT.learning_rate,
        rebuilds_per_epoch: int = DEFAULT.rebuilds_per_epoch,
        gain: str = DEFAULT.gain,
        prior_weight: float = DEFAULT.prior_weight,
        memory: float = DEFAULT.memory,
        dropout: float | None = DEFAULT.dropout,
        validation_fraction: float = 0.1,
        random_state: Any = None,
        verbose: bool = False,
        folder: str | Path | None = None,
    ):
        # scikit-learn requires that every parameter is stored as it was given.
        self.__dict__.update((name, value) for name, value in locals().items() if name != "self")

    def _learn(self, sentences: list[list[str]], held_out: list[list[str]]) -> None:
        if self.folder is not None:
            texts = {"text": digest(sentences), "validation text": digest(held_out)}
            claim(self.folder, self, ("folder", "verbose"), **texts)
        learn, judge = (self.words_.encode(part) for part in (sentences, held_out))
        self.model_ = LogBilinearLM(self.words_, self._settings(), learn)
        places, others = (self._places(part) for part in (learn, judge))
        folder = None if self.folder is None else Path(self.folder)
        self.history_ = train_language_model(
            self.model_, places, others, folder=folder, progress=self.verbose
        )

    def _count(self, sentences: list[list[str]]) -> None:
        if self.model_.counted is not None:
            text = self._places(self.words_.encode(sentences))
            self.model_.counted.count(text.words, text.target)

    def measure(self, X: Text, first_words: bool = False) -> NextWordMeasures:
        """The perplexity of a text, and the share of its next words that are predicted correctly.

        Args:
            X: see :meth:`fit`.
            first_words: True to predict the first word of each sentence too. It follows nothing,
                so that :class:`structnet.RoutedLanguageModel` cannot predict it: without it, the
                measures of both models are of the same words.

        Raises:
            ValueError: the text has no word to predict.
        """
        check_is_fitted(self)
        check_bool("first_words", first_words, owner="measure")
        places, right = self._places(self.words_.encode(sentences_of(X)))[:], 0
        if not first_words:
            later = places.words[:, 0] != self.model_.boundary
            places = Context(places.words[later], places.target[later])
        if not len(places.target):
            raise ValueError(NOTHING_FOLLOWS)
        for words, target in zip(places.words.split(PASS), places.target.split(PASS), strict=True):
            log_p = without_unknown(self._of_all(words), self.words_.unknown)
            right += int((log_p.argmax(1) == target).sum())
        known = places.target != (-1 if self.words_.unknown is None else self.words_.unknown)
        found = NextWordMeasures(
            accuracy=right / len(places.target),
            words=int(known.sum()),
            **self.model_.perplexities(places),
        )
        return or_warned(found)

    def summary(self) -> str:
        """The sizes of the model and the choice of its epoch, in a few lines.

        Example:
            >>> text = ["the cat sat down .", "the dog ran off .", "a dog ran home ."] * 30
            >>> print(LabelTreeLanguageModel(random_state=0, epochs=2).fit(text).summary())
            11 words in a tree of arity 65, inner nodes: 1; 175,465 parameters
            counts of n-grams beside it
            best epoch 2 of 2 on the held-out sentences
        """
        check_is_fitted(self)
        model, words = self.model_, f"{len(self.words_):,} words"
        if isinstance(model.head, TreeSoftmaxLoss):
            codes = model.head.codes
            words += f" in a tree of arity {codes.arity}, inner nodes: {codes.num_nodes:,}"
        lines = [f"{words}; {count_parameters(model):,} parameters"]
        if self.tree == "learned":
            lines.append(f"moves of words during training: {sum(self.history_['moves']):,}")
        if model.counted is not None:
            lines.append("counts of n-grams beside it")
        return "\n".join([*lines, *self._best_epoch()])

    def read(self, X: Text | None = None, y: None = None) -> Reading:
        """The tree, the places of a text in the form it takes, and the words as names of classes.

        By this, the functions of ``structnet.plot`` draw the model as they do other model trees.

        Args:
            X: text, see :meth:`fit`; None for no samples.
            y: ignored; it is there for scikit-learn.

        Raises:
            ValueError: the model has no tree (``tree="flat"`` or ``"adaptive"``).
        """
        check_is_fitted(self)
        tree, samples = WordTree(self.model_), None
        if X is not None:
            samples = Samples(*self._places(self.words_.encode(sentences_of(X)))[:])
        return Reading(cast(RoutedTree, tree), samples, self.words_.words)

    def explain(self, x: Text) -> Explanation:
        """The choices by which the tree comes to the next word.

        The counts of n-grams, which :meth:`predict` mixes in, may prefer another word; the
        last line tells what both say together.

        Args:
            x: beginning of a sentence.

        Raises:
            ValueError: x is not one beginning, or the model has no tree.

        Example:
            >>> text = ["the cat sat down .", "the dog ran off .", "a dog ran home ."] * 30
            >>> model = LabelTreeLanguageModel(arity=2, max_depth=None, random_state=0).fit(text)
            >>> print(model.explain("the cat"))
            node 0: child ...
            of all leaves: class sat, ... %
            of the tree and counts of n-grams: class sat, ... %
        """
        reading, beginnings = self.read(), beginnings_of(x)
        if len(beginnings) != 1:
            raise ValueError(f"x must be one beginning of a sentence. Got {len(beginnings)}.")
        words = ends_of(self.words_.encode(beginnings), self.model_.boundary, self.context)
        explanation = explain(reading.tree, words[0], reading.class_names)
        if self.model_.counted is None:
            return explanation
        both = tuple(self.predict_proba(beginnings)[0].tolist())
        return replace(explanation, whole=both, whole_of="the tree and counts of n-grams")

    def export_text(self, X: Text | None = None, y: None = None) -> str:
        """The tree as text, one line per node; see :func:`structnet.routing.export_text`.

        Args:
            X: text; if given, each line says which share of its words comes to the node, which
                takes memory for each node and word of the vocabulary.
            y: ignored; it is there for scikit-learn.

        Raises:
            ValueError: the model has no tree.
        """
        return text_of(self.read(X))

    def plot(self, X: Text | None = None, y: None = None, **options: Any) -> Any:
        """Draws the tree; see :func:`structnet.plot.plot_model_tree`.

        Args:
            X: text, to send its words through the tree.
            y: ignored; it is there for scikit-learn.
            options: other arguments of that function.

        Returns:
            The axes.

        Raises:
            ValueError: the model has no tree.
        """
        return import_module("structnet.plot").plot_model_tree(self.read(X), **options)

    def _log_proba(self, encoded: Encoded) -> Tensor:
        words = ends_of(encoded, self.model_.boundary, self.context)
        log_p = self._of_all(torch.from_numpy(words))
        return without_unknown(log_p, self.words_.unknown).log_softmax(1)

    def _of_all(self, words: Tensor) -> Tensor:
        with evaluating(self.model_):
            return self.model_.log_prob(words)

    def _places(self, encoded: Encoded) -> NextWords:
        return NextWords(encoded, self.model_.boundary, self.context)

    def _settings(self) -> LanguageModelSettings:
        check_integer("min_count", self.min_count, 1)
        check_integer("max_words", self.max_words, 1, optional=True)
        return settings_of(self, LanguageModelSettings, seed=self.seed_)

    def _state(self) -> tuple[nn.Module, dict[str, Any]]:
        counted = self.model_.counted
        return self.model_, {
            **self.words_.config(),
            "history": list(self.history_),
            "ngram_sizes": None if counted is None else counted.ngrams.sizes,
        }

    def _restore(self, config: dict[str, Any]) -> nn.Module:
        self.words_, self.history_ = Words.from_config(config), History(config["history"])
        self.model_ = LogBilinearLM(self.words_, self._settings())
        if config["ngram_sizes"] is not None:
            self.model_.counted = NGramMixture(NGrams(*config["ngram_sizes"]))
        return self.model_.eval()

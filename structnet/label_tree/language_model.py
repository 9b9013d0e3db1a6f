"""A log-bilinear language model whose next word is a leaf of a tree of softmaxes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from structnet.checks import check_one_of
from structnet.label_tree.language_settings import TREES, LanguageModelSettings
from structnet.label_tree.shapes import clustered
from structnet.label_tree.softmax import TreeSoftmaxLoss, TreeSoftmaxOutput
from structnet.label_tree.sparse_adagrad import SparseAdagrad
from structnet.text import Encoded, NGrams, Words, learn_vectors
from structnet.text.ngram_mixture import NGramMixture
from structnet.text.ngrams import WORDS, contexts_of, given_known, perplexity
from structnet.training import History, fit
from structnet.training.metrics import evaluating
from structnet.training.seeding import seeded

PASS = 2_000  # contexts that are computed at once
VECTORS = 50  # size of the vectors by which words are clustered
RARELY = 0.5  # occurrences that are assumed of a word that does not occur


class Context(NamedTuple):
    """Places in a text: the previous words, the nearest first, and the next word.

    Shapes:
        words ``[n, context]``; target ``[n]``; int64.
    """

    words: Tensor
    target: Tensor


class NextWords:
    """All places of a text at which a word is to be predicted.

    Args:
        encoded: sentences as numbers of words.
        boundary: number that stands for the words before a sentence.
        context: number of previous words that are used.

    Example:
        >>> encoded = Encoded(np.array([4, 5, 6], np.int32), np.array([0, 3]))
        >>> NextWords(encoded, boundary=9, context=2)[np.array([0, 2])]
        Context(words=tensor([[9, 9], [5, 4]]), target=tensor([4, 6]))
    """

    def __init__(self, encoded: Encoded, boundary: int, context: int):
        self.words = torch.from_numpy(contexts_of(encoded, boundary, context))
        self.target = torch.from_numpy(encoded.ids.astype(np.int64))

    def __len__(self) -> int:
        return len(self.target)

    def __getitem__(self, indices: Any) -> Context:
        return Context(self.words[indices], self.target[indices])


class FlatSoftmaxLoss(nn.Module):
    """One softmax over all classes, with the interface of :class:`.TreeSoftmaxLoss`: the baseline.

    Args:
        in_features: size of the representation.
        n_classes: number of classes.

    Shapes:
        input ``[n, in_features]``; target ``[n]``.
    """

    def __init__(self, in_features: int, n_classes: int):
        super().__init__()
        self.linear = nn.Linear(in_features, n_classes)
        nn.init.zeros_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def forward(self, input: Tensor, target: Tensor) -> TreeSoftmaxOutput:
        """The log-probability of each target, and the mean loss."""
        output = -F.cross_entropy(self.linear(input), target, reduction="none")
        return TreeSoftmaxOutput(output, -output.mean())

    def log_prob(self, input: Tensor) -> Tensor:
        """The log-probabilities of all classes. ``[n, in_features] -> [n, n_classes]``."""
        return self.linear(input).log_softmax(-1)


class LogBilinearLM(nn.Module):
    """Predicts the next word from the vectors of the previous words.

    The context is represented by ``r = sum_k R_k U_{w_{t-k}}``, and the log-probability of a word
    is that of its leaf. If n-grams are counted too (:meth:`count`), it is that of
    :class:`.NGramMixture`: set phrases are best memorised, and unseen ones predicted from similar
    ones.

    Args:
        words: vocabulary.
        settings: sizes, and the last part of the model: a tree, or a baseline.
        encoded: text from which vectors of words are learned for a tree of clusters; without it,
            Huffman's tree takes its place.

    Attributes:
        moves: number of words that reassignments have moved so far in this epoch.

    Raises:
        ValueError: the words do not fit into a tree of this depth.

    Reference:
        Mnih, Hinton, Three new graphical models for statistical language modelling, ICML 2007;
        Jernite et al., ICML 2017, Sec. 5.2.

    Example:
        >>> words = Words.from_sentences([["a", "b", "a", "c"]] * 9)
        >>> settings = LanguageModelSettings(vector_size=4, arity=2, max_depth=None)
        >>> model = LogBilinearLM(words, settings)
        >>> [(word, p)] = model.next_words(["a"], k=1)  # not trained, so by the frequencies
        >>> word, round(p, 2)
        ('a', 0.49)
    """

    since: Tensor
    head: Any  # a tree, or a module with the same interface

    def __init__(
        self, words: Words, settings: LanguageModelSettings, encoded: Encoded | None = None
    ):
        super().__init__()
        self.words, self.settings = words, settings
        number, size = len(words), settings.vector_size
        generator = torch.Generator().manual_seed(settings.seed)
        with seeded(settings.seed), torch.no_grad():  # torch's modules draw their own weights first
            self.vectors = nn.Embedding(number + 1, size, sparse=True)  # the last one: boundary
            self.mix = nn.Linear(settings.context * size, size, bias=False)  # all R_k side by side
            self.vectors.weight.normal_(0, 0.1, generator=generator)
            self.mix.weight.normal_(0, (settings.context * size) ** -0.5, generator=generator)
            self.head = _head(words, settings, encoded)
        self.register_buffer("since", torch.zeros((), dtype=torch.int64))
        self.counted: NGramMixture | None = None
        self.reassign_every: int | None = None  # examples; set during training
        self.optimizer: SparseAdagrad | None = None
        self.moves = 0

    @property
    def boundary(self) -> int:
        """The number that stands for the words before a sentence."""
        return len(self.words)

    def represent(self, words: Tensor) -> Tensor:
        """The representations r of contexts. ``[n, context] -> [n, size]``."""
        dropped = self.settings.dropped
        vectors = F.dropout(self.vectors(words).flatten(1), dropped, self.training)
        return F.dropout(self.mix(vectors), dropped, self.training)

    def loss(self, batch: Context) -> Tensor:
        """The mean loss of a batch, ``[]``; in training, labels are reassigned at intervals."""
        if self.training and self.reassign_every is not None:
            if int(self.since) >= self.reassign_every:
                self._reassign()
            self.since += len(batch.target)
        of_tree = self.head(self.represent(batch.words), batch.target)
        if self.training or self.counted is None:
            return of_tree.loss
        return -self.counted.log_prob_of(batch.words, batch.target, of_tree.output).mean()

    def count(self, train: NextWords, validation: NextWords) -> None:
        """Counts n-grams, and mixes them in with the shares that make a validation text likeliest.

        Args:
            train: places of the text in which n-grams are counted.
            validation: places of a text that was not learned from, by which the length of the
                n-grams and the shares of the mixture are chosen.
        """
        log_p = self.log_prob_without_ngrams(validation)
        self.counted = NGramMixture(NGrams(len(self.words), min(self.settings.context, WORDS)))
        self.counted.count(train.words, train.target)
        self.counted.ngrams.choose_longest(validation.words, validation.target)
        self.counted.fit(validation.words, validation.target, log_p)

    def _reassign(self) -> None:
        moved = self.head.reassign(self.optimizer).moved
        self.moves += round(moved * len(self.words))
        self.since.zero_()

    @torch.no_grad()
    def log_prob(self, words: Tensor) -> Tensor:
        """The log-probability of every word as the next one. ``[n, context] -> [n, words]``."""
        log_p = self.head.log_prob(self.represent(words))
        return log_p if self.counted is None else self.counted(words, log_p)

    def log_prob_of(self, places: NextWords | Context) -> Tensor:
        """The log-probabilities of the words of a text, among all words. ``-> [len(places)]``."""
        return self._log_probs(places)["perplexity"]

    def log_prob_without_ngrams(self, places: NextWords | Context) -> Tensor:
        """The same by the tree, or its baseline, alone. ``-> [len(places)]``."""
        parts = zip(places.words.split(PASS), places.target.split(PASS), strict=True)
        with evaluating(self):
            return torch.cat([self.head(self.represent(x), y).output for x, y in parts])

    def perplexities(self, places: NextWords | Context) -> dict[str, float]:
        """The perplexity of a text and, if there are n-grams, that of the tree and of them alone.

        It is that of the known words, given that they are known: the one that stands for unknown
        words is never predicted. NaN if none is known.
        """
        unknown = self.words.unknown
        if unknown is None:
            return {name: perplexity(each) for name, each in self._log_probs(places).items()}
        known = places.target != unknown
        place = Context(places.words[known], places.target[known])
        none = place._replace(target=torch.full_like(place.target, unknown))
        log_p, missed = self._log_probs(place), self._log_probs(none)
        return {name: perplexity(given_known(log_p[name], missed[name])) for name in log_p}

    def _log_probs(self, places: NextWords | Context) -> dict[str, Tensor]:
        """The log-probabilities of a text's words by the model and by its parts, if it has some."""
        by_tree, counted = self.log_prob_without_ngrams(places), self.counted
        if counted is None:
            return {"perplexity": by_tree}
        return {
            "perplexity": counted.log_prob_of(places.words, places.target, by_tree),
            "perplexity_without_ngrams": by_tree,
            "perplexity_of_ngrams": counted.ngrams.log_prob_of(places.words, places.target),
        }

    @torch.no_grad()
    def next_words(self, before: Sequence[str], k: int = 5) -> list[tuple[str, float]]:
        """The k likeliest next words and their probabilities.

        Args:
            before: previous words of the sentence, in order.
            k: number of words.

        Returns:
            Pairs of a word and its probability, likeliest first.
        """
        known = self.words
        ids = [known.id_of(w) if w in known or known.unknown is not None else -1 for w in before]
        ids = [i for i in ids if i >= 0][-self.settings.context :][::-1]
        ids += [self.boundary] * (self.settings.context - len(ids))
        words = torch.tensor([ids])
        if self.counted is None and isinstance(self.head, TreeSoftmaxLoss):
            values, labels = self.head.top_k(self.represent(words), k)
        else:
            values, labels = self.log_prob(words).topk(min(k, len(known)))
        pairs = zip(labels[0].tolist(), values[0].exp().tolist(), strict=True)
        return [(known.words[label], p) for label, p in pairs if label >= 0]


def _head(words: Words, settings: LanguageModelSettings, encoded: Encoded | None) -> nn.Module:
    """The last layer of a model, by which each word begins as likely as it is frequent.

    An adaptive softmax has no biases for that.
    """
    number, size = len(words), settings.vector_size
    counts = np.maximum(words.counts, RARELY)
    check_one_of("tree", settings.tree, TREES, "LogBilinearLM")
    if settings.tree == "flat":
        flat = FlatSoftmaxLoss(size, number)
        flat.linear.bias.copy_(torch.from_numpy(np.log(counts / counts.sum())))
        return flat
    if settings.tree == "adaptive":
        cuts = sorted({max(1, number // 10), max(1, number // 3)} - {number})
        return nn.AdaptiveLogSoftmaxWithLoss(size, number, cuts)
    start = settings.start if settings.tree == "learned" else settings.tree
    tree: Any = "huffman" if start == "clusters" else start
    if start == "clusters" and encoded is not None:
        vectors = learn_vectors(encoded, number, size=min(VECTORS, number), seed=settings.seed)
        tree = clustered(vectors, settings.arity, settings.max_depth, settings.seed)
    return TreeSoftmaxLoss(
        size,
        number,
        settings.arity,
        tree=tree,
        counts=counts,
        max_depth=settings.max_depth,
        gain=settings.gain,
        prior_weight=settings.prior_weight,
        memory=settings.memory,
        sparse=True,
        seed=settings.seed,
    )


def train_language_model(
    model: LogBilinearLM,
    train: NextWords,
    validation: NextWords | None = None,
    *,
    folder: Path | None = None,
    callbacks: Sequence[Callable] = (),
    progress: Any = True,
) -> History:
    """Trains a language model with Adagrad, and reassigns the labels of a learned tree meanwhile.

    Args:
        model: model to train; it keeps the weights and the tree of the best epoch on validation.
        train, validation: places of texts; n-grams are counted if the settings ask for it and there
            is a validation text, by which they are weighted.
        folder: folder for a checkpoint, from which interrupted training resumes.
        callbacks, progress: see :func:`.fit`.

    Returns:
        One record for each epoch, as from :func:`.fit`. That of a learned tree also has ``moves``,
        the number of words that its reassignments have moved.

    Example:
        >>> sentences = [["the", "cat", "sat"], ["the", "dog", "ran"]] * 50
        >>> words = Words.from_sentences(sentences)
        >>> settings = LanguageModelSettings(vector_size=4, arity=2, max_depth=None, context=2)
        >>> model = LogBilinearLM(words, settings)
        >>> text = NextWords(words.encode(sentences), model.boundary, settings.context)
        >>> _ = train_language_model(model, text, progress=False)
        >>> model.next_words(["the", "cat"], k=1)[0][0]
        'sat'
    """
    settings = model.settings

    def optimizer(parameters: Any) -> SparseAdagrad:
        model.optimizer = SparseAdagrad(parameters, lr=settings.learning_rate)
        return model.optimizer

    def count_moves(model: LogBilinearLM, history: History) -> None:
        history.records[-1]["moves"], model.moves = model.moves, 0

    if settings.tree == "learned":
        model.reassign_every = max(1, len(train) // settings.rebuilds_per_epoch)
        callbacks = [count_moves, *callbacks]
    model.counted, model.moves = None, 0
    try:
        history = fit(
            model,
            train,
            validation,
            epochs=settings.epochs,
            batch_size=settings.batch_size,
            optimizer=optimizer,
            schedule=partial(
                torch.optim.lr_scheduler.LinearLR,
                start_factor=1.0,
                end_factor=0.1,
                total_iters=max(1, settings.epochs - 1),
            ),
            validation_batch_size=PASS,
            seed=settings.seed,
            checkpoint=folder,
            resume=folder is not None,
            callbacks=callbacks,
            progress=progress,
        )
    finally:
        model.optimizer = None
        model.reassign_every = None
    if settings.ngrams and validation is not None:
        model.count(train, validation)
    return history

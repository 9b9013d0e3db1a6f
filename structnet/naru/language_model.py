"""A routed language model with scikit-learn's methods: fit, predict, score."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from structnet.checks import check_integer, check_number
from structnet.estimators.checked import seed_from
from structnet.estimators.failed_fit import whole
from structnet.estimators.file import OneFileMixin, check_seed
from structnet.estimators.hyper_parameters import settings_of
from structnet.naru.network import RoutedNetwork
from structnet.naru.next_word import BATCH, NextWord
from structnet.naru.preparation import Text, known_words, parts_of, sentences_of, vectors_of
from structnet.naru.recurrent import RecurrentNetwork
from structnet.naru.sentences import Sentences
from structnet.naru.settings import NaruSettings
from structnet.naru.statistics import RoutingStats
from structnet.naru.training import train
from structnet.naru.wiring import Wiring
from structnet.text import NGrams, Words
from structnet.text.ngrams import perplexity
from structnet.training.history import History
from structnet.training.metrics import evaluate
from structnet.training.processes import own_device
from structnet.training.seeding import seeded

if TYPE_CHECKING:
    from typing_extensions import Self

DEFAULT = NaruSettings()


class RoutedLanguageModel(OneFileMixin, BaseEstimator):
    """Learns from a text to predict next words, by a network of which each word uses a part.

    Each word takes a path of one bundle per capsule, which is elected by the words before it and
    the word itself. The model learns word vectors from the text (or is given some), then learns to
    predict the vector of each next word. The predicted vector is combined with counts of which
    words follow the last ones (:class:`.NGrams`), in the proportion that makes held-out sentences
    likeliest.

    Args:
        vectors: word vectors: a file of GloVe or word2vec, or a dict word -> numbers; None to learn
            them from the text.
        sizes, dims, max_cone, objective, decoding: settings of the network, see
            :class:`structnet.naru.NaruSettings`.
        vector_size, min_count, max_words, max_length: settings of the words, see there.
        epochs, patience, batch_size, learning_rate, clip_norm, lazy, balance, gate_noise: settings
            of the training, see there.
        validation_fraction: share of the sentences that is held out to choose the best epoch.
        device: device for training and prediction; "cpu", "cuda", ...
        random_state: seed; an int makes results repeatable.
        verbose: True to show a progress bar.
        folder: folder for the state of one training; calling ``fit`` again with the same text
            resumes from it; ``random_state`` must be an int.

    Attributes:
        words_: the vocabulary.
        model_: the trained :class:`.NextWord`.
        history_: one record per epoch.
        uses_network_: False if the network was no better than the counts on held-out sentences, so
            that the predictions are those of the counts.
        seed_: seed that was drawn from ``random_state``.

    Reference:
        D. Nepp, On the State of ANN Computation Graphs and the potential of Conditional Neural
        Networks, 2021, chapter 4.

    Example:
        >>> text = ["the cat sees the dog .", "the dog sees the cat ."] * 30
        >>> model = RoutedLanguageModel(
        ...     sizes=(1, 2, 1), dims=(8,), vector_size=4, epochs=2, random_state=0
        ... ).fit(text)
        >>> model.predict(["the cat sees"]) in (["the"], ["cat"], ["dog"], ["sees"], ["."])
        True
        >>> model.statistics(text).visits[0].tolist()
        [360]
    """

    def __init__(
        self,
        *,
        vectors: str | Path | dict[str, Any] | None = None,
        sizes: tuple[int, ...] = DEFAULT.sizes,
        dims: tuple[int, ...] = DEFAULT.dims,
        max_cone: int = DEFAULT.max_cone,
        objective: str = DEFAULT.objective,
        decoding: str = DEFAULT.decoding,
        vector_size: int = DEFAULT.vector_size,
        min_count: int = DEFAULT.min_count,
        max_words: int = DEFAULT.max_words,
        max_length: int = DEFAULT.max_length,
        epochs: int | None = DEFAULT.epochs,
        patience: int | None = DEFAULT.patience,
        batch_size: int = DEFAULT.batch_size,
        learning_rate: float = DEFAULT.learning_rate,
        clip_norm: float | None = DEFAULT.clip_norm,
        lazy: bool = DEFAULT.lazy,
        balance: float = DEFAULT.balance,
        gate_noise: float = DEFAULT.gate_noise,
        validation_fraction: float = 0.1,
        device: str = "cpu",
        random_state: Any = None,
        verbose: bool = False,
        folder: str | Path | None = None,
    ):
        # scikit-learn requires that every parameter is stored as it was given.
        self.__dict__.update((name, value) for name, value in locals().items() if name != "self")

    @whole
    def fit(self, X: Text, y: None = None, *, X_val: Text | None = None) -> Self:
        """Learns from a text.

        Args:
            X: path of a file with one sentence per line; or sentences, each a list of words or a
                text with spaces between words.
            y: ignored; it is there for scikit-learn.
            X_val: text like X, by which the best epoch and the use of the network are chosen. None
                to hold out a part of X, whose words are counted once all choices have been made.

        Raises:
            ValueError: a parameter is out of its range, or the text is too short.
            CheckpointError: the state in ``folder`` belongs to another training.
        """
        folder, device = self.folder, own_device(self.device)
        check_seed(folder, self.random_state)
        self.seed_ = seed_from(self.random_state)
        settings = self._settings()
        check_number("validation_fraction", self.validation_fraction, 0, 1, open=True)
        learn, judge = parts_of(X, X_val, self.validation_fraction, settings.seed)
        self.words_ = known_words(learn, settings)
        cache = None if folder is None else Path(folder, "vectors.safetensors")
        self.model_ = self._build(vectors_of(self.words_, learn, settings, self.vectors, cache))
        pieces = map(self._pieces, (learn, judge))
        how: dict[str, Any] = {"device": device, "folder": folder, "progress": self.verbose}
        self.history_ = train(self.model_, settings, *pieces, **how)
        if self.model_.following is not None:  # of whole sentences
            self.model_.count(self._encoded(learn if X_val is not None else learn + judge))
        return self

    def predict(self, X: Text) -> list[str]:
        """The likeliest next word of each sentence.

        Args:
            X: see :meth:`fit`.
        """
        check_is_fitted(self)
        batch, found = self._encoded(X), []
        for start in range(0, len(batch), BATCH):  # at once they might not fit in memory
            part = batch[start : start + BATCH]
            found += self.model_.predict_log_proba(part).argmax(1).tolist()
        return [self.words_.words[i] for i in found]

    def predict_proba(self, X: Text) -> np.ndarray:
        """The probability that each known word is the next one. ``-> [sentences, words]``"""
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Text) -> np.ndarray:
        """The log-probability that each known word is the next one. ``-> [sentences, words]``"""
        check_is_fitted(self)
        return self.model_.predict_log_proba(self._encoded(X)).cpu().numpy()

    def predict_top(self, X: Text, k: int = 5) -> tuple[np.ndarray, np.ndarray]:
        """The k likeliest next words of each sentence and their probabilities, likeliest first.

        Args:
            X: see :meth:`fit`.
            k: number of words, all known ones if these are fewer.

        Shapes:
            both ``[sentences, min(k, words)]``.

        Raises:
            ValueError: k is below 1.

        Example:
            >>> text = ["the cat sees the dog .", "the dog sees the cat ."] * 30
            >>> small = {"sizes": (1, 2, 1), "dims": (8,), "vector_size": 4, "epochs": 1}
            >>> model = RoutedLanguageModel(**small, random_state=0).fit(text)
            >>> words, probabilities = model.predict_top(["the cat", "the"], k=3)
            >>> words.shape, bool(words[0, 0] == model.predict(["the cat"])[0])
            ((2, 3), True)
        """
        check_is_fitted(self)
        check_integer("k", k, 1, owner="predict_top")
        k = min(k, len(self.words_) - (self.words_.unknown is not None))  # it is never predicted
        batch, values, places = self._encoded(X), [], []
        for start in range(0, len(batch), BATCH):
            found = self.model_.predict_log_proba(batch[start : start + BATCH])
            top = found.sort(dim=1, descending=True, stable=True)  # of equals the first, as predict
            values.append(top.values[:, :k])
            places.append(top.indices[:, :k])
        names = np.array(self.words_.words)
        return names[torch.cat(places).cpu().numpy()], torch.cat(values).exp().cpu().numpy()

    def score(self, X: Text, y: None = None) -> float:
        """The share of the next words of a text that are predicted correctly."""
        return self.measure(X)["accuracy"]

    def measure(self, X: Text) -> dict[str, float]:
        """The mean loss of a text, the accuracy, and the perplexity.

        The accuracy is the share of the next words that are predicted correctly, of which the
        unknown one never is; the perplexity is ``exp`` of minus the mean log-probability of those
        that are known, NaN if none is.

        Args:
            X: see :meth:`fit`.

        Raises:
            ValueError: the text has no sentence of two words or more.
        """
        check_is_fitted(self)
        pieces = self._pieces(X)
        if not len(pieces):
            raise ValueError(
                "the text has no sentence of two words or more; expected at least 1, as a "
                "sentence's first word is not predicted"
            )
        judged = (self.model_.judged(pieces[i : i + BATCH]) for i in range(0, len(pieces), BATCH))
        right, said = (torch.cat(found) for found in zip(*judged, strict=True))
        return {
            "loss": evaluate(self.model_, pieces, batch_size=BATCH)["loss"],
            "accuracy": float(right.double().mean()),
            "perplexity": perplexity(said[said.isfinite()]),
        }

    @property
    def uses_network_(self) -> bool:
        """Whether the network adds to the counts of what follows what, or these answer alone."""
        check_is_fitted(self)
        return not bool(self.model_.variance.isinf())

    def statistics(self, X: Text) -> RoutingStats:
        """Statistics of the bundles that the sentences of a text visit."""
        check_is_fitted(self)
        return self.model_.statistics(self._encoded(X))

    def paths(self, X: Text) -> list[np.ndarray]:
        """The bundle of each capsule that each word passed; the last word reaches no prediction.

        Shapes:
            ``[words, capsules]`` for each sentence; -1 for capsules that a word did not reach.
        """
        check_is_fitted(self)
        batch = self._encoded(X)
        with torch.no_grad():
            record = self.model_.route(batch).record.cpu().numpy()
        depth = record.shape[2]
        found = []
        for row, length in zip(record, batch.lengths, strict=True):
            step = np.arange(length)[:, None] + np.arange(depth)
            padded = np.concatenate([row, np.full((length + depth, depth), -1)])
            found.append(padded[step, np.arange(depth)])
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.string = False, True
        tags.no_validation = True
        return tags

    # On disk

    def _state(self) -> tuple[nn.Module, dict[str, Any]]:
        following = self.model_.following
        return self.model_, {
            **self.words_.config(),
            "history": list(self.history_),
            "vectors": None,  # those that the user gave are stored with the weights
            "ngrams": None if following is None else following.sizes,
        }

    def _restore(self, config: dict[str, Any]) -> nn.Module:
        self.words_, self.history_ = Words.from_config(config), History(config["history"])
        self.model_ = self._build(torch.zeros(config["shapes"]["vectors"]))
        if config["ngrams"] is not None:
            self.model_.following = NGrams(*config["ngrams"])
        return self.model_.eval().to(own_device(self.device))

    # The model

    def _settings(self) -> NaruSettings:
        sizes: dict[str, Any] = {"sizes": tuple(self.sizes), "dims": tuple(self.dims)}
        return settings_of(self, NaruSettings, **sizes, seed=self.seed_)

    def _build(self, vectors: Tensor) -> NextWord:
        """The untrained model for vectors of the known words, ``[words, size]``."""
        settings = self._settings()
        with seeded(settings.seed):
            network = self._network(settings.wiring(vectors.shape[1]))
            how = settings.objective, self.words_.unknown, settings.balance
            return NextWord(network, vectors, *how)

    def _network(self, wiring: Wiring) -> RoutedNetwork | RecurrentNetwork:
        return RoutedNetwork(wiring, gate_noise=self.gate_noise)

    def _encoded(self, X: Text) -> Sentences:
        return Sentences(self.words_.encode(sentences_of(X)), self.model_.vectors.device)

    def _pieces(self, X: Text) -> Sentences:
        """The sentences of two words or more, the long ones cut."""
        return Sentences.to_predict(self.words_.encode(sentences_of(X)), self.max_length).to(
            self.model_.vectors.device
        )


class RecurrentLanguageModel(RoutedLanguageModel):
    """The baseline: the same with a GRU of as many multiplications a word, which has no paths.

    Args: those of :class:`RoutedLanguageModel`; ``balance``, ``gate_noise`` and ``lazy`` have no
    effect.

    Reference:
        D. Nepp, On the State of ANN Computation Graphs and the potential of Conditional Neural
        Networks, 2021, Figure 17.
    """

    def _network(self, wiring: Wiring) -> RecurrentNetwork:
        return RecurrentNetwork(wiring.dims[0], wiring.multiply_adds)

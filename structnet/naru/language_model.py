"""A routed language model with scikit-learn's methods: fit, predict, score."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from structnet.estimators.described import described_by
from structnet.estimators.hyper_parameters import settings_of
from structnet.estimators.next_words import (
    NOTHING_FOLLOWS,
    NextWordEstimator,
    NextWordMeasures,
    Text,
    beginnings_of,
    or_warned,
    sentences_of,
)
from structnet.naru.network import RoutedNetwork
from structnet.naru.next_word import BATCH, NextWord
from structnet.naru.preparation import vectors_of
from structnet.naru.recurrent import RecurrentNetwork
from structnet.naru.sentences import Sentences
from structnet.naru.settings import NaruSettings
from structnet.naru.statistics import RoutingStats
from structnet.naru.training import train
from structnet.naru.wiring import Wiring
from structnet.routing.words import percent
from structnet.text import Encoded, NGramMixture, NGrams, Words
from structnet.text.ngrams import perplexity
from structnet.training.history import History
from structnet.training.modules import count_parameters
from structnet.training.processes import own_device
from structnet.training.seeding import seeded

DEFAULT = NaruSettings()


@described_by(NaruSettings)
class RoutedLanguageModel(NextWordEstimator):
    """Learns from a text to predict next words, by a network of which each word uses a part.

    Each word takes a path of one bundle per capsule, elected by it and the words before it. The
    model learns word vectors from the text (or is given some), then learns to predict each next
    word. The prediction is mixed with counts of which words follow the last ones
    (:class:`.NGrams`), in the proportion that makes held-out sentences likeliest.

    Args:
        vectors: word vectors: a file of GloVe or word2vec, or a dict word -> numbers; None to learn
            them from the text.
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
        memory: tuple[int, ...] | None = DEFAULT.memory,
        loss: str = DEFAULT.loss,
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

    def _learn(self, sentences: list[list[str]], held_out: list[list[str]]) -> None:
        folder, device, settings = self.folder, own_device(self.device), self._settings()
        cache = None if folder is None else Path(folder, "vectors.safetensors")
        self.model_ = self._build(vectors_of(self.words_, sentences, settings, self.vectors, cache))
        pieces = map(self._pieces, (sentences, held_out))
        how: dict[str, Any] = {"device": device, "folder": folder, "progress": self.verbose}
        self.history_ = train(self.model_, settings, *pieces, **how)

    def _count(self, sentences: list[list[str]]) -> None:
        if self.model_.following is not None:  # of whole sentences
            self.model_.count(self._encoded(sentences))

    def measure(self, X: Text) -> NextWordMeasures:
        """How well the next words of a text are predicted.

        Args:
            X: see :meth:`fit`.

        Raises:
            ValueError: the text has no sentence of two words or more.
        """
        check_is_fitted(self)
        pieces = self._pieces(X)
        if not len(pieces):
            raise ValueError(NOTHING_FOLLOWS)
        batches = (pieces[i : i + BATCH] for i in range(0, len(pieces), BATCH))
        judged = list(map(self.model_.judged, batches))
        right, mixed = (torch.cat(each) for each in list(zip(*judged, strict=True))[:2])
        known = mixed.isfinite()

        def alone(parts: list[Tensor | None]) -> float | None:
            there = [part for part in parts if part is not None]
            return perplexity(torch.cat(there)[known]) if there else None

        found = NextWordMeasures(
            perplexity=perplexity(mixed[known]),
            accuracy=float(right.double().mean()),
            words=int(known.sum()),
            perplexity_without_ngrams=alone([each.network for each in judged]),
            perplexity_of_ngrams=alone([each.ngrams for each in judged]),
        )
        return or_warned(found)

    @property
    def uses_network_(self) -> bool:
        """False if n-grams predict alone, as the network did not improve on them."""
        check_is_fitted(self)
        return self.model_.uses_network

    def summary(self) -> str:
        """The sizes of the model and the choice of its epoch, in a few lines.

        Example:
            >>> text = ["the cat sees the dog .", "the dog sees the cat ."] * 30
            >>> small = {"sizes": (1, 2, 1), "dims": (8,), "vector_size": 4, "epochs": 1}
            >>> print(RoutedLanguageModel(**small, random_state=0).fit(text).summary())
            3 capsules of 1, 2 and 1 bundles, 482 parameters
            6 words, each with a vector of 4 numbers
            the commonest path: ... % of the words of some training sentences
            counts of following words answer alone, as the network adds nothing sure
            best epoch 1 of 1 on the held-out sentences
        """
        check_is_fitted(self)
        words, size = self.model_.vectors.shape
        lines = [
            f"{self._structure()}, {count_parameters(self.model_):,} parameters",
            f"{words:,} words, each with a vector of {size} numbers",
        ]
        best = self.history_.best or {}
        if "commonest_path" in best:
            share = percent(best["commonest_path"])
            lines.append(f"the commonest path: {share} of the words of some training sentences")
        if not self.uses_network_:
            lines.append("counts of following words answer alone, as the network adds nothing sure")
        return "\n".join([*lines, *self._best_epoch()])

    def _structure(self) -> str:
        *first, last = self.sizes
        bundles = f"{', '.join(map(str, first))} and {last}"
        return f"{len(self.sizes)} capsules of {bundles} bundles"

    def statistics(self, X: Text) -> RoutingStats:
        """Statistics of the bundles that the sentences of a text visit."""
        check_is_fitted(self)
        return self.model_.statistics(self._encoded(X))

    def paths(self, X: Text) -> list[np.ndarray]:
        """The bundle of each capsule that each word passed; the last word reaches no prediction.

        Args:
            X: sentences, or a single one, see :meth:`predict`.

        Shapes:
            ``[words, capsules]`` for each sentence; -1 for capsules that a word did not reach.
        """
        check_is_fitted(self)
        batch = self._encoded(beginnings_of(X))
        with torch.no_grad():
            record = self.model_.route(batch).record.cpu().numpy()
        depth = record.shape[2]
        paths = []
        for row, length in zip(record, batch.lengths, strict=True):
            step = np.arange(length)[:, None] + np.arange(depth)
            padded = np.concatenate([row, np.full((length + depth, depth), -1)])
            paths.append(padded[step, np.arange(depth)])
        return paths

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
            self.model_.counted = NGramMixture(NGrams(*config["ngrams"]))
        return self.model_.eval().to(own_device(self.device))

    # The model

    def _settings(self) -> NaruSettings:
        given = {name: getattr(self, name) for name in ("sizes", "dims", "memory")}
        own = {k: tuple(v) if isinstance(v, Iterable) else v for k, v in given.items()}
        return settings_of(self, NaruSettings, **own, seed=self.seed_)

    def _build(self, vectors: Tensor) -> NextWord:
        """The untrained model for vectors of the known words, ``[words, size]``."""
        settings = self._settings()
        with seeded(settings.seed):
            network = self._network(settings.wiring(vectors.shape[1]))
            how = settings.loss, self.words_.unknown, settings.balance
            return NextWord(network, vectors, *how)

    def _network(self, wiring: Wiring) -> RoutedNetwork | RecurrentNetwork:
        return RoutedNetwork(wiring, gate_noise=self.gate_noise)

    def _log_proba(self, encoded: Encoded) -> Tensor:
        batch = Sentences(encoded, self.model_.vectors.device)
        return self.model_.predict_log_proba(batch).cpu()

    def _encoded(self, X: Text) -> Sentences:
        return Sentences(self.words_.encode(sentences_of(X)), self.model_.vectors.device)

    def _pieces(self, X: Text) -> Sentences:
        """The sentences of two words or more, the long ones cut."""
        return Sentences.to_predict(self.words_.encode(sentences_of(X)), self.max_length).to(
            self.model_.vectors.device
        )


@described_by(NaruSettings)
class RecurrentLanguageModel(RoutedLanguageModel):
    """The baseline: the same with a GRU of as many multiplications a word, which has no paths.

    Those of the way past the routed network, by default 5 % of its own, are not counted.

    ``balance``, ``gate_noise`` and ``lazy`` have no effect.

    Reference:
        D. Nepp, On the State of ANN Computation Graphs and the potential of Conditional Neural
        Networks, 2021, Figure 17.
    """

    def _network(self, wiring: Wiring) -> RecurrentNetwork:
        return RecurrentNetwork(wiring.dims[0], wiring.multiply_adds)

    def _structure(self) -> str:
        network = self.model_.network
        assert isinstance(network, RecurrentNetwork)
        return f"a GRU of {network.gru.hidden_size}"

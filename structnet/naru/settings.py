"""The hyper-parameters of a routed language model, with their defaults and ranges.

Nothing here imports torch, so that the command can print them without delay.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from structnet.checks import check_bool, check_integers, check_number, check_one_of, wrong
from structnet.naru.wiring import DIMS, MAX_CONE, Wiring

Loss = Literal["squared_error", "log_loss"]
Decoding = Literal["likeliest", "nearest"]
LOSSES: tuple[str, ...] = get_args(Loss)
DECODINGS: tuple[str, ...] = get_args(Decoding)
SEEN = 60_000  # sentences that a training sees, if the number of epochs is not given
FEWEST, MOST = 2, 30  # epochs


@dataclass(frozen=True)
class NaruSettings:
    """The structure of a routed language model, and how it is trained.

    Args:
        sizes: number of bundles in each capsule; the first and the last have one. By default a
            bundle that remembers and six that it elects are between them; the thesis has five
            capsules there, of 6, 12, 18, 12 and 6 bundles.
        dims: length of the states of the capsules between the first and the last; the states of
            those two are as long as a word's vector.
        max_cone: largest number of routes of a bundle.
        memory: numbers of the capsules, from 0 on, whose bundles read their own state; bundles then
            read no others but the one that elected them, and a word has a say in its own path. None
            for the connections of the thesis.
        loss: "log_loss" predicts the probability of each next word, by a layer over the whole
            vocabulary; "squared_error" its vector, as in the thesis.
        decoding: "likeliest" also counts which words follow the last ones, and says the word that
            both make likeliest; "nearest" says that of the network alone: the likeliest, or the one
            with the nearest vector.
        vector_size: length of a word's vector, if the vectors are learned from the text.
        min_count: smallest number of occurrences of a known word, among the sentences that are
            not held out; all others are one unknown word.
        max_words: largest number of known words.
        max_length: largest number of words in a sentence; longer ones are cut into several.
        epochs: number of passes through the text; by default such that about 60,000 sentences are
            seen, but at least 2 and at most 30.
        patience: number of epochs in a row without a lower validation loss after which training
            stops; None for no early stopping.
        batch_size: number of sentences in each step.
        learning_rate: learning rate of Adam. For the weights of a bundle, whose products are
            averaged, it is multiplied by the bundle's number of connections.
        clip_norm: norm to which longer gradients are scaled down; None for no clipping.
        lazy: leaving the own weights of bundles that no sentence of a batch visited exactly as they
            are; Adam would otherwise go on moving them.
        balance: weight of a loss (:func:`.balance.imbalance`) that lowers the gates of bundles that
            are elected often; with 0, as in the thesis, most words come to take one path, and with
            any value they may on a text of a few hundred sentences.
        gate_noise: standard deviation of the noise that is added to the gates when bundles are
            elected in training.
        seed: number that determines everything random.

    Raises:
        ValueError: a value is out of its range.

    Reference:
        D. Nepp, On the State of ANN Computation Graphs and the potential of Conditional Neural
        Networks, 2021, chapter 4: Table 2, whose sizes are :class:`.Wiring`'s; batches of 32,
        gradients of norm 1, Adam (at 3e-4).

    Example:
        >>> NaruSettings().epochs_for(1_500), NaruSettings().epochs_for(100_000)
        (30, 2)
        >>> NaruSettings(batch_size=0)
        Traceback (most recent call last):
        ValueError: The 'batch_size' parameter must be an int in the range [1, inf). Got 0 instead.
    """

    sizes: tuple[int, ...] = (1, 1, 6, 1)
    dims: tuple[int, ...] = (128, 64)
    max_cone: int = MAX_CONE
    memory: tuple[int, ...] | None = (1,)
    loss: Loss = "log_loss"
    decoding: Decoding = "likeliest"
    vector_size: int = DIMS[0]
    min_count: int = 2
    max_words: int = 20_000
    max_length: int = 50
    epochs: int | None = None
    patience: int | None = 5
    batch_size: int = 32
    learning_rate: float = 3e-3
    clip_norm: float | None = 1.0
    lazy: bool = True
    balance: float = 0.03
    gate_noise: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        check_integers(self, max_cone=1, vector_size=1, min_count=1, max_words=1, max_length=2)
        check_integers(self, batch_size=1, seed=0)
        check_integers(self, optional=True, epochs=0, patience=1)
        check_one_of("loss", self.loss, LOSSES)
        check_one_of("decoding", self.decoding, DECODINGS)
        check_number("learning_rate", self.learning_rate, 0, open=True)
        check_number("clip_norm", self.clip_norm, 0, open=True, optional=True)
        check_number("balance", self.balance, 0)
        check_number("gate_noise", self.gate_noise, 0)
        check_bool("lazy", self.lazy)
        self.wiring(self.vector_size)  # refused here, before a text is read

    def wiring(self, size: int) -> Wiring:
        """The wiring of a network for word vectors with this many numbers.

        Raises:
            ValueError: sizes and dims are out of their range, or do not fit together.
        """
        between = len(self.sizes) - 2
        expected = f"one number per capsule between the first and the last, {between} in all"
        if len(self.dims) != len(self.sizes) - 2:
            raise wrong("dims", expected, self.dims)
        return Wiring(self.sizes, (size, *self.dims, size), self.max_cone, memory=self.memory)

    def epochs_for(self, sentences: int) -> int:
        """The number of epochs for a text with this many sentences."""
        if self.epochs is not None:
            return self.epochs
        return min(max(round(SEEN / max(sentences, 1)), FEWEST), MOST)

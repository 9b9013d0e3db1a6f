"""Trains a label tree example by example, with reassignments in the first half.

A single node of many labels learns from dense rows in minibatches.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch

from structnet.label_tree._node_kernels import WIDE, train_node
from structnet.label_tree._sgd_kernels import train_dense, train_sparse
from structnet.label_tree.beginning import begin
from structnet.label_tree.codes import share_moved
from structnet.label_tree.examples import Examples, guessing_loss, label_means
from structnet.label_tree.naive_bayes import averaged
from structnet.label_tree.reassignment import Statistics
from structnet.label_tree.settings import LabelTreeSettings
from structnet.label_tree.shapes import clustered, grouped
from structnet.label_tree.touched import Touched
from structnet.label_tree.tree import LabelTree
from structnet.training.one_thread import ONE_THREAD
from structnet.training.progress import Progress
from structnet.training.seeding import epoch_order

PART = 200_000  # largest number of examples that are copied at once, in the order of training
LEARNT = 5  # labels are grouped after a fifth of training
ROUNDING = 1e-5  # share by which a loss may rise after a step that is almost 0
FEW = 100  # largest portion of a stream that may consist of outliers
AFTER = 0.1  # factor of the rate when a stream continues after a whole training run
PRIOR = 5.0  # examples at the mean of all that are added to a label's own to group it
Callback = Callable[["Training"], object]


class CollapseError(ValueError):
    """Training failed because its steps were too long."""


def _most(guessing: float) -> float:
    """The loss above which the steps are considered too long."""
    return 2 * guessing + 1


@dataclass
class Training:
    """A training run that can be interrupted after any of its parts, and resumed.

    Args:
        tree: tree to train.
        settings: settings with a number of epochs, a learning rate and a kind of tree.
        done: number of examples trained on so far.
        epochs: records of the epochs: loss, rate and seconds of each, and what callbacks add.
        rebuilds: records of the reassignments: examples so far, mean J/J*, share of labels moved,
            depth.
        whole: True after the last step of a run.
        threads: number of threads that train at once on shared weights, without locks; only one
            thread gives the same result every time.

    Example:
        >>> from structnet.label_tree import Features
        >>> tree = LabelTree(2, 3, arity=2)
        >>> table = np.eye(3, 2, dtype=np.float32)[np.arange(60) % 3]
        >>> data = Examples(Features.from_table(table), np.arange(60) % 3)
        >>> settings = LabelTreeSettings("learned", epochs=20, learning_rate=0.5)
        >>> training = Training(tree, settings).run(data)
        >>> training.done, bool(training.epochs[-1]["loss"] < 0.1)
        (1200, True)
    """

    tree: LabelTree
    settings: LabelTreeSettings
    done: int = 0
    epochs: list[dict[str, Any]] = field(default_factory=list)
    rebuilds: list[dict[str, float]] = field(default_factory=list)
    whole: bool = False
    threads: int = 1

    def run(
        self,
        examples: Examples,
        until: int | None = None,
        after_epoch: Callback = lambda training: None,
    ) -> Training:
        """Trains until a number of examples is reached, or to the end.

        Args:
            examples: examples; the same ones whenever the training is resumed.
            until: number of examples, over all epochs; the part in which it is reached is finished.
            after_epoch: function that is called with this object after each epoch.

        Raises:
            CollapseError: the steps are too long: the loss is not finite or, after the first epoch,
                above ``2 g + 1``, where g is the loss of guessing by the labels' frequencies.
        """
        size, settings = len(examples), self.settings
        examples = self._taken(examples)
        assert settings.epochs is not None and settings.learning_rate is not None
        total = size * settings.epochs
        marks, order = self._marks(size, total), None
        guessing = guessing_loss(examples.counts(self.tree.num_outputs))
        self.tree.train()
        for stop in marks[marks > self.done]:
            if until is not None and self.done >= until:
                return self
            if order is None or self.done % size == 0:
                order = epoch_order(size, settings.seed, self.done // size)
                if self.done % size == 0:
                    self.epochs.append({"epoch": len(self.epochs) + 1, "loss": 0.0, "seconds": 0.0})
                    if self.done + size == total:
                        self.tree.softmax.forget()  # the report is on the last epoch
            start, first = time.perf_counter(), self.done % size
            part = examples[order[first : first + stop - self.done]]
            loss = self._pass(part, self._rate(self.done, total), self._rate(stop, total))
            self.done = int(stop)
            self._check(loss / len(part), guessing)  # before labels are grouped by NaN
            if stop in self._rebuild_marks(total):
                self._rebuild(examples)
            record = self.epochs[-1]
            record["loss"] += loss / size
            record["learning_rate"] = self._rate(self.done, total)
            record["seconds"] += time.perf_counter() - start
            if self.done == total:
                self._end(examples)
            if self.done % size == 0:
                after_epoch(self)
        if not (total or self.whole):
            self._end(examples)
        self.tree.eval()
        self.whole = True
        return self

    def _end(self, examples: Examples) -> None:
        """What follows the last step: half of naive Bayes, and the temperature."""
        settings = self.settings
        if settings.start == "naive_bayes" and settings.epochs:
            alone = replace(settings, epochs=0)
            bayes = begin(examples, self.tree.num_outputs, alone, self.tree.codes)
            averaged(self.tree, bayes, examples.features)
        if settings.temperature not in (None, 1):
            self.tree.cool(settings.temperature)

    def stream(self, examples: Examples, rate: float | None = None) -> Training:
        """Trains once on examples, at a constant rate; for data that arrive in portions.

        The labels of a learned tree are reassigned. Weights are taken as they are, also if their
        mean is not 1: an example that counts half takes half a step, in any portion.

        After a whole training run, at the end of which the rate was 0, the rate is a tenth of the
        initial one, and labels stay in place: with longer steps, or labels that move, the tree
        would forget more than it learns in one pass.

        Args:
            examples: examples of this portion.
            rate: learning rate from now on; None for that of the settings.

        Raises:
            CollapseError: the steps are too long: the loss is not finite or, after the first
                portion, above the limit of :meth:`run` for the labels so far, and no lower after
                the steps. They are then undone.
        """
        softmax, examples = self.tree.softmax, self._taken(examples)
        # A new tree has counted the first portion, unless it was fitted without epochs.
        if self.done > 0 or self.settings.epochs == 0:
            counts = torch.from_numpy(examples.counts(self.tree.num_outputs))
        else:
            counts = torch.zeros_like(softmax.counts)
        before, records, settings = Touched.of(self.tree, examples), len(self.epochs), self.settings
        met, done = softmax.counts.clone(), self.done
        if rate is not None:
            self.settings = replace(settings, learning_rate=rate)
        try:
            self._stream(examples, (softmax.counts + counts).numpy())
            softmax.counts += counts
            self.done += len(examples)
        except BaseException:  # also KeyboardInterrupt: half a pass is no state to go on from
            before.put_back(self.tree)
            softmax.counts.copy_(met)
            del self.epochs[records:]
            self.settings, self.done = settings, done
            raise
        if self._learns_tree and not self.whole:
            self._rebuild()
        self.tree.eval()
        return self

    def _stream(self, examples: Examples, counts: np.ndarray) -> None:
        """Trains once on examples, and checks that the steps suit.

        ``counts``, of the labels so far, are ``[labels]``.

        Raises:
            CollapseError: they are too long.
        """
        rate = self.settings.learning_rate
        assert rate is not None
        rate *= AFTER if self.whole else 1
        order = epoch_order(len(examples), self.settings.seed, self.done)
        first = self.loss_of(examples) if len(examples) <= FEW else 0.0  # that of a pass is cut off
        loss = self._pass(examples[order], rate, rate, streams=True)
        loss /= max(examples.weight, np.finfo(float).tiny)
        self.epochs.append({"epoch": len(self.epochs) + 1, "loss": loss, "learning_rate": rate})
        # Of all examples so far, as a portion may have a single label.
        guessing = guessing_loss(counts)
        # New examples, above all a single one, may have a high loss; it falls if steps suit.
        before = max(loss, first)
        before *= 1 + ROUNDING * (before < 60)  # steps of light samples change no digit of it
        if not (_most(guessing) < loss < np.inf and self.loss_of(examples) < before):
            self._check(loss, guessing)

    def _taken(self, examples: Examples) -> Examples:
        features = examples.features
        return replace(examples, features=self.tree.arrays(features, lay=True).as_read(features))

    @property
    def _learns_tree(self) -> bool:
        """Is the tree learned? In a single node, no label can move."""
        return self.settings.tree == "learned" and self.tree.codes.num_nodes > 1

    @property
    def _groups(self) -> bool:
        return self.settings.tree == "learned" and self.settings.start == "groups"

    def _rebuild_marks(self, total: int) -> np.ndarray:
        if not self._learns_tree:
            return np.zeros(0, np.int64)
        if self._groups:
            return np.array([max(total // LEARNT, 1)])
        number = min(self.settings.rebuilds, max(total // 2, 1))
        return np.unique(total * np.arange(1, number + 1) // (2 * number))

    def _marks(self, size: int, total: int) -> np.ndarray:
        """The numbers of examples after which a part of the training ends."""
        if not total:
            return np.zeros(0, np.int64)
        ends = np.arange(size, total + 1, size)
        parts = (ends - size)[:, None] + np.arange(0, size, PART)
        return np.unique(np.concatenate([ends, parts.ravel(), self._rebuild_marks(total)]))

    def _rate(self, done: int, total: int) -> float:
        """The learning rate; it falls linearly to 0, from the start or the last reassignment on."""
        rate = self.settings.learning_rate
        assert rate is not None
        if self._groups or not self._learns_tree:
            return rate * (1 - done / total)
        return rate * min(1.0, 2 * (1 - done / total))

    def _pass(
        self, part: Examples, first_rate: float, last_rate: float, streams: bool = False
    ) -> float:
        """Trains on examples once, with all threads, and returns the sum of their losses."""
        softmax = self.tree.softmax
        codes, rows = softmax.codes, softmax.statistics
        if not (streams or self._keeps_statistics()):
            rows = Statistics(rows.sums[:0], rows.seen[:0])
        embedding, weight, bias, _ = self.tree.arrays(part.features, lay=True)
        where = *part.features.parts, weight, bias, codes.offsets, codes.nodes, codes.slots
        how = rows.sums, rows.seen, first_rate, last_rate, self.settings.bias

        def work(begin: int, end: int) -> float:
            arguments = begin, end, part.labels, part.shares, *where, *how
            if embedding is not None:
                return train_dense(*arguments, embedding)
            if not part.features.is_table:
                return train_sparse(*arguments)
            wide = codes.num_nodes == 1 and codes.arity >= WIDE
            return train_node(*arguments) if wide else train_dense(*arguments, None)

        ends = np.linspace(0, len(part), self.threads + 1).astype(int).tolist()
        with ONE_THREAD:  # in each of our threads
            if self.threads == 1:
                loss = work(0, len(part))
            else:
                with ThreadPoolExecutor(self.threads) as pool:
                    loss = sum(pool.map(work, ends[:-1], ends[1:]))
        softmax.take_bias(bias)
        return loss

    def _keeps_statistics(self) -> bool:
        """Are statistics kept? They are until the last reassignment, and in the last epoch."""
        number = 1 if self._groups else self.settings.rebuilds
        learning = self._learns_tree and len(self.rebuilds) < number
        return learning or len(self.epochs) == self.settings.epochs

    def _rebuild(self, examples: Examples | None = None) -> None:
        softmax = self.tree.softmax
        quality = softmax.node_report().mean()
        if self._groups and examples is not None:
            before = softmax.codes
            self._group(examples)
            moved = share_moved(before, softmax.codes)
        else:
            moved = softmax.reassign().moved
        counts = softmax.counts.numpy() + 1e-12
        # Exact sums, as the last digit of numpy's may depend on an array's place in memory.
        depth = math.fsum(counts * softmax.codes.depth) / math.fsum(counts)
        self.rebuilds.append(
            {"examples": self.done, "objective": quality, "moved": moved, "depth": depth}
        )

    def _group(self, examples: Examples) -> None:
        """Joins labels whose examples have similar representations."""
        softmax, limit = self.tree.softmax, self.settings.max_depth
        means = label_means(examples, self.tree.num_outputs, self.tree.vectors(), PRIOR)
        codes = grouped(softmax.counts.numpy(), means, softmax.arity)
        if limit is not None and codes.depth.max(initial=0) > limit:
            codes = clustered(means, softmax.arity, limit, self.settings.seed)
        softmax.replant(codes)

    def loss_of(self, examples: Examples) -> float:
        """The mean loss of the present tree on some examples."""
        return -examples.mean(self.tree.log_prob_of(examples.features, examples.labels))

    def _check(self, loss: float, guessing: float) -> None:
        if not np.isfinite(loss) or (len(self.epochs) > 1 and loss > _most(guessing)):
            raise CollapseError(
                f"training collapsed in epoch {len(self.epochs)}: the loss is {loss:.3g}, that of "
                f"guessing by frequency {guessing:.3g}; expected a learning rate below "
                f"{self.settings.learning_rate:g}, or features of a smaller size"
            )

    def tell(self, progress: Progress) -> None:
        """Reports the last epoch in one line."""
        record, most = self.epochs[-1], self.settings.epochs
        held_out = record.get("validation_loss")
        validation = "" if held_out is None else f"val loss {held_out:.3f}, "
        line = f"epoch {record['epoch']}/{most}, loss {record['loss']:.3f}, {validation}"
        progress.say_when_due(f"{line}{record['seconds']:.1f} s", last=record["epoch"] == most)

    # Saving and resuming

    def state(self) -> dict[str, Any]:
        """Everything but the tree and the settings, for JSON."""
        return {name: getattr(self, name) for name in ("done", "epochs", "rebuilds", "whole")}

    @classmethod
    def of(cls, tree: LabelTree, settings: LabelTreeSettings, state: Mapping[str, Any]) -> Training:
        """The training run that :meth:`state` described."""
        return cls(tree, settings, **state)

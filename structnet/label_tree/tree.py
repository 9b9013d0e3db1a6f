"""A classifier with very many labels: a representation, and a tree of softmaxes on top of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import embedding_bag

from structnet.label_tree.arrays import TreeArrays
from structnet.label_tree.codes import LabelCodes
from structnet.label_tree.features import Features, as_features
from structnet.label_tree.routed import Routed
from structnet.label_tree.settings import LabelTreeSettings
from structnet.label_tree.softmax import TreeSoftmaxLoss
from structnet.routing.samples import Samples, inputs_of


class LabelTree(Routed):
    """Labels at the leaves of a tree, chosen by softmaxes on the way to them.

    The representation of an example is its row of numbers or, with an embedding, the weighted sum
    of its features' vectors (with equal weights, the mean).

    Args:
        num_features: number of columns of a table, or of possible features in a bag.
        num_classes: number of labels.
        vector_size: length of the features' vectors; None classifies the rows themselves.
        seed: seed of the vectors.
        softmax: arguments of :class:`.TreeSoftmaxLoss`.

    Attributes:
        embedding: vectors of the features, or None.
        softmax: the tree.

    Shapes:
        x ``[n, num_features]``, a table or a sparse matrix, or :class:`.Features`.

    Raises:
        ValueError: an argument is out of its range.

    Reference:
        Jernite et al., ICML 2017, Sec. 3.

    Example:
        >>> tree = LabelTree(5, 100, arity=4)
        >>> tree.predict_proba(torch.rand(3, 5)).shape
        torch.Size([3, 100])
    """

    def __init__(
        self,
        num_features: int,
        num_classes: int,
        vector_size: int | None = None,
        *,
        seed: int = 0,
        **softmax: Any,
    ):
        super().__init__()
        self.shape: tuple[int, ...] = (num_features,)
        size = num_features if vector_size is None else vector_size
        self.embedding: nn.Parameter | None = None
        if vector_size is not None:
            # numpy's generator, so that the vectors do not depend on what torch drew before.
            bound = 1 / vector_size
            drawn = np.random.default_rng(seed).random((num_features, size), np.float32)
            self.embedding = nn.Parameter(torch.from_numpy((2 * drawn - 1) * np.float32(bound)))
        self.softmax = TreeSoftmaxLoss(size, num_classes, seed=seed, **softmax)

    @classmethod
    def empty(cls, num_features: int, num_classes: int, settings: LabelTreeSettings) -> LabelTree:
        """The tree of a file before its weights are loaded, in single precision.

        Args:
            num_features, num_classes: numbers of features and of labels.
            settings: settings with which the tree was trained.

        Raises:
            CheckpointError: within :func:`.bounded`, an array is larger than the file's weights.
        """
        size = settings.vector_size or None
        torch.empty(settings.arity or 0, size or num_features)  # which `bounded` looks at
        torch.empty(num_features, size or 1)
        return cls(num_features, num_classes, size, arity=settings.arity, **settings.rules).float()

    @property
    def codes(self) -> LabelCodes:
        """The present tree."""
        return self.softmax.codes

    @property
    def num_outputs(self) -> int:
        """The number of labels."""
        return self.softmax.n_classes

    def represent(self, x: Any) -> Tensor:
        """The representations. ``[n, num_features] -> [n, size]``."""
        like = self.softmax.weight
        if isinstance(x, Samples):
            x = x.x
        if isinstance(x, (Tensor, np.ndarray)):
            rows = torch.as_tensor(x).to(like)
            return rows if self.embedding is None else rows @ self.embedding
        features = as_features(x).for_tree(self.shape[0], self.embedding is not None)
        if self.embedding is None:
            if features.is_table:
                return torch.from_numpy(features.table).to(like)
            rows = features.to_csr()
            rows.resize(rows.shape[0], self.shape[0])  # features that no sample here has come last
            return torch.from_numpy(rows.toarray()).to(like)
        matrix = features.to_csr()
        ids, offsets = (torch.from_numpy(a).long() for a in (matrix.indices, matrix.indptr[:-1]))
        weights = torch.from_numpy(matrix.data).to(like)
        where = ids.to(like.device), self.embedding, offsets.to(like.device)
        return embedding_bag(*where, mode="sum", per_sample_weights=weights)

    def loss(self, batch: Samples) -> Tensor:
        """The mean loss of samples, each counted by its weight, a scalar."""
        output = self.softmax(self.represent(batch.x), batch.targets).output
        return batch.mean(-output)

    def predict_log_proba(self, x: Any) -> Tensor:
        """The log-probability of each label. ``[n, num_features] -> [n, num_classes]``."""
        return self.softmax.log_prob(self.represent(inputs_of(x)))

    def predict_proba(self, x: Any) -> Tensor:
        """The probability of each label. ``[n, num_features] -> [n, num_classes]``."""
        return self.predict_log_proba(x).exp()

    def predict(self, x: Any) -> Tensor:
        """The likeliest label of each example, by search. ``[n, num_features] -> [n]``."""
        return torch.from_numpy(self.top_k(inputs_of(x))[1][:, 0])

    @torch.no_grad()
    def cool(self, temperature: float) -> None:
        """Divides the scores of all nodes by a number."""
        self.softmax.weight.div_(temperature)
        self.softmax.bias.div_(temperature)

    # Through the compiled loops, on a CPU and in single precision

    def arrays(self, features: Features, lay: bool = False) -> TreeArrays:
        """The arrays for the compiled loops; see :meth:`.TreeSoftmaxLoss.arrays`."""
        by_feature = self.embedding is None and not features.is_table
        return self.softmax.arrays(self.vectors(), by_feature, lay)

    def vectors(self) -> np.ndarray | None:
        """The features' vectors as a shared array, ``[num_features, size]``, or None."""
        return None if self.embedding is None else self.embedding.detach().cpu().numpy()

    def top_k(
        self, x: Any, k: int = 1, beam: int | None = None, threshold: float = 0.0
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """The k likeliest labels, best first, by branch and bound.

        Args:
            x: samples.
            k, beam, threshold: see :meth:`.TreeSoftmaxLoss.top_k`.

        Shapes:
            log-probabilities and labels, ``[n, k]``; -inf and -1 where there are fewer.

        Returns:
            Both, and the number of nodes that were computed for each example.
        """
        features = as_features(x)
        return self.arrays(features).searched(features, k, beam, threshold)

    def log_prob_of(self, x: Any, labels: np.ndarray) -> np.ndarray:
        """The log-probability of one label for each example. ``[n, num_features], [n] -> [n]``."""
        features = as_features(x)
        return self.arrays(features).scored(features, labels)

    def log_prob_of_all(self, x: Any) -> np.ndarray:
        """The log-probabilities of all labels. ``[n, num_features] -> [n, num_classes]``."""
        features = as_features(x)
        return self.arrays(features).scored_all(features)

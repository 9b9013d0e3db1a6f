"""Vectors of tokens: a word has a row of its own, a number's vector is computed from its value."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from structnet.errors import GraphError
from structnet.trees.number_tokens import FIRST, values_of

BINS = 8  # bins between quantiles of the training values
FURTHEST = 10.0  # standard deviations, and widths of a bin, at which features are clipped


class NumberEmbedding(nn.Embedding):
    """An embedding whose tokens may be numbers (:mod:`structnet.trees.number_tokens`).

    A number v has the vector ``n_0 + sum_k f_k(v) n_k``, where n_0 is shared by all numbers, and
    the features f_k are the standardized value, the standardized
    ``sign(v) log(1 + |v| / median |v|)``, and the position of v in each bin between quantiles of
    the training values: 0 below the bin, 1 above it.

    Args:
        num_embeddings: number of words, including the unknown one.
        embedding_dim: size of a vector.

    Shapes:
        number_weight: ``[3 + BINS, embedding_dim]``.
        input ``[n]``, int64 -> output ``[n, embedding_dim]``.

    Reference: Gorishniy, Rubachev and Babenko, "On Embeddings for Numerical Features in Tabular
    Deep Learning", NeurIPS 2022, Sec. 3.2 (the bins).

    Example:
        >>> from structnet.trees.number_tokens import token_of_number
        >>> table = NumberEmbedding(5, 8)
        >>> table(torch.tensor([4, token_of_number(-2.5)])).shape
        torch.Size([2, 8])
    """

    edges: Tensor
    moments: Tensor
    unit: Tensor

    def __init__(self, num_embeddings: int, embedding_dim: int):
        super().__init__(num_embeddings, embedding_dim)
        self.number_weight = nn.Parameter(torch.empty(3 + BINS, embedding_dim))
        nn.init.normal_(self.number_weight, std=(3 + BINS) ** -0.5)
        # Mean and standard deviation of the value, and of its logarithm.
        self.register_buffer("moments", torch.tensor([[0.0, 1.0], [0.0, 1.0]]).double())
        self.register_buffer("unit", torch.ones(()).double())
        self.register_buffer("edges", torch.linspace(-1, 1, BINS + 1).double())

    @torch.no_grad()
    def fit_scale(self, values: np.ndarray) -> None:
        """Fits the scale of the features to training values, ``[n]``, at least one."""
        self.unit.fill_(unit_of(values))
        for row, column in zip(
            self.moments, (values, signed_log(values, self.unit.item())), strict=True
        ):
            # The deviation of equal values is not always 0: their mean is rounded.
            row[0], row[1] = column.mean(), column.std() if np.ptp(column) > 0 else 1.0
        self.edges.copy_(torch.from_numpy(np.quantile(values, np.linspace(0, 1, BINS + 1))))

    def features(self, values: np.ndarray) -> np.ndarray:
        """1 and the features of values, ``[n]`` -> ``[n, 3 + BINS]``."""
        mean, deviation = self.moments.double().cpu().numpy().T
        both = (np.stack((values, signed_log(values, self.unit.item())), 1) - mean) / deviation
        edges = self.edges.double().cpu().numpy()
        width = np.diff(edges)
        come = (values[:, None] - edges[:-1]) / np.where(width > 0, width, 1)
        come = np.where(width > 0, come, values[:, None] > edges[:-1])
        ones = np.ones((len(values), 1))
        return np.concatenate((ones, both.clip(-FURTHEST, FURTHEST), come.clip(0, 1)), axis=1)

    def extended(self, tokens: np.ndarray) -> tuple[Tensor, np.ndarray]:
        """The table of words, followed by the vectors of all numbers among the tokens, and the
        row of each token in it.

        Shapes:
            tokens ``[n]`` -> ``[num_embeddings + numbers, embedding_dim]``, ``[n]``; -1 stays.
        """
        numbers = tokens >= FIRST
        if not numbers.any():
            return self.weight, tokens
        distinct, place = np.unique(tokens[numbers], return_inverse=True)
        features = torch.from_numpy(self.features(values_of(distinct))).to(self.weight)
        rows = tokens.copy()
        rows[numbers] = len(self.weight) + place
        return torch.cat((self.weight, features @ self.number_weight)), rows

    def forward(self, tokens: Tensor) -> Tensor:
        table, rows = self.extended(tokens.cpu().numpy())
        return F.embedding(torch.from_numpy(rows).to(table.device), table)


def check_known(tokens: np.ndarray, table: nn.Embedding | Tensor, words: str) -> None:
    """Refuses tokens, ``[n]``, for which a table has no vectors.

    Args:
        tokens: row numbers; also tokens of numbers, if the table takes them.
        table: an embedding, or vectors ``[rows, size]``.
        words: text of the error, with places for the token and for the number of rows.

    Raises:
        GraphError: a token has no vector.
    """
    known = len(table.weight if isinstance(table, nn.Embedding) else table)
    unknown = tokens >= known
    if isinstance(table, NumberEmbedding):
        unknown &= tokens < FIRST
    if unknown.any():
        raise GraphError(words.format(tokens[unknown].max(), known))


def unit_of(values: np.ndarray) -> float:
    """The median absolute value of the values, ``[n]``, that are not 0; 1 if there are none."""
    size = np.abs(values)
    return float(np.median(size[size > 0])) if size.any() else 1.0


def signed_log(values: np.ndarray, unit: float) -> np.ndarray:
    """``sign(v) log(1 + |v| / unit)``, ``[n]``: linear near 0, logarithmic far from it."""
    return np.sign(values) * np.log1p(np.abs(values) / unit)

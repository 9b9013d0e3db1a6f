"""The Child-Sum Tree-LSTM: one set of weights for all nodes, whose labels are vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from structnet.checks import check_integer, check_number
from structnet.errors import GraphError
from structnet.message_passing.scheduling import check_forest
from structnet.message_passing.transfer import moved
from structnet.tensor_tree.child_sum_cell import ChildSumCell, added_up, looked_up
from structnet.tensor_tree.number_embedding import NumberEmbedding, check_known
from structnet.training.modules import is_plain, not_compiled
from structnet.trees.forest import Forest
from structnet.trees.number_tokens import FIRST
from structnet.trees.texts import Texts

LEAF_SCALE = 0.1  # scale of the vectors of words, relative to those of inner labels


class ChildSumTreeLSTM(ChildSumCell):
    """Encodes every node of a forest, with any number of children and any number of labels.

    For a node with the vector x of its label and children 1..k in places p(1)..p(k)::

        s       = sum_j g_p(j) * h_j + b_p(j)
        i, o, u = sigmoid, sigmoid, tanh of W x + U s + b
        f_j     = sigmoid(W_f x + U_f h_j + b_f)            for each child j
        c       = i * u + sum_j f_j * c_j
        h       = o * tanh(c)

    With ``order=False``, g is 1 and b_p is 0, and these are Eq. (2)-(8) of the paper. The gate and
    the bias of a place are not in the paper: they tell children apart by their places, with 2
    numbers for each place and unit. A matrix for each place (the paper's N-ary form, which
    :class:`~structnet.tensor_tree.TreeLSTM` has) would have to be learned from the few nodes that
    have so many children.

    The vector of a leaf that is a text of n words (``forest.texts``) is that of its label plus the
    sum of its words' vectors divided by the square root of n.

    A node's type, if it has one, is looked up among types and its token among tokens; the vectors
    of a node that has both are added. Vectors of types are first drawn from N(0, 1), those of
    tokens from N(0, 0.01): a tree has few kinds of inner nodes, while the vectors of words that
    matter grow in training.

    Args:
        hidden_size: c, the size of h and of the cell state.
        num_types: number of inner labels (``vocabulary.num_types``).
        num_tokens: number of labels of leaves, and of tokens (``vocabulary.num_tokens``).
        input_size: size of the label vectors; None for ``hidden_size``.
        order: False if the order of the children must not matter.
        places: number of places that are told apart; all later children share the last place.
        dropout: share of the entries of label vectors that is dropped in training.
        label_dropout: share of the nodes whose label is replaced by the last type or token in
            training, from which the unknown label of a vocabulary with ``unknown=True`` learns its
            vector. See also :meth:`drop_rare_labels`. Numbers are never dropped.
        numbers: True if tokens may be numbers (``vocabulary.any_numbers``), whose vectors are
            computed from their values: see
            :class:`~structnet.tensor_tree.number_embedding.NumberEmbedding`.

    Raises:
        ValueError: a size is below 1, or a share outside [0, 1).

    Shapes:
        output: the roots' states, ``[len(forest), hidden_size]``.

    Reference: Tai, Socher and Manning, "Improved Semantic Representations From Tree-Structured
    Long Short-Term Memory Networks", ACL 2015, Sec. 3.1.

    Example:
        >>> from structnet.trees.tree import Tree
        >>> from structnet.trees.vocabulary import Vocabulary
        >>> _ = torch.manual_seed(0)
        >>> trees = [Tree.from_postorder([("dogs", 0, None), ("bark", 0, None), ("S", 2, None)])]
        >>> vocabulary = Vocabulary.from_trees(trees)
        >>> encoder = ChildSumTreeLSTM(8, vocabulary.num_types, vocabulary.num_tokens)
        >>> encoder(Forest.from_trees(trees, vocabulary)).shape
        torch.Size([1, 8])
    """

    type_dropout: Tensor | None
    token_dropout: Tensor | None

    def __init__(
        self,
        hidden_size: int,
        num_types: int,
        num_tokens: int,
        input_size: int | None = None,
        order: bool = True,
        places: int = 5,
        dropout: float = 0.0,
        label_dropout: float = 0.0,
        numbers: bool = False,
    ):
        super().__init__(hidden_size, input_size or hidden_size, order, places)
        for name, value in (("num_types", num_types), ("num_tokens", num_tokens)):
            check_integer(name, value, 0, owner="ChildSumTreeLSTM")
        check_integer("input_size", input_size, 1, optional=True, owner="ChildSumTreeLSTM")
        for name, share in (("dropout", dropout), ("label_dropout", label_dropout)):
            check_number(name, share, 0, 0.999, owner="ChildSumTreeLSTM")
        self.dropout, self.label_dropout = dropout, label_dropout
        e = len(self.weight)
        self.type_vectors = nn.Embedding(num_types, e)
        self.token_vectors = (NumberEmbedding if numbers else nn.Embedding)(num_tokens, e)
        for name in ("type_dropout", "token_dropout"):  # until drop_rare_labels
            self.register_buffer(name, None, persistent=False)
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draws the initial weights."""
        self.type_vectors.weight.normal_()
        self.token_vectors.weight.normal_(std=LEAF_SCALE)
        if isinstance(self.token_vectors, NumberEmbedding):
            self.token_vectors.number_weight.normal_(std=LEAF_SCALE)
        super().reset_parameters()

    @torch.no_grad()
    def set_vectors(self, vectors: np.ndarray, which: np.ndarray, frozen: bool = False) -> None:
        """Sets tokens' vectors to known ones, such as :func:`structnet.text.read_vectors` reads.

        These are scaled so that their entries have mean square 1/4; the vectors of other tokens
        stay as they are.

        Args:
            vectors: one row per token.
            which: mask of the rows to use.
            frozen: True to stop training the vectors of all tokens.

        Shapes:
            vectors ``[num_tokens, input_size]``; which ``[num_tokens]``, bool.

        Raises:
            ValueError: the shapes are not those of the tokens.
        """
        table = self.token_vectors.weight
        if vectors.shape != tuple(table.shape) or which.shape != (len(table),):
            raise ValueError(
                f"vectors must have shape {list(table.shape)}, one row per token; got "
                f"{list(vectors.shape)}, with a mask of shape {list(which.shape)}"
            )
        known = torch.from_numpy(np.asarray(vectors, np.float64)[which])
        scale = 0.5 / known.square().mean().sqrt().clamp_min(1e-12) if len(known) else 1.0
        table[torch.from_numpy(which)] = (known * scale).to(table)
        table.requires_grad_(not frozen)

    def drop_rare_labels(self, types: np.ndarray, tokens: np.ndarray, strength: float) -> None:
        """Drops a label of n trees with probability ``strength / (strength + n)`` in training.

        From a name that occurs once a model learns to recognise the example, not what the name
        means. All nodes of a batch with the label are dropped together, as a name that is left
        elsewhere in the example would still identify it. A loaded model does not drop labels until
        this is called again.

        Args:
            types, tokens: number of trees with each label; infinity for one that is never dropped.
            strength: number of trees at which a label is dropped with probability 1/2.

        Shapes:
            types ``[num_types]``; tokens ``[num_tokens]``.

        Raises:
            ValueError: counts have the wrong shape or are below 0, or the strength is not above 0.

        Reference: Kiperwasser and Goldberg, "Simple and Accurate Dependency Parsing Using
        Bidirectional LSTM Feature Representations", TACL 2016, Sec. 4 (with 0.25, and each
        occurrence by itself); Gal and Ghahramani, "A Theoretically Grounded Application of Dropout
        in Recurrent Neural Networks", NIPS 2016 (words as a whole).
        """
        check_number("strength", strength, 0, open=True, owner="drop_rare_labels")
        for name, count in (("type", types), ("token", tokens)):
            table, count = getattr(self, f"{name}_vectors").weight, np.asarray(count, np.float64)
            if count.shape != (len(table),) or not (count >= 0).all():
                raise ValueError(
                    f"{name}s must be {len(table)} counts, one per {name}; got shape "
                    f"{list(count.shape)}, the least {count.min(initial=np.inf)}"
                )
            shares = torch.from_numpy(strength / (strength + count))
            setattr(self, f"{name}_dropout", shares.to(table.device, torch.float32))

    def labels(self, forest: Forest) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The type and the token of each node, -1 for none, and the words; some drop in training.

        Shapes:
            output: ``[num_nodes]`` each, and ``[words]``, those of all texts in the order of nodes.

        Raises:
            GraphError: the forest is empty, or a node has neither type nor token, or one that the
                model does not have.
        """
        if forest.num_nodes == 0:
            raise GraphError("the forest is empty; a sweep needs at least one node")
        empty = (forest.types < 0) & (forest.tokens < 0)
        if empty.any():
            raise GraphError(f"node {empty.argmax()} has neither type nor token; it needs one")
        found = []
        words = forest.words_at(np.arange(forest.num_nodes))[1]
        tokens = np.concatenate((forest.tokens, words))
        for name, numbers in (("type", forest.types), ("token", tokens)):
            table = getattr(self, f"{name}_vectors")
            count = len(table.weight)
            check_known(numbers, table, f"the forest has {name} {{}}; the model has {{}} {name}s")
            found.append(self._dropped(name, numbers, count - 1) if self.training else numbers)
        tokens, words = np.split(found[1], [forest.num_nodes])
        return found[0], tokens, words

    def _dropped(self, name: str, numbers: np.ndarray, unknown: int) -> np.ndarray:
        """The types, or tokens, of nodes, where those that are dropped become the unknown one."""
        is_word = (numbers >= 0) & (numbers < FIRST)
        has, shares = is_word.nonzero()[0], getattr(self, f"{name}_dropout")
        if not len(has) or (not self.label_dropout and shares is None):
            return numbers
        found = numbers.copy()
        if self.label_dropout:
            found[has[(torch.rand(len(has)) < self.label_dropout).numpy()]] = unknown
        if shares is not None:
            rare = (torch.rand(len(shares)) < shares.cpu()).numpy()
            found[has[rare[found[has]]]] = unknown
        return found

    def vectors(self, types: np.ndarray, tokens: np.ndarray) -> Tensor:
        """The vectors of types plus those of tokens; -1 for none.

        Shapes:
            types, tokens ``[n]`` -> ``[n, input_size]``.
        """
        tables = self.type_vectors, self.token_vectors
        return added_up(list(zip((types, tokens), map(_lookup, tables), strict=True)), self.weight)

    def inputs(self, forest: Forest) -> Tensor:
        """The vector of each node's label, ``[num_nodes, input_size]``; errors as in ``labels``."""
        return self._inputs(forest, *self.labels(forest))

    def _inputs(
        self, forest: Forest, types: np.ndarray, tokens: np.ndarray, words: np.ndarray
    ) -> Tensor:
        x = self.vectors(types, tokens)
        if forest.texts is None or not len(words):
            return x
        texts, added = self._of_words(forest.texts, _lookup(self.token_vectors)(words))
        (where,) = moved(x.device, texts)
        return x.index_add(0, where, added.to(x.dtype))

    @staticmethod
    def _of_words(texts: Texts, vectors: Tensor) -> tuple[np.ndarray, Tensor]:
        """The nodes that are texts, and the vectors that their words add to them.

        Shapes:
            vectors ``[words, input_size]`` -> ``[texts]``, ``[texts, input_size]``.
        """
        nodes, count = texts.lengths()
        (lengths,) = moved(vectors.device, count)
        added = _SegmentSum.apply(vectors, lengths)
        return nodes, added / lengths.unsqueeze(1).to(added).sqrt()

    @not_compiled
    def node_states(self, forest: Forest, backend: str = "levels") -> Tensor:
        """The hidden states of all nodes, by their numbers in the forest.

        Args:
            forest: the trees, of any arity.
            backend: backend as for :func:`structnet.message_passing.propagate`; on a CPU "levels"
                is compiled, with equal results.

        Shapes:
            output: ``[num_nodes, hidden_size]``.

        Raises:
            TypeError: ``forest`` is not a Forest.
            GraphError: the forest is empty, or has a type or a token that the model does not have.
            ValueError: a parameter no longer has its shape, or the backend is unknown.
        """
        check_forest(forest)
        types, tokens, words = self.labels(forest)
        apart = self.training and self.dropout > 0  # dropout is drawn for each node
        ones = self.weight.new_ones(len(types), len(self.weight))
        mask = F.dropout(ones, self.dropout) if apart else None
        if not (_is_a_table(self.type_vectors) and _is_a_table(self.token_vectors)):
            x = self._inputs(forest, types, tokens, words)
            numbers = np.arange(len(x)), np.full(len(x), -1)
            return self.states_from(forest, numbers, (x, x[:0]), mask, backend)
        table = self.token_vectors.weight
        if isinstance(self.token_vectors, NumberEmbedding):
            table, tokens = self.token_vectors.extended(tokens)
        if forest.texts is not None and len(words):
            texts, added = self._of_words(forest.texts, looked_up(table, words))
            added = added + looked_up(table, tokens[texts])
            tokens = tokens.copy()
            tokens[texts] = len(table) + np.arange(len(texts))
            table = torch.cat((table, added))
        tables = self.type_vectors.weight, table
        return self.states_from(forest, (types, tokens), tables, mask, backend)

    def forward(self, forest: Forest, backend: str = "levels") -> Tensor:
        h = self.node_states(forest, backend)
        return h.index_select(0, torch.from_numpy(forest.roots).to(forest.device))


class _SegmentSum(torch.autograd.Function):
    """Sums of consecutive rows, as ``torch.segment_reduce``, but with second derivatives.

    Shapes:
        rows ``[n, size]``, lengths ``[sums]`` -> ``[sums, size]``.
    """

    @staticmethod
    def forward(ctx: Any, rows: Tensor, lengths: Tensor) -> Tensor:
        ctx.save_for_backward(lengths)
        return torch.segment_reduce(rows, "sum", lengths=lengths)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (lengths,) = ctx.saved_tensors
        return gradient.repeat_interleave(lengths, 0), None


def _is_a_table(table: nn.Embedding) -> bool:
    """Whether a call of an embedding gives rows of its weight, so that it need not be called."""
    if not is_plain(table, nn.Embedding, NumberEmbedding):
        return False
    options = table.padding_idx, table.max_norm
    return options == (None, None) and not (table.scale_grad_by_freq or table.sparse)


def _lookup(table: nn.Embedding) -> Callable[[np.ndarray], Tensor]:
    """A function that looks vectors up by calling the table: what is its own is computed."""
    return lambda numbers: table(torch.from_numpy(numbers).to(table.weight.device))

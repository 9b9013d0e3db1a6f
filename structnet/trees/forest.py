"""Many trees in one graph of the schema, equal subtrees stored once: checked, shared, sliced.

The graph of a :class:`Forest` is acyclic rather than a tree, as one stored subtree may be below
several nodes. Order is data: nothing here relies on the order of edges.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from structnet.checks import check_memory
from structnet.errors import GraphError
from structnet.trees import _kernels
from structnet.trees.arrays import MAX_PLACE, ForestArrays, Level, check_arrays, check_numbers
from structnet.trees.end_to_end import offsets_of, ranges
from structnet.trees.label_words import Text
from structnet.trees.memory import collector_paused
from structnet.trees.number_tokens import FIRST, values_of
from structnet.trees.numbering import add_shared, add_unshared, positions, renumbered
from structnet.trees.schema import edges_by_place, make_graph
from structnet.trees.texts import Texts
from structnet.trees.tree import Tree, checked_trees
from structnet.trees.vocabulary import NONE, Vocabulary

if TYPE_CHECKING:
    from dgl import DGLGraph
UNKNOWN = "<unknown>"  # label of what a vocabulary does not know


class Preorder(NamedTuple):
    """The nodes of each tree of a forest, parents first, as :meth:`Tree.preorder` gives them.

    Shapes:
        offsets: ``[len(forest) + 1]``; tree i has the entries ``offsets[i]`` to ``offsets[i + 1]``.
        nodes: ``[nodes of all trees]``, numbers of nodes of the forest.
    """

    offsets: np.ndarray
    nodes: np.ndarray

    @property
    def trees(self) -> np.ndarray:
        """The tree of each entry, ``[nodes of all trees]``."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))


class Forest:
    """Many trees in one graph, equal subtrees stored once.

    Nodes are numbered by height, then type, so that a level is a range of numbers, and children
    come before parents. Build a forest with :meth:`from_trees` or :meth:`from_graph`; the
    constructor checks arrays that are given to it. Everything is held in numpy arrays on the CPU;
    ``device`` says where models put the tensors they derive from them.

    Attributes:
        types, tokens: ``[num_nodes]``, int64, -1 for none.
        height: ``[num_nodes]``, edges on the longest way down to a leaf.
        offsets, children, pos: CSR lists of children, ``[num_nodes + 1]``, ``[num_edges]``,
            ``[num_edges]``; the children of a node are in the order of their places.
        roots: ``[len(forest)]``, the root node of each tree.
        texts: the words of leaves that are texts; None if there are none.
        vocabulary: the labels of types and tokens, or None.
        arity: the number of places of a node.

    Raises:
        GraphError: the arrays are not those of a forest.

    Example:
        >>> a, b = Tree("a"), Tree("b")
        >>> trees = [Tree("and", [a, b]), Tree("not", [Tree("and", [a, b])])]
        >>> forest = Forest.from_trees(trees, Vocabulary.from_trees(trees))
        >>> len(forest), forest.num_nodes  # of 7 nodes, 4 differ
        (2, 4)
        >>> forest.tree(1)
        <Tree (not (and a b))>
    """

    def __init__(
        self,
        types: np.ndarray,
        tokens: np.ndarray,
        height: np.ndarray,
        offsets: np.ndarray,
        children: np.ndarray,
        pos: np.ndarray,
        roots: np.ndarray,
        arity: int,
        vocabulary: Vocabulary | None = None,
        device: str | torch.device = "cpu",
    ):
        arrays = ForestArrays(types, tokens, height, offsets, children, pos, roots)
        check_arrays(arrays, arity)
        self._hold(arrays, arity, vocabulary, device)

    def _hold(
        self,
        arrays: ForestArrays,
        arity: int,
        vocabulary: Vocabulary | None,
        device: str | torch.device,
        texts: Texts | None = None,
    ) -> None:
        self.types, self.tokens, self.height = arrays.types, arrays.tokens, arrays.height
        self.offsets, self.children, self.pos = arrays.offsets, arrays.children, arrays.pos
        self.roots, self.arity, self.vocabulary = arrays.roots, arity, vocabulary
        self.texts, self.device = texts, torch.device(device)
        self._graph: DGLGraph | None = None

    @classmethod
    def of(
        cls,
        arrays: ForestArrays,
        arity: int,
        vocabulary: Vocabulary | None,
        device: str | torch.device = "cpu",
        texts: Texts | None = None,
    ) -> Forest:
        """The forest of arrays that need no check, as minibatches are cut all the time."""
        forest = cls.__new__(cls)
        forest._hold(arrays, arity, vocabulary, device, texts)
        return forest

    @property
    def arrays(self) -> ForestArrays:
        """The nodes, not copied."""
        return ForestArrays(*(getattr(self, name) for name in ForestArrays._fields))

    @classmethod
    def from_trees(
        cls, trees: Sequence[Tree], vocabulary: Vocabulary, share: bool = True
    ) -> Forest:
        """The forest of ``trees``.

        Args:
            trees: trees to store; root ``i`` of the forest is that of the i-th tree.
            vocabulary: the numbers of their labels.
            share: True to store equal subtrees once; False to store every node of every tree,
                which gives the same values and gradients with more work.

        Raises:
            TypeError: ``trees`` are no Trees.
            VocabularyError: the vocabulary does not know a label, or a node has too many children.
        """
        trees = checked_trees(trees)
        add = add_shared if share else add_unshared
        with collector_paused():
            (types, tokens, offsets, children, roots), texts = add(trees, vocabulary)
        # [edges]: an entry's place in its own list.
        pos = np.arange(len(children)) - np.repeat(offsets[:-1], np.diff(offsets))
        arrays = (types, tokens, offsets, children, pos, roots)
        arity = vocabulary.arity
        return cls._sorted(
            arrays, int(pos.max(initial=-1)) + 1 if arity is None else arity, vocabulary, texts
        )

    @classmethod
    def from_graph(
        cls,
        graph: DGLGraph,
        roots: Sequence[int] | None = None,
        vocabulary: Vocabulary | None = None,
    ) -> Forest:
        """The forest of a DGL graph that follows the schema; the graph is not changed.

        A graph stores no words of texts: a text that went into a :attr:`graph` is a whole label.

        Args:
            graph: edges child -> parent, with ``pos``, ``type`` and ``token``.
            roots: node numbers in ``graph``; by default the nodes without a parent, ascending.
            vocabulary: the labels of types and tokens, if known.

        Raises:
            GraphError: a field is missing, there is a cycle, a number is out of range, two
                children have the same place, or the roots are not numbers.
        """
        child, parent, pos = edges_by_place(graph)
        types, tokens = graph.ndata["type"].numpy(), graph.ndata["token"].numpy()
        check_numbers("edata['pos']", pos, 0, MAX_PLACE)
        check_numbers("ndata['type']", types, NONE)
        check_numbers("ndata['token']", tokens, NONE)
        order = _kernels.topological_order(child, parent, len(types))
        if len(order) < len(types):
            raise GraphError("the graph has a cycle; children must come before their parents")
        arity = max(int(pos.max(initial=-1)) + 1, (vocabulary and vocabulary.arity) or 0)
        offsets = offsets_of(np.bincount(parent, minlength=len(types)))
        if roots is None:
            roots = np.flatnonzero(np.bincount(child, minlength=len(types)) == 0).tolist()
        chosen = np.asarray(roots)
        # A float would be cut, a mask be 0 and 1.
        if chosen.ndim != 1 or (chosen.dtype.kind not in "iu" and chosen.size):
            raise GraphError(f"roots must be numbers of nodes; got {chosen.dtype} {chosen.shape}")
        chosen = chosen.astype(np.int64)
        outside = (chosen < 0) | (chosen >= len(types))
        if outside.any():
            raise GraphError(
                f"root {chosen[outside][0]} is not a node; the graph has {len(types)} nodes"
            )
        arrays = renumbered(order, types, tokens, offsets, child, pos, chosen)
        return cls._sorted(arrays, arity, vocabulary)

    @classmethod
    def _sorted(
        cls,
        arrays: tuple[np.ndarray, ...],
        arity: int,
        vocabulary: Vocabulary | None,
        texts: Texts | None = None,
    ) -> Forest:
        """Renumbers topologically ordered nodes by height, then type."""
        types, _, offsets, children, _, _ = arrays
        height = _kernels.heights(offsets, children)
        order = np.lexsort((types, height))
        types, tokens, offsets, children, pos, roots = renumbered(order, *arrays)
        nodes = ForestArrays(types, tokens, height[order], offsets, children, pos, roots)
        return cls.of(nodes, arity, vocabulary, texts=texts and texts.take(order))

    def __len__(self) -> int:
        return len(self.roots)

    @property
    def num_nodes(self) -> int:
        """The number of distinct nodes that the forest stores."""
        return len(self.types)

    def __getitem__(self, indices: int | slice | Sequence[int] | np.ndarray) -> Forest:
        """The sub-forest at and below the chosen roots, in the order in which they are given."""
        roots = self.roots[positions(indices, len(self))]
        return self.copied(_kernels.below(roots, self.offsets, self.children), roots)

    def copied(self, nodes: np.ndarray, roots: Sequence[int] | np.ndarray = ()) -> Forest:
        """The forest on some nodes, in which nodes that are listed several times are copied.

        Args:
            nodes: lists of node numbers, joined, one for each copy; each is ascending and includes
                all nodes below its nodes.
            roots: roots, among the nodes of the last copy.
        """
        offsets, children, edges, new_roots = _kernels.restrict(
            nodes, np.asarray(roots, np.int64), self.offsets, self.children
        )
        of_nodes = (self.types[nodes], self.tokens[nodes], self.height[nodes])
        arrays = ForestArrays(*of_nodes, offsets, children, self.pos[edges], new_roots)
        texts = self.texts and self.texts.take(nodes)
        return Forest.of(arrays, self.arity, self.vocabulary, self.device, texts)

    def sizes(self) -> np.ndarray:
        """The number of nodes of each tree, with shared ones counted as often as they occur.

        Shapes:
            output: ``[len(forest)]``, float64, as shared trees can have astronomical sizes.
        """
        return _kernels.sizes(self.offsets, self.children)[self.roots]

    def preorder(self) -> Preorder:
        """The forest's node for each node of each tree, in preorder.

        Raises:
            ValueError: without sharing, the trees do not fit in memory.

        Example:
            >>> trees = [Tree("f", [Tree("x"), Tree("y"), Tree("x")])]
            >>> forest = Forest.from_trees(trees, Vocabulary.from_trees(trees))
            >>> forest.preorder().nodes.tolist()  # f, x, y, x
            [2, 0, 1, 0]
        """
        sizes = self.sizes()
        check_memory("a row for each node of these trees", 8 * sizes.sum())
        offsets = offsets_of(sizes)
        nodes = _kernels.preorder(self.roots, self.offsets, self.children, offsets[-1])
        return Preorder(offsets, nodes)

    def edges(self, order: Preorder) -> tuple[np.ndarray, np.ndarray]:
        """The edges of each tree, by parents in preorder; shared ones occur several times.

        Args:
            order: nodes of each tree, from :meth:`preorder`.

        Returns:
            For each edge, the parent's entry in ``order.nodes`` and the child's node.

        Shapes:
            ``[edges of all trees]``, both.

        Example:
            >>> trees = [Tree("f", [Tree("x"), Tree("y"), Tree("x")])]
            >>> forest = Forest.from_trees(trees, Vocabulary.from_trees(trees))
            >>> [each.tolist() for each in forest.edges(forest.preorder())]
            [[0, 0, 0], [0, 1, 0]]
        """
        count = np.diff(self.offsets)[order.nodes]  # children of each node of each tree
        child = self.children[ranges(self.offsets[:-1][order.nodes], count)]
        return np.repeat(np.arange(len(count)), count), child

    def parents(self, order: Preorder) -> np.ndarray:
        """The entry of each node's parent, in each tree; -1 for roots.

        Args:
            order: nodes of each tree, from :meth:`preorder`.

        Shapes:
            ``[nodes of all trees]``.

        Example:
            >>> trees = [Tree("f", [Tree("g", [Tree("x")]), Tree("x")])]
            >>> forest = Forest.from_trees(trees, Vocabulary.from_trees(trees))
            >>> forest.parents(forest.preorder()).tolist()
            [-1, 0, 1, 0]
        """
        sizes = _kernels.sizes(self.offsets, self.children).astype(np.int64)
        return _kernels.ways_down(order.nodes, sizes, self.offsets, self.children)[0]

    def words_at(self, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """All words of some nodes: the node's place in ``nodes``, ascending, and the word's token.

        Shapes:
            nodes ``[n]`` -> ``[words of these nodes]`` each.
        """
        if self.texts is None:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        return self.texts.words_at(nodes)

    def to(self, device: str | torch.device) -> Forest:
        """The same forest for models on ``device``; the arrays are shared, not copied."""
        moved = copy.copy(self)
        moved.device = torch.device(device)
        return moved

    @property
    def levels(self) -> list[Level]:
        """The nodes by height, from the leaves up, with their children padded to the arity.

        Raises:
            ValueError: so many places of so many nodes do not fit in memory.
        """
        places = self.num_nodes * self.arity
        check_memory(
            f"a table of {self.arity} places for each of {self.num_nodes} nodes", 8 * places
        )
        table = np.full((self.num_nodes, self.arity), NONE, np.int64)
        parent = np.repeat(np.arange(self.num_nodes), np.diff(self.offsets))
        table[parent, self.pos] = self.children
        # Nodes are numbered by height, so a level is a run of numbers; no nodes have no levels.
        ends = np.cumsum(np.bincount(self.height))
        nodes = np.split(np.arange(self.num_nodes), ends[:-1]) if len(ends) else []
        return [Level(level, table[level]) for level in nodes]

    @property
    def graph(self) -> DGLGraph:
        """The DGL graph of the forest, with the same node numbers and without words of texts."""
        if self._graph is None:
            parent = np.repeat(np.arange(self.num_nodes), np.diff(self.offsets))
            arrays = (parent, self.children, self.pos, self.types, self.tokens)
            # Copies, as the caller may write into the graph, and the forest must not change.
            self._graph = make_graph(*(array.copy() for array in arrays))
        return self._graph

    def tree(self, index: int) -> Tree:
        """The tree at one root, with the vocabulary's labels (or numbers without a vocabulary).

        Raises:
            IndexError: there is no such root.
        """
        if not -len(self) <= index < len(self):
            raise IndexError(f"root {index} of a forest of {len(self)} trees")
        forest = self[index]
        vocabulary = self.vocabulary
        types = list(vocabulary.types) if vocabulary and vocabulary.types is not None else None
        tokens = list(vocabulary.tokens) if vocabulary else None
        values = vocabulary and vocabulary.inner_numbers  # inner labels were read by values
        built: list[Tree] = []  # node v's tree at v, as children come before their parents
        for v in range(forest.num_nodes):
            start, end = forest.offsets[v : v + 2]
            below = [built[u] for u in forest.children[start:end]]
            label = _label(forest.types[v], types)
            token = _label(forest.tokens[v], tokens)
            if values and label == UNKNOWN and forest.tokens[v] >= FIRST:
                label, token = token, None
            words = [Tree(_label(word, tokens)) for word in forest.words_at(np.array([v]))[1]]
            is_leaf = forest.types[v] == NONE and not below
            leaf = Text(token, words) if words else Tree(token)
            built.append(leaf if is_leaf else Tree(label, below, token))
        return built[forest.roots[0]]

    def __repr__(self) -> str:
        return f"Forest({len(self)} trees, {self.num_nodes} distinct nodes, arity {self.arity})"


def _label(number: int, labels: list | None) -> object:
    if number == NONE:
        return None
    if number >= FIRST:
        return float(str(values_of(np.array([number])).astype(np.float32)[0]))  # the shortest
    if labels is None:
        return int(number)
    return labels[number] if number < len(labels) else UNKNOWN

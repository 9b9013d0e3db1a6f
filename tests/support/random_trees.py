"""Random trees and forests, for seeded loops and for hypothesis."""

from __future__ import annotations

import random

from hypothesis import strategies as st

from structnet.trees.label_words import Text
from structnet.trees.tree import Tree
from structnet.trees.vocabulary import Vocabulary

TYPES, TOKENS, ARITY = "AB", "xyz", 3
VOCABULARY = Vocabulary(TYPES, TOKENS, ARITY)


def random_tree(rng: random.Random, depth: int = 4, arity: int = ARITY) -> Tree:
    """A ragged tree with some unary chains; a single node every now and then."""
    if depth == 0 or rng.random() < 0.3:
        return Tree(rng.choice(TOKENS))
    count = 1 if rng.random() < 0.25 else rng.randint(1, arity)
    return Tree(rng.choice(TYPES), [random_tree(rng, depth - 1, arity) for _ in range(count)])


def random_dependency_tree(rng: random.Random, depth: int = 3, arity: int = ARITY) -> Tree:
    """A tree whose every node has a type and a token, as in a dependency parse."""
    count = rng.randint(0, arity) if depth else 0
    children = [random_dependency_tree(rng, depth - 1, arity) for _ in range(count)]
    return Tree(rng.choice(TYPES), children, token=rng.choice(TOKENS))


def chain(length: int, types: str = TYPES, token: str = "x") -> Tree:
    """One child a node, ``length`` nodes."""
    tree = Tree(token)
    for i in range(length - 1):
        tree = Tree(types[i % len(types)], [tree])
    return tree


def doubled(depth: int, label: str = "f") -> Tree:
    """``2^(depth + 1) - 1`` nodes, of which ``depth + 1`` differ, in as many objects."""
    tree = Tree("x")
    for _ in range(depth):
        tree = Tree(label, [tree, tree])
    return tree


def random_trees(rng: random.Random, inner_tokens: bool = False) -> list[Tree]:
    """Trees as forests have them: one occurs twice, one lies below another, one is one node."""
    if inner_tokens:
        trees = [random_dependency_tree(rng) for _ in range(rng.randint(1, 4))]
        trees.append(Tree("A", [trees[0], Tree("B", token="y")], token="z"))
        # Mixed: plain leaves and plain inner nodes occur beside nodes that have both.
        trees.append(Tree("B", [random_tree(rng, 2), trees[-1]]))
    else:
        trees = [random_tree(rng) for _ in range(rng.randint(1, 4))]
        trees += [chain(rng.randint(2, 6)), Tree("B", [trees[0], Tree("y")])]
    trees += [rng.choice(trees), Tree(rng.choice(TOKENS))]
    rng.shuffle(trees)
    return trees


def with_texts(tree: Tree, rng: random.Random) -> Tree:
    """The same, where some leaves are texts of known words, some of them two equal ones."""

    def visit(node: Tree, below: list[Tree]) -> Tree:
        if below or node.token is not None or rng.random() < 0.5:
            return Tree(node.label, below, node.token)
        return Text(node.label, map(Tree, rng.choices(TOKENS, k=rng.randint(2, 4))))

    return tree.fold(visit)


def copied(tree: Tree) -> Tree:
    """An equal tree that shares no object with the first."""
    return tree.fold(lambda node, below: Tree(node.label, below, node.token))


# Up to about 30 nodes; hypothesis shrinks a failing one to the smallest that fails.
plain_trees = st.recursive(
    st.sampled_from(TOKENS).map(Tree),
    lambda below: st.builds(
        Tree, st.sampled_from(TYPES), st.lists(below, min_size=1, max_size=ARITY)
    ),
    max_leaves=15,
)
dependency_trees = st.recursive(
    st.builds(Tree, st.sampled_from(TYPES), token=st.sampled_from(TOKENS)),
    lambda below: st.builds(
        Tree, st.sampled_from(TYPES), st.lists(below, max_size=ARITY), token=st.sampled_from(TOKENS)
    ),
    max_leaves=10,
)
mixed_trees = st.one_of(plain_trees, dependency_trees)
tree_lists = st.lists(mixed_trees, min_size=1, max_size=5).flatmap(
    # Some trees again, and some of their subtrees.
    lambda trees: st.lists(
        st.sampled_from([node for tree in trees for node in tree.preorder()]), max_size=4
    ).map(lambda more: trees + more)
)

"""Trees of other libraries, which stand-ins with the same attributes play here."""

from __future__ import annotations

from types import SimpleNamespace

import networkx as nx
import pytest

from structnet import parse
from structnet.errors import NotATreeError
from structnet.trees.tree import Tree


class NltkTree(list):
    def __init__(self, label, children):
        super().__init__(children)
        self._label = label

    def label(self):
        return self._label


class SpacyToken:
    def __init__(self, doc, i, text, dep, head):
        self.doc, self.i, self.text, self.dep_, self._head = doc, i, text, dep, head

    @property
    def head(self):
        return self.doc.tokens[self._head]

    @property
    def children(self):  # spaCy's is a generator too
        return (t for t in self.doc.tokens if t.head is self and t is not self)


class SpacyDoc:
    """Words as (text, relation, place of the head, its own at the root); one sentence."""

    def __init__(self, *words):
        self.tokens = [SpacyToken(self, i, *word) for i, word in enumerate(words)]

    @property
    def sents(self):
        yield self[:]

    def __getitem__(self, part):
        return SpacySpan(self, *part.indices(len(self.tokens))[:2])


class SpacySpan:
    def __init__(self, doc, start, end):
        self.doc, self.start, self.end = doc, start, end

    def __iter__(self):
        return iter(self.doc.tokens[self.start : self.end])

    @property
    def root(self):
        return next(t for t in self if t.head is t or t.head not in list(self))


class TokenList(list):
    def to_tree(self):
        return self[0]


def test_nltk():
    tree = NltkTree("S", [NltkTree("NP", ["dogs", ("a", "pair")]), "bark"])
    assert parse.from_nltk(tree) == Tree(
        "S", [Tree("NP", [Tree("dogs"), Tree(("a", "pair"))]), Tree("bark")]
    )
    with pytest.raises(TypeError, match=r"expected an nltk\.Tree, .*; got str"):
        parse.from_nltk("(S dogs)")


def test_spacy():
    doc = SpacyDoc(("Dogs", "nsubj", 1), ("bark", "ROOT", 1), ("!", "punct", 1))
    span = doc[:]
    for parsed in (doc.tokens[1], span, doc):
        assert str(parse.from_spacy(parsed)) == "(ROOT/bark nsubj/Dogs punct/!)"
        assert str(parse.from_spacy(parsed, sides=True)) == "(ROOT/bark nsubj</Dogs punct>/!)"
    with pytest.raises(ValueError, match="the Doc has 2; read them one by one"):
        parse.from_spacy(SimpleNamespace(sents=[span, span]))
    with pytest.raises(TypeError, match="expected a parsed spaCy Doc, Span or Token; got str"):
        parse.from_spacy("Dogs bark!")


def test_spacy_spans_hold_their_own_words_only():
    doc = SpacyDoc(
        ("the", "det", 2), ("old", "amod", 2), ("cats", "nsubj", 3), ("sleep", "ROOT", 3),
        ("very", "advmod", 5), ("well", "advmod", 3),
    )  # fmt: skip
    assert str(parse.from_spacy(doc[1:3])) == "(nsubj/cats amod/old)"
    assert str(parse.from_spacy(doc[2:4], sides=True)) == "(ROOT/sleep nsubj</cats)"
    assert str(parse.from_spacy(doc[2:3], sides=True)) == "nsubj/cats"
    with pytest.raises(
        ValueError, match="2 words of the Span have their head outside of it, 'the'"
    ):
        parse.from_spacy(doc[:2])
    assert str(parse.from_spacy(doc[:2], roots="join")) == "(<roots> det/the amod/old)"
    assert str(parse.from_spacy(doc[4:], roots="join")) == "(advmod/well advmod/very)"
    with pytest.raises(ValueError, match=r"'roots' .* Got 'skip'"):
        parse.from_spacy(doc, roots="skip")


def test_conllu_package():
    def node(form, deprel, *children):
        place, head = (1, 2) if deprel == "nsubj" else (2, 0)
        fields = {"form": form, "deprel": deprel, "lemma": form.lower(), "id": place, "head": head}
        return SimpleNamespace(token=fields, children=list(children))

    tree = node("bark", "root", node("Dogs", "nsubj"))
    for parsed in (tree, TokenList([tree])):
        assert str(parse.from_conllu(parsed)) == "(root/bark nsubj/Dogs)"
        assert str(parse.from_conllu(parsed, token="lemma")) == "(root/bark nsubj/dogs)"
        assert str(parse.from_conllu(parsed, label="lemma")) == "(bark/bark dogs/Dogs)"
        assert str(parse.from_conllu(parsed, sides=True)) == "(root/bark nsubj</Dogs)"
    with pytest.raises(TypeError, match="expected a conllu TokenList or TokenTree; got dict"):
        parse.from_conllu({})


def test_an_object_that_contains_itself():
    tree = NltkTree("S", [])
    tree.append(NltkTree("NP", [tree]))
    with pytest.raises(ValueError, match="a NltkTree contains itself"):
        parse.from_nltk(tree)


def test_networkx_attributes():
    graph = nx.DiGraph()
    graph.add_node(0, relation="root", word="bark")
    graph.add_edge(0, 1, place=1)
    graph.add_edge(0, 2, place=0)
    graph.add_node(1, relation="punct", word="!")
    before = graph.copy()
    tree = parse.networkx_tree(graph, label="relation", token="word", order="place")
    assert str(tree) == "(root/bark 2 punct/!)"
    assert nx.utils.graphs_equal(graph, before)


def test_networkx_places_that_are_text():
    """As files in which everything is text have them."""
    graph = nx.DiGraph()
    graph.add_edges_from(("f", f"c{i}", {"pos": str(i)}) for i in (10, 2, 0, 1, 11))
    assert str(parse.networkx_tree(graph)) == "(f c0 c1 c2 c10 c11)"
    nx.set_edge_attributes(graph, {("f", "c10"): "a", ("f", "c2"): "b"}, "name")
    graph.remove_nodes_from(["c0", "c1", "c11"])
    assert str(parse.networkx_tree(graph, order="name")) == "(f c10 c2)"


def test_networkx_order_is_that_of_insertion_if_a_place_is_missing():
    graph = nx.DiGraph()
    graph.add_edge("a", "c", pos=1)
    graph.add_edge("a", "b")
    assert str(parse.networkx_tree(graph)) == "(a c b)"


@pytest.mark.parametrize(
    "graph, problem",
    [
        (nx.DiGraph(), "the graph has no nodes"),
        (nx.DiGraph([(0, 2), (1, 2)]), "node 2 has 2 parents, 0 and 1; in a tree"),
        (nx.DiGraph([(0, 3), (1, 3), (2, 3)]), "node 3 has 3 parents, 0 and 1 among them"),
        (nx.DiGraph([(0, 1), (2, 3)]), "2 nodes have no parent, 0 and 2; a tree has one root"),
        (nx.DiGraph([("a", "b"), ("b", "a")]), "a cycle, 'a' <- 'b' <- 'a'; a tree has none"),
        (nx.DiGraph([(0, 1), (2, 3), (3, 4), (4, 2)]), "a cycle, 2 <- 4 <- 3 <- 2"),
        (nx.DiGraph([(0, 0)]), "a cycle, 0 <- 0"),
        (nx.DiGraph([(1, 2), (0, 3), (2, 1), (2, 4)]), "a cycle, 1 <- 2 <- 1"),
        (nx.Graph([(0, 1)]), "a tree is read from a DiGraph, .*; got a Graph"),
        (nx.MultiDiGraph([(0, 1)]), "got a MultiDiGraph"),
    ],
)
def test_networkx_graphs_that_are_no_trees(graph, problem):
    with pytest.raises(NotATreeError, match=problem):
        parse.networkx_tree(graph)

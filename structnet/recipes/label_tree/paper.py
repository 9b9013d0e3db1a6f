"""Learned trees compared with Huffman's, as in the paper, on a text that we have.

Reference:
    Jernite, Choromanska, Sontag, ICML 2017, Table 1: precision at 1 of learned and Huffman trees of
    5 and 20 children. We do not have its texts, which have 312,000 labels.
"""

from __future__ import annotations

from itertools import product

from structnet.recipes.label_tree.settings import Choice, LabelTreeRunSettings
from structnet.recipes.paper import Member, Members, PaperTable, Row, Table, values_in
from structnet.recipes.recipe import settings_from, values_of

MEASURED = {
    "accuracy": "test.accuracy",
    "perplexity": "test.perplexity",
    "nodes visited": "test.nodes_visited",
    "mean depth": "details.mean_depth",
    "seconds": "seconds",
}
# Name -> kind of tree, and its start.
KINDS = {
    "huffman": ("huffman", "huffman"),
    "learned": ("learned", "huffman"),
    "groups": ("learned", "groups"),
}


def members(choice: Choice, seed: int) -> list[Member]:
    """The runs with one seed."""
    runs = []
    for kind, arity in product(KINDS, (5, 20)):
        tree, start = KINDS[kind]
        own = {"tree": tree, "start": start, "arity": arity, "seed": seed}
        settings = settings_from(LabelTreeRunSettings, values_of(choice) | own)
        folder = f"{choice.data}-{kind}-{arity}-{seed}"
        runs.append(Member((kind, arity), folder, settings.resolved()))
    return runs


def make(choice: Choice, runs: Members) -> Table:
    """The table of trained runs."""
    rows = [
        Row(f"{kind}, {arity} children", {}, values_in(trained, MEASURED))
        for (kind, arity), trained in runs.items()
    ]
    notes = [
        f"The next word of {choice.data} from the four before it; {choice.epochs} epochs, vectors "
        f"of {choice.vector_size} numbers, rate {choice.learning_rate}.",
        "The paper's texts are not at hand, so that its figures do not stand beside ours.",
        "Learned: from Huffman's tree by reassignments, as in the paper. Groups: our default on "
        "text, Huffman's tree for a fifth of the training, then labels of like examples together.",
        "Nodes visited: softmaxes that branch and bound computes to find the likeliest word.",
    ]
    return Table("Learned and Huffman trees", list(MEASURED), rows, notes, ["accuracy"])


TABLES = {1: PaperTable(("brown", "pydoc"), lambda choice: f"table1-{choice.data}", members, make)}

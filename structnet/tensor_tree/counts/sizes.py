"""The sizes of models of counts, for the labels of users' trees and the question about them."""

from __future__ import annotations

from typing import Any

from structnet.tensor_tree.targets import Question
from structnet.trees.vocabulary import Vocabulary


def bag_sizes(vocabulary: Vocabulary, question: Question) -> dict[str, Any]:
    """The arguments of a :class:`.LabelBag`, without the numbers of pairs, values and pieces."""
    return {
        **_label_sizes(vocabulary),
        "num_outputs": question.num_outputs,
        "roots": question.roots,
        "form": "logarithm" if question.kind == "classes" else "count",
        "alike": question.roots == 2,
    }


def table_sizes(vocabulary: Vocabulary, question: Question) -> dict[str, Any]:
    """The arguments of a :class:`.LabelTable`."""
    return {**_label_sizes(vocabulary), "num_classes": question.num_outputs}


def _label_sizes(vocabulary: Vocabulary) -> dict[str, Any]:
    return {
        "num_types": vocabulary.num_types,
        "num_tokens": vocabulary.num_tokens,
        "numbers": vocabulary.any_numbers,
    }

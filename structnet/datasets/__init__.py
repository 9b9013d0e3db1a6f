"""Data sets: published files by their hash, or generators of the like.

``listops`` and ``lrt`` each have ``load``, which gives the published data if they lie in
``data_dir`` or in the cache, ``generate``, ``read_tsv`` and ``write_tsv``. All give plain trees and
lists; nothing is downloaded unless ``download=True`` is said.
"""

from __future__ import annotations

from structnet.datasets import listops, lrt
from structnet.datasets.listops import ListOps, evaluate_expression
from structnet.datasets.lrt import LogicalRelations, Pair
from structnet.datasets.source import (
    DownloadError,
    Source,
    WrongFileError,
    cache_dir,
    fetch,
    find,
    verify,
)
from structnet.datasets.truth import num_operators, relation, truth_table

__all__ = [
    "DownloadError",
    "ListOps",
    "LogicalRelations",
    "Pair",
    "Source",
    "WrongFileError",
    "cache_dir",
    "evaluate_expression",
    "fetch",
    "find",
    "listops",
    "lrt",
    "num_operators",
    "relation",
    "truth_table",
    "verify",
]

"""Where there is no dgl: on Python 3.12 and later, of which no test asks for a graph."""

from __future__ import annotations

import sys

import pytest

HAS_DGL = sys.version_info < (3, 12)
needs_dgl = pytest.mark.skipif(not HAS_DGL, reason="dgl has no release for this version of Python")

"""Text as numbers: sentences read from files, their words' ids, and vectors of words.

======================  ==========================================================================
``sentences``           :func:`read_sentences`: a file of one sentence a line
``words``               :class:`Words`: the vocabulary of a text; :class:`Encoded`: its ids
``vectors``             :func:`learn_vectors` from a text by PPMI and SVD, :func:`read_vectors` from
                        a file of GloVe or word2vec
``ngrams``              :class:`NGrams`: how often words follow rows of others, as Kneser and Ney
                        count it
======================  ==========================================================================
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

"""Text as numbers: sentences from files, the numbers of their words, and word vectors.

======================  ==========================================================================
``sentences``           :func:`read_sentences`: a file of one sentence per line
``words``               :class:`Words`: the vocabulary of a text; :class:`Encoded`: its ids
``vectors``             :func:`learn_vectors` from a text by PPMI and SVD, :func:`read_vectors` from
                        a file of GloVe or word2vec
``ngrams``              :class:`NGrams`: probabilities of next words by counting, after Kneser and
                        Ney
``ngram_mixture``       :class:`NGramMixture`: a model of the next word mixed with them
======================  ==========================================================================
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

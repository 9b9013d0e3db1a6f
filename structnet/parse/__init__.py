"""From text, and from the objects of other libraries, to :class:`structnet.trees.tree.Tree`.

==========================  ====================================================================
``listops``                 ``[MAX 2 9 [MIN 4 7 ] ]``, plain or with the published parentheses
``logic``                   ``( a ( and ( not b ) ) )``, the sentences of the logical relations
``bracketed``               ``(NP (DT the) (NN cat))``: Penn Treebank, Stanford Sentiment Treebank
``conllu``                  dependency trees of Universal Dependencies
``json``                    JSON documents, as text or as Python values
``xml``, ``html``           documents as trees of elements
``python``                  source code as its abstract syntax tree
``networkx_tree``           an arborescence of networkx
``from_nltk``,              parses made by those libraries, none of which is needed
``from_spacy``,
``from_conllu``
``bracketed_many``,         many trees in one text or open file
``conllu_many``
``as_tree``                 whatever of these one has
``read_lines``              a file of one tree a line, bad lines raised or skipped and counted
``to_listops``,             back to text
``to_logic``,
``to_bracketed``
==========================  ====================================================================

Each format has a file: ``expressions`` (ListOps), ``sentences`` (logic), ``brackets``,
``dependencies`` (CoNLL-U), ``json_tree``, ``markup`` (XML, HTML, whose ``tags`` are found in one
pass), ``python_source``, ``graphs``
(networkx) and ``objects`` (other libraries' parses), which ``conversion`` tells apart. They share
``reading`` (lines and tokens),
``files`` (a file of many texts) and ``errors``.

A text that is not of its format raises :class:`ParseError`, which shows the line and a caret under
the place. No parser recurses, so a chain of 100,000 nodes is read like any other tree; Python
source is the exception, because Python's own parser does.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

"""From text, and from the objects of other libraries, to :class:`structnet.tree.Tree`.

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
``read_lines``              a file of one tree a line, bad lines raised or skipped and counted
``to_listops``,             back to text
``to_logic``,
``to_bracketed``
==========================  ====================================================================

A text that is not of its format raises :class:`ParseError`, which shows the line and a caret under
the place. No parser recurses, so a chain of 100,000 nodes is read like any other tree; Python
source is the exception, because Python's own parser does.
"""

from __future__ import annotations

from structnet.parse.bracketed import bracketed, bracketed_many, to_bracketed
from structnet.parse.conllu import conllu, conllu_many
from structnet.parse.errors import ParseError
from structnet.parse.files import ParsedLines, read_lines
from structnet.parse.graphs import networkx_tree
from structnet.parse.json_tree import json
from structnet.parse.listops import listops, to_listops
from structnet.parse.logic import logic, to_logic
from structnet.parse.markup import html, xml
from structnet.parse.objects import from_conllu, from_nltk, from_spacy
from structnet.parse.python_source import python

__all__ = [
    "ParseError",
    "ParsedLines",
    "bracketed",
    "bracketed_many",
    "conllu",
    "conllu_many",
    "from_conllu",
    "from_nltk",
    "from_spacy",
    "html",
    "json",
    "listops",
    "logic",
    "networkx_tree",
    "python",
    "read_lines",
    "to_bracketed",
    "to_listops",
    "to_logic",
    "xml",
]

"""From text, and from the objects of other libraries, to :class:`structnet.trees.tree.Tree`.

==========================  ====================================================================
``listops``                 ``[MAX 2 9 [MIN 4 7 ] ]``, plain or with the published parentheses
``logic``                   ``( a ( and ( not b ) ) )``, the sentences of the logical relations
``bracketed``               ``(NP (DT the) (NN cat))``: Penn Treebank, Stanford Sentiment Treebank
``conllu``                  dependency trees: Universal Dependencies, CoNLL-X, ``.dp`` files
``json``                    JSON documents, as text or as Python values
``xml``, ``html``           documents as trees of elements
``python``                  source code, or a node of ``ast``, as its abstract syntax tree
``from_tree_sitter``        source code of any other language, parsed by tree-sitter
``newick``                  phylogenies, with the lengths of their branches; of NEXUS, too, by
                            ``newick_many``
``networkx_tree``           an arborescence of networkx
``from_nodes``              nodes of anytree, ete, Bio.Phylo, D3, ElementTree, or of one's own
``from_nltk``,              parses made by those libraries, none of which is needed
``from_spacy``,
``from_conllu``
``bracketed_many``,         many trees in one text or file
``conllu_many``,
``newick_many``,
``xml_many``, ``html_many``
``as_tree``                 whatever of these one has
``read_lines``              a file of one tree a line, bad lines raised or skipped and counted
``to_listops``,             back to text
``to_logic``,
``to_bracketed``,
``to_newick``
==========================  ====================================================================

Each format has a file: ``expressions`` (ListOps), ``sentences`` (logic), ``brackets``,
``dependencies`` (CoNLL-U and its kin, whose columns ``word_tables`` reads), ``json_tree``,
``xml_document`` and ``html_document`` (whose ``elements`` become trees; the ``tags`` of HTML are
found in one pass), ``python_source``, ``phylogenies`` (Newick; in NEXUS by ``nexus``), ``graphs``
(networkx), ``objects`` (other libraries' parses) and ``node_objects`` (anybody's nodes);
``conversion`` tells objects apart. They share ``lines`` (texts, files and bytes as lines),
``reading`` (tokens), ``files`` (a file of many texts) and ``errors``.

A text may be given as bytes: UTF-8, or what an XML document or Python source declares.

A text that is not of its format raises :class:`ParseError`, which shows the line and a caret under
the place. No parser recurses, so a chain of 100,000 nodes is read like any other tree; Python
source is the exception, because Python's own parser does.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

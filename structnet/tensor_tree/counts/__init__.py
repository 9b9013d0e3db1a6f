"""What trees contain, and models of these counts, which stand beside a Tree-LSTM.

====================  ===========================================================================
``beside``            a Tree-LSTM and such models, mixed by weights that held-out examples choose
``shares``            chooses these weights
``label_bag``         for trees: counts of labels, pairs and names, and a linear model on them
``form_choice``       whether it reads counts, logarithms or tf-idf, and those of pairs
``extra_trees``       for trees: decision trees on counts of labels and names
``node_bag``          for nodes: the labels around them, and a linear model on these
``label_table``       where it starts: how often those with a label have each class
``linear_model``      fits such models to classes
``counted``           the places at which labels, words, pairs and numbers occur
``piece_counts``      counts of pieces of words, for words that no training tree has
``number_sums``       sums of the values of numbers
``ridge``             fits it for numbers, with a penalty chosen by cross-validation
``bag_occlusion``     outputs of both for a tree with each of its subtrees hidden
``part_sums``         sums over each of a tree's subtrees, which these outputs are functions of
``word_choice``       whether the words of texts at leaves, and their letters, help to predict
``rare_labels``       which labels of few trees are worth a vector of their own
====================  ===========================================================================
"""

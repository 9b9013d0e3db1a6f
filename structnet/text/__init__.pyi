from .ngrams import NGrams as NGrams
from .sentences import TextError as TextError
from .sentences import read_sentences as read_sentences
from .vectors import learn_vectors as learn_vectors
from .vectors import read_vectors as read_vectors
from .words import Encoded as Encoded
from .words import WordError as WordError
from .words import Words as Words

"""The compiled half of the copy constraint: numba kernels over flat tables.

Imported only when a constraint is built, for numba is an optional package. The kernels know bytes,
positions and counters; they know nothing of sources, policies or Python objects.

How a mask comes about, and where:

- `layout`: all tables and numbers, found through one handle; `pointers`: how kernels open them.
- `state`: what is remembered of an answer, 14 small integers. In a span that is an interval of the
  suffix array: all the places of the source where the span so far stands.
- `step`: one byte, one transition. This is the language; the rest follows from it.
- `cost`, `unfinished`, `alive`: words and tokens to the end of the answer, from anywhere; a state from
  which no way fits is not alive.
- `descend`, `explore`: tokens the plain way, down the trie of the vocabulary, a byte a step. Right
  for every state, and what the quick ways below are held against by the tests.
- `walk`: tokens in a span, down the trie and along the text from each place of the interval at once.
- `lists`: what is walked beforehand: starts of spans, intervals of many places, closing tokens.
- `mask`: puts these together. Free text starts from a ready mask of its context and takes out, near
  limits, the few tokens that may not fit: those that end inside a word or character (UNFINISHED), that
  begin too many words (WORDS_AT_MOST), that open a quote (OPENERS).
- `distances`: the costs from everywhere, computed when tokens first become scarce, or at once where
  the vocabulary lacks bytes.
- `passages`, `suffixes`, `vocabulary_tables`: what is computed once for sources and vocabularies.
- `entries`: the few functions that Python calls; here everything is compiled, and cached on disk.
"""

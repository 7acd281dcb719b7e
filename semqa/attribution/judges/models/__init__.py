"""Models of transformers that judge: entailment, reading, asking."""

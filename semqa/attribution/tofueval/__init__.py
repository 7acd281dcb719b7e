"""TofuEval (Tang et al. 2024): topic-focused summaries of dialogues and their errors."""

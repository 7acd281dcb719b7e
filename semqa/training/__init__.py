"""Fine-tuning of models that answer with quotes, of all weights or with LoRA.

Source: Schuster et al., SEMQA (NAACL 2024), section 5.
"""

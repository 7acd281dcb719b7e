"""For tests only: vLLM's Model Runner V2 on a CPU, under Triton's interpreter.

vLLM uses Triton on a CPU if Triton has a backend called ``cpu``. This one compiles nothing: with
``TRITON_INTERPRET=1`` no kernel is ever compiled. The folder above, on ``PYTHONPATH``, is all that
has to be installed.
"""

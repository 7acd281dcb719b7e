"""What engines that ask a language model share, whatever runs the model."""

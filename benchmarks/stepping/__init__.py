"""What the benchmark of the device kernels steps through."""

"""One-norm machines: the linear program, and a one-norm beside the margin."""

"""What runs from a shell: the demonstration."""

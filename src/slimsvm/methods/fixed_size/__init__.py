"""Fixed-size least-squares machines: vectors of large entropy (Suykens et al.)."""

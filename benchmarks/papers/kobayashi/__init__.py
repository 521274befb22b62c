"""Kobayashi and Otsu (2009), efficient reduction of support vectors in kernel-based methods."""

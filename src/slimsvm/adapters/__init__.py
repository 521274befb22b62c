"""Fitted models of others, and of this library, as models that can be reduced; the one place that looks at types."""

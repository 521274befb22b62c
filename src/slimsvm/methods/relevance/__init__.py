"""Sparsity from a Bayesian prior: relevance vector machines and the sparse probit classifier."""

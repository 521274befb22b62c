"""Iwamura and Abe (2008), sparse support vector machines trained in the reduced empirical feature space."""

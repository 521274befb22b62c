"""Xia, Li and Irwin (2008), improved training of an optimal sparse least squares support vector machine."""

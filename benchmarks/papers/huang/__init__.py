"""Huang, Zheng, Sun, Hotta, Fujimoto and Naoi (2010), sparse learning for support vector classification."""

"""Selection: choosing vectors among the training rows, one file per rule."""

"""A model as one page: HTML that needs no network, with the model itself running in it."""

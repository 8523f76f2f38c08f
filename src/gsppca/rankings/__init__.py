"""Which variables come first: rankings of the columns."""

"""Variational EM of the relaxed model of the paper (section 2.4)."""

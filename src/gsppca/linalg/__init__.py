"""Decompositions of the data: leading spectra, block Krylov iterations, spectra of nested supports."""

"""The command line: a leaf, each command calls one function of the library."""

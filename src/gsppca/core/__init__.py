"""Pure numerics: plain arrays in, frozen dataclasses out."""

"""A fitted model as one self-contained page."""

from gsppca.report.write import write_report

__all__ = ["write_report"]

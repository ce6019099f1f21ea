"""Studies: each recomputes a figure or a table of a paper, compares it with what the paper says, and draws it.

They stand on discreet and are no part of it: `python -m studies list`, from a checkout. A study is a file in a folder of this
package that has a `STUDY`; whoever adds one adds that file alone.
"""

from .shelf import all_studies, study

__all__ = ["all_studies", "study"]

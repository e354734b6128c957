"""The import of a project, with its operators rewritten so that filters can use them."""

from types import CodeType

#: The name under which rewritten code finds `ops`: a builtin.
OPERATIONS = "__svc_ops__"


def is_rewritten(code: CodeType) -> bool:
    """Whether operators in brackets of a piece of code were rewritten; those of functions in it are
    told by their own code.
    """
    return OPERATIONS in code.co_names

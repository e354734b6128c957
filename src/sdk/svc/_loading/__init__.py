"""The import of a project, with its operators rewritten so that filters can use them."""

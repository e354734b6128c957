"""Importing a project so that its operators can be seen."""

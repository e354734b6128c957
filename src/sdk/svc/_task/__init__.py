"""Tasks: scripts, modules and functions of a project that are run once."""

"""From an imported project to its graph: what is read, checked and translated."""

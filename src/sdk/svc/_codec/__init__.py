"""Values as JSON and as literals, between Python, the graph and the wire."""

/** Strongly connected components of directed graphs, by Tarjan's algorithm. */

/**
 * The strongly connected components that hold a cycle, by node: in each, every node leads to every
 * other. Nodes that do not lead back to themselves are left out. Takes time linear in nodes and
 * edges, and no recursion.
 */
export function findComponents<Node>(nodes: Iterable<Node>, edgesOf: (node: Node) => readonly Node[]): Map<Node, ReadonlySet<Node>> {
  const order = new Map<Node, number>();
  const low = new Map<Node, number>();
  const open: Node[] = [];
  const isOpen = new Set<Node>();
  const components = new Map<Node, ReadonlySet<Node>>();
  for (const start of nodes) {
    if (order.has(start)) continue;
    const path: { node: Node; edges: readonly Node[]; next: number }[] = [];
    const enter = (node: Node) => {
      order.set(node, order.size);
      low.set(node, order.get(node) as number);
      open.push(node);
      isOpen.add(node);
      path.push({ node, edges: edgesOf(node), next: 0 });
    };
    enter(start);
    for (let at = path.at(-1); at; at = path.at(-1)) {
      const edge = at.edges[at.next++];
      if (edge !== undefined) {
        if (!order.has(edge)) enter(edge);
        else if (isOpen.has(edge)) low.set(at.node, Math.min(low.get(at.node) as number, order.get(edge) as number));
        continue;
      }
      path.pop();
      const above = path.at(-1);
      if (above) low.set(above.node, Math.min(low.get(above.node) as number, low.get(at.node) as number));
      if (low.get(at.node) !== order.get(at.node)) continue;
      const component = new Set<Node>();
      let member: Node;
      do {
        member = open.pop() as Node;
        isOpen.delete(member);
        component.add(member);
      } while (member !== at.node);
      if (component.size > 1 || at.edges.includes(at.node)) for (const one of component) components.set(one, component);
    }
  }
  return components;
}

/** The plan of a query, as a tree of the text that `explain` gives. */

/** A line of the plan, the lines that say more about it, and what it needs. */
export interface PlanNode {
  readonly text: string;
  readonly notes: readonly string[];
  readonly children: readonly PlanNode[];
}

/** A plan: what is said of all of it, and its outputs. */
export interface PlanTree {
  readonly head: readonly string[];
  readonly outputs: readonly PlanNode[];
}

interface OpenNode {
  readonly text: string;
  readonly notes: string[];
  readonly children: OpenNode[];
}

const BRANCH = /^([ \u2502]*)[\u251c\u2514]\u2500 (.*)$/;

/** Reads the text of a plan: a line with a branch is a node, others belong to the one before. */
export function planTree(text: string): PlanTree {
  const head: string[] = [];
  const root: OpenNode = { text: "", notes: head, children: [] };
  const open = [{ depth: -1, node: root }];
  for (const line of text.split("\n")) {
    const [, indent, content] = BRANCH.exec(line) ?? [];
    if (indent === undefined || content === undefined) {
      const said = line.replace(/^[ \u2502]+/, "");
      const { notes } = said === line ? root : (open.at(-1)?.node ?? root);
      if (said !== "" && said !== "Output") notes.push(said);
      continue;
    }
    while ((open.at(-1)?.depth ?? -1) >= indent.length) open.pop();
    const node: OpenNode = { text: content, notes: [], children: [] };
    open.at(-1)?.node.children.push(node);
    open.push({ depth: indent.length, node });
  }
  return { head, outputs: root.children };
}

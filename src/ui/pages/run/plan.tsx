import { visibleLines } from "../../../domain/visible.ts";
import { Copy } from "../../parts/copy.tsx";
import { Tree, type TreeNode } from "../../parts/tree.tsx";
import { type PlanNode, planTree } from "./plan-tree.ts";

/** The plan of a query, from each output to what it needs. */
export function Plan({ text }: { readonly text: string }) {
  const { head, outputs } = planTree(text);
  return (
    <>
      <p class="dim">
        {head.map(visibleLines).join(". ")} <Copy text={text} what="the plan" />
      </p>
      <Tree label="Plan" nodes={outputs.map((node, at) => treeNode(node, String(at)))} />
    </>
  );
}

function treeNode({ text, notes, children }: PlanNode, id: string): TreeNode {
  return {
    id,
    label: (
      <>
        <code>{visibleLines(text)}</code>
        {notes.map((note, at) => (
          <div key={at} class="dim plan-note">
            {visibleLines(note)}
          </div>
        ))}
      </>
    ),
    children: children.map((child, at) => treeNode(child, `${id}.${at}`)),
  };
}

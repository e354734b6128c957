import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";

/** A node: what it says, and what lies below it. */
export interface TreeNode {
  readonly id: string;
  readonly label: ComponentChildren;
  readonly children?: readonly TreeNode[];
}

/** A tree, such as a plan: nodes with something below them open and close. */
export function Tree({ label, nodes }: { readonly label: string; readonly nodes: readonly TreeNode[] }) {
  return (
    <section class="tree" aria-label={label}>
      <Branches nodes={nodes} />
    </section>
  );
}

function Branches({ nodes }: { readonly nodes: readonly TreeNode[] }) {
  return (
    <ul>
      {nodes.map((node) => (
        <Branch key={node.id} node={node} />
      ))}
    </ul>
  );
}

function Branch({ node: { label, children = [] } }: { readonly node: TreeNode }) {
  const isOpen = useSignal(true);
  return (
    <li>
      {children.length === 0 ? (
        <div class="leaf">{label}</div>
      ) : (
        <details open={isOpen.value} onToggle={(event) => (isOpen.value = event.currentTarget.open)}>
          <summary>{label}</summary>
          {isOpen.value && <Branches nodes={children} />}
        </details>
      )}
    </li>
  );
}

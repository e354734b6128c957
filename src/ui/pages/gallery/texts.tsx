import { Code } from "../../parts/code.tsx";
import { Diff } from "../../parts/diff.tsx";
import { Tree } from "../../parts/tree.tsx";
import { Value } from "../../parts/values.tsx";
import type { Example } from "./example.ts";

const SOURCE = `from svc import online
from features import User

@online
def get_name(id: User.id) -> User.name:
    """The name, as everybody knows it."""
    return f"user {id}" if id > 10 else None  # <b>
`;

/** What is read. */
export const TEXTS: readonly Example[] = [
  ["Code", () => <Code text={SOURCE} language="python" file="resolvers.py" line={5} />],
  [
    "Diff",
    () => <Diff label="resolvers.py" before={SOURCE} after={SOURCE.replace("user {id}", "person {id}").replace("id > 10", "id > 20")} />,
  ],
  ["Diff of equals", () => <Diff label="features.py" before={SOURCE} after={SOURCE} />],
  [
    "Values",
    () => (
      <ul>
        {[null, 5, true, "text", [1, 2, 3], { a: 1 }, "\u202eturned", "long ".repeat(80)].map((value, at) => (
          <li key={at}>
            <Value value={value} />
          </li>
        ))}
      </ul>
    ),
  ],
  [
    "Tree",
    () => (
      <Tree
        label="Plan"
        nodes={[
          {
            id: "1",
            label: "query",
            children: [
              { id: "2", label: "resolver resolvers.get_name", children: [{ id: "3", label: "given user.id" }] },
              { id: "4", label: "store user.age" },
            ],
          },
        ]}
      />
    ),
  ],
];

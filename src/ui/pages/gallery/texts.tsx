import { Code } from "../../parts/code.tsx";
import { Diff } from "../../parts/diff.tsx";
import type { ShownLine } from "../../parts/log-rows.ts";
import { LogView } from "../../parts/log-view.tsx";
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

const BEGAN = Date.UTC(2024, 4, 1, 12);
const line = (at: number, text: string, level = "info", tone: ShownLine["tone"] = "dim"): ShownLine => ({
  key: String(at),
  time: BEGAN + at * 100,
  level,
  tone,
  source: at % 2 === 0 ? "build" : "resolvers.get_a_rather_long_name",
  text,
});
const LINES: readonly ShownLine[] = [
  line(0, "unpacking the source"),
  line(1, "\u001b[33mcolours of a terminal\u001b[0m, a bell \u0007, \u202eturned", "warning", "warn"),
  line(2, 'Traceback (most recent call last):\n  File "resolvers.py", line 6\nValueError: <b>no</b>', "error", "bad"),
];

/** What is read. */
export const TEXTS: readonly Example[] = [
  ["Code", () => <Code text={SOURCE} language="python" file="resolvers.py" line={5} />],
  [
    "Diff",
    () => <Diff label="resolvers.py" before={SOURCE} after={SOURCE.replace("user {id}", "person {id}").replace("id > 10", "id > 20")} />,
  ],
  ["Log", () => <LogView label="A log" lines={LINES} />],
  [
    "Log of 5,000 lines",
    () => <LogView label="A long log" lines={Array.from({ length: 5_000 }, (_, at) => line(at, `line ${at} of many`))} />,
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

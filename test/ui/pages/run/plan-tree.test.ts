import { expect, test } from "bun:test";
import { planTree } from "../../../../src/ui/pages/run/plan-tree.ts";

const TEXT = `query q_1 on dpl_1 as of 2024-05-01
0.5 ms, plan abc (new)
Output
\u251c\u2500 user.greeting = "Good \u2514\u2500 day"
\u2502  \u2502  PyResolver features.greet rows 1 -> 1
\u2502  \u251c\u2500 user.name = "Ada"
\u2502  \u2502     CacheRead user: hit
\u2502  \u2514\u2500 user.id = 1
\u2502        Given
\u2514\u2500 user.spent[30d] = 0
   \u2502  Expr
   \u2502  the first of 3 rows:
   \u2502     \u2514\u2500 order.net = 9
   \u2502           Given
   \u2514\u2500 user.id = 1 (above)
covered by a default: no row`;

test("a plan is read from its text", () => {
  const given = (text: string) => ({ text, notes: ["Given"], children: [] });
  expect(planTree(TEXT)).toEqual({
    head: ["query q_1 on dpl_1 as of 2024-05-01", "0.5 ms, plan abc (new)", "covered by a default: no row"],
    outputs: [
      {
        text: 'user.greeting = "Good \u2514\u2500 day"',
        notes: ["PyResolver features.greet rows 1 -> 1"],
        children: [{ text: 'user.name = "Ada"', notes: ["CacheRead user: hit"], children: [] }, given("user.id = 1")],
      },
      {
        text: "user.spent[30d] = 0",
        notes: ["Expr", "the first of 3 rows:"],
        children: [given("order.net = 9"), { text: "user.id = 1 (above)", notes: [], children: [] }],
      },
    ],
  } as never);
  expect(planTree("")).toEqual({ head: [], outputs: [] });
});

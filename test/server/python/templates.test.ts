/** `docs/templates.md`: its template on a real worker, whose interpreter has jinja2. */

import { expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import type { FeatureValue } from "../../../src/domain/value.ts";
import { FakeOpenai } from "../../harness/fake-openai.ts";
import { lacks } from "../../harness/needs.ts";
import { anyPython, startPool } from "./project.ts";

setDefaultTimeout(300_000);

const PAGE = await Bun.file(join(import.meta.dir, "../../../docs/templates.md")).text();

/** An interpreter that has the package. */
async function pythonWithJinja(): Promise<string | undefined> {
  for (const runtime of ["python313", "python312", "python311", "python310"]) {
    const python = await anyPython(runtime);
    if (python && Bun.spawnSync([python, "-I", "-c", "import jinja2"], { stderr: "ignore" }).success) return python;
  }
  return undefined;
}

const python = await pythonWithJinja();

const more = (url: string): string => `
from svc.prompts import completion, message

@features
class Review:
    id: int
    body: str
    note: str | None
    user: User
    user_id: User.id
    mood: str = completion(model="m", url="${url}", messages=[
        message(role="system", content="Items: {{ Review.user.orders.item }}"),
        message(role="user", content=F.jinja("{% if Review.note %}({{ Review.note }}) {% endif %}{{ Review.body }}: {{ Review.user.orders.item | join('+') }}")),
    ])

@features
class Broken:
    id: int
    keys: list[str]
    text: str = F.jinja("{{ Broken.keys[5] }}")
    endless: str = F.jinja("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}{{ Broken.id }}")
`;

test.skipIf(lacks("jinja2 of Python", python !== undefined))("the template of the page, and what a rendering raises", async () => {
  const text = /^```python file: features.py\n(.*?)^```$/ms.exec(PAGE)?.[1] ?? "";
  const said = [...PAGE.matchAll(/^user\.greeting +- +(.*)$/gm)].map(([, one = ""]) => one);
  expect(said).toHaveLength(2);
  using openai = new FakeOpenai("", () => "fine");
  const resolverFqns = ["features.User.greeting", "features.Broken.text", "features.Broken.endless", "features.Review.mood"];
  await using live = await startPool({ "features.py": text + more(openai.url) }, { python: python as string, resolverFqns });
  const call = (resolver: string, columns: Record<string, FeatureValue[]>, more = {}) =>
    live.pool.call({
      ...{ resolver, rows: columns.value_0?.length ?? 0, columns, now: ["2024-05-01T12:00:00.000000Z"], deadlineMs: 300_000 },
      ...{ context: { queryId: "q", traceId: "t", tags: [], queryContext: {} }, ...more },
    });
  const items = ["a loom", "{{ User.id }}"];
  const greeting = await call(
    "features.User.greeting",
    { value_0: [null, "Ada"], value_1: ["ada lovelace", "ada lovelace"] },
    { groups: { value_2: { offsets: [0, 2, 4], columns: { "order.item": [...items, ...items] } } } },
  );
  expect(greeting.errors).toEqual([]);
  expect(greeting.columns).toEqual({ "user.greeting": said });
  const unknown = await call("features.Broken.text", { value_0: [["a"]] });
  expect(unknown.errors).toMatchObject([{ exception: { kind: "UndefinedError", message: "list object has no element 5" }, row: 0 }]);
  const endless = await call("features.Broken.endless", { value_0: [1] });
  expect(endless.errors).toMatchObject([{ exception: { message: "the template takes more than 100,000 steps" }, row: 0 }]);
  const rows = { offsets: [0, 2, 3], columns: { "order.item": ["a", "b", "c"] } };
  const moods = await call(
    "features.Review.mood",
    { template_1_0: [null, "n"], template_1_1: ["good", "bad"] },
    { rows: 2, groups: { value_0: rows, template_1_2: rows } },
  );
  expect([moods.errors, moods.columns]).toEqual([[], { "review.mood": ["fine", "fine"] }]);
  expect(openai.completions.map(({ messages }) => messages.map(({ content }) => content)).sort()).toEqual([
    ['Items: ["a", "b"]', "good: a+b"],
    ['Items: ["c"]', "(n) bad: c"],
  ]);
});

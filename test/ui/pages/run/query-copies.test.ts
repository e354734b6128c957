import { describe, expect, test } from "bun:test";
import { commandWords, curlText, pythonText } from "../../../../src/ui/pages/run/query-copies.ts";
import { EMPTY_FORM, type QueryForm } from "../../../../src/ui/pages/run/query-form.ts";

const FORM: QueryForm = {
  ...EMPTY_FORM,
  inputs: [
    ["user.id", "9007199254740993"],
    ["user.name", 'it\'s "1" $(x) `y`\n\\'],
    ["user.code", "007"],
    ["user.tags", '["a", null, true, 1.5, {"b": false}]'],
  ],
  outputs: ["user.spent[30d]"],
  staleness: [["user.name", "1h"]],
  tags: ["a", "b"],
  now: "2024-05-01T12:00:00Z",
  queryName: "n",
  plannerOptions: [["max_batch_rows", "5"]],
  context: [["k", "12"]],
  explain: true,
};
const isText = (name: string) => name === "user.name" || name === "user.code";

/** Arguments of the client's call, as Python reads the text. */
function pythonCall(text: string): unknown {
  const stub = `import json, sys, types
class SvcClient:
    def __init__(self, **scope): self.scope = scope
    def query(self, **given): print(json.dumps([self.scope, given]))
module = types.ModuleType("svc.client")
module.SvcClient = SvcClient
sys.modules["svc"], sys.modules["svc.client"] = types.ModuleType("svc"), module
`;
  const { exitCode, stdout, stderr } = Bun.spawnSync(["python3", "-c", stub + text]);
  expect([exitCode, stderr.toString()]).toEqual([0, ""]);
  return JSON.parse(stdout.toString().replace("9007199254740993", '"9007199254740993"'));
}

/** Arguments of a command, as a shell reads the text. */
function shellWords(text: string): string[] {
  const functions = `svc() { echo TOKEN; }; curl() { for word; do printf '%s\\0' "$word"; done; }\n`;
  const { exitCode, stdout, stderr } = Bun.spawnSync(["sh", "-c", functions + text]);
  expect([exitCode, stderr.toString()]).toEqual([0, ""]);
  return stdout.toString().split("\0").slice(0, -1);
}

describe("a query for elsewhere", () => {
  test("as Python, values in its literals", () => {
    expect(pythonCall(pythonText(FORM, isText, { environment: "o'env", branch: "" }))).toEqual([
      { environment: "o'env" },
      {
        input: {
          "user.id": "9007199254740993",
          "user.name": 'it\'s "1" $(x) `y`\n\\',
          "user.code": "007",
          "user.tags": ["a", null, true, 1.5, { b: false }],
        },
        output: ["user.spent[30d]"],
        staleness: { "user.name": "1h" },
        tags: ["a", "b"],
        ...{ now: "2024-05-01T12:00:00Z", query_name: "n", query_context: { k: 12 }, planner_options: { max_batch_rows: "5" } },
        explain: true,
      },
    ]);
  });

  test("as curl, words that the shell leaves alone", () => {
    const scope = { environment: "env_1", branch: "a b", deployment: "" };
    const words = shellWords(curlText(FORM, isText, "http://127.0.0.1:1", scope));
    expect(words.slice(0, -1)).toEqual([
      "http://127.0.0.1:1/v1/query/online",
      ...["-H", "Authorization: Bearer TOKEN", "-H", "content-type: application/json"],
      ...["-H", "svc-environment: env_1", "-H", "svc-branch: a%20b", "-d"],
    ]);
    const body = words.at(-1) ?? "";
    expect(body).toContain('"user.id": 9007199254740993,');
    expect(JSON.parse(body)).toMatchObject({
      inputs: { "user.name": 'it\'s "1" $(x) `y`\n\\', "user.code": "007", "user.tags": ["a", null, true, 1.5, { b: false }] },
      ...{ outputs: ["user.spent[30d]"], context: { tags: ["a", "b"] }, query_context: { k: 12 }, explain: true },
    });
  });

  test("as words of the command line", () => {
    expect(commandWords(FORM, "dpl_1").join(" ")).toContain("--in user.code=007");
    expect(commandWords(FORM, "dpl_1").join(" ")).toEndWith(
      "--out user.spent[30d] --staleness user.name=1h --tag a --tag b --now 2024-05-01T12:00:00Z --query-name n --query-context k=12 --planner-option max_batch_rows=5 --deployment dpl_1 --explain",
    );
  });
});

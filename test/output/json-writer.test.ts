import { afterAll, describe, expect, test } from "bun:test";
import type { JsonShape } from "../../src/context/flags.ts";
import { jsonWriter } from "../../src/output/json-writer.ts";
import { selectFields } from "../../src/output/selection.ts";

const ANSWER = {
  features: [
    { fqn: "user.age", owner: null, cache: { staleness: "1d" }, tags: ["pii", "raw"] },
    { fqn: "user.email", owner: "a@example.com", cache: { staleness: "0s" }, tags: [] },
  ],
  next_cursor: "",
};

// jq's engine makes the exit code of its last run that of the process.
afterAll(() => {
  process.exitCode = 0;
});

async function written(shape: JsonShape, value: unknown = ANSWER, files: Readonly<Record<string, string>> = {}): Promise<string> {
  const writer = await jsonWriter(shape, {
    interruptible: (work) => work(),
    readTemplate: async (path) => files[path] ?? "",
    shown: (text) => text,
  });
  return writer.document(value);
}

const refusal = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error) => [error.message, error.hint, error.exitCode],
  );

describe("fields", () => {
  test("are those of each row of a list, in the order in which they are named", () => {
    expect(selectFields(ANSWER, ["owner", "fqn"])).toEqual([
      { owner: null, fqn: "user.age" },
      { owner: "a@example.com", fqn: "user.email" },
    ]);
    expect(Object.keys((selectFields(ANSWER, ["owner", "fqn"]) as object[])[0] as object)).toEqual(["owner", "fqn"]);
  });

  test("are those of the answer itself where it has them", () => {
    expect(selectFields(ANSWER, ["next_cursor"])).toEqual({ next_cursor: "" });
    expect(selectFields({ version: "1", hash: "x" }, ["version"])).toEqual({ version: "1" });
  });

  test("of a field stand behind a dot, unless a field has that very name", () => {
    expect(selectFields(ANSWER, ["cache.staleness"])).toEqual([{ "cache.staleness": "1d" }, { "cache.staleness": "0s" }]);
    expect(selectFields({ "user.age": 3, user: { age: 4 } }, ["user.age"])).toEqual({ "user.age": 3 });
  });

  test("of no rows are no rows", () => {
    expect(selectFields({ features: [], next_cursor: "" }, ["fqn"])).toEqual([]);
    expect(selectFields([], ["fqn"])).toEqual([]);
  });

  test("that do not exist are named with those that do", async () => {
    expect(await refusal(written({ fields: ["fqm"] }))).toEqual([
      "the JSON has no field 'fqm'; did you mean 'fqn'?",
      "The fields are: fqn, owner, cache, tags.",
      2,
    ]);
    expect(await refusal(written({ fields: ["constructor"] }))).toMatchObject({ length: 3, 2: 2 });
    expect(await refusal(written({ fields: ["x"] }, 3))).toEqual([
      "the JSON has no field 'x'",
      "Use --json alone to see what there is.",
      2,
    ]);
  });
});

describe("--jq", () => {
  test("prints each result on a line, texts without quotes", async () => {
    expect(await written({ jq: ".features[].fqn" })).toBe("user.age\nuser.email\n");
    expect(await written({ jq: ".features[]|{fqn,n:(.tags|length)}" })).toBe('{"fqn":"user.age","n":2}\n{"fqn":"user.email","n":0}\n');
    expect(await written({ jq: ".features[]|[.fqn,.owner]|@csv" })).toBe('"user.age",\n"user.email","a@example.com"\n');
    expect(await written({ jq: "empty" })).toBe("");
  });

  test("gets the chosen fields alone", async () => {
    expect(await written({ fields: ["fqn"], jq: "map(keys)|add|unique" })).toBe('["fqn"]\n');
  });

  test("sees no variables of the environment and no files", async () => {
    process.env.SVC_TEST_OF_JQ = "secret";
    try {
      expect(await written({ jq: 'env|has("SVC_TEST_OF_JQ")' })).toBe("false\n");
    } finally {
      delete process.env.SVC_TEST_OF_JQ;
    }
    expect(await refusal(written({ jq: 'include "/etc/x"; .' }))).toMatchObject([
      expect.stringContaining("is no filter"),
      expect.anything(),
      2,
    ]);
  });

  test("that is no filter is refused before anything is written, and one that fails says why", async () => {
    expect(await refusal(written({ jq: ".[" }))).toEqual([
      "--jq '.[' is no filter: syntax error, unexpected end of file",
      "The language is jq's: --jq '.features[].fqn'",
      2,
    ]);
    expect(await refusal(written({ jq: '.features|error("no \\(length)")' }))).toEqual(["--jq failed: no 2", undefined, 1]);
  });
});

describe("--template", () => {
  test("writes lists by sections, values as they are, and structures as JSON", async () => {
    expect(await written({ template: "{{#features}}{{fqn}}\\t{{owner}}\\n{{/features}}" })).toBe("user.age\t\nuser.email\ta@example.com\n");
    expect(await written({ template: "{{#features}}{{tags}};{{cache.staleness}} {{/features}}" })).toBe('["pii","raw"];1d [];0s \n');
    expect(await written({ template: "{{a}}" }, { a: "<&>" })).toBe("<&>\n");
  });

  test("comes from a file, whose backslashes stay", async () => {
    expect(await written({ template: "@x" }, ANSWER, { x: "\\n{{next_cursor}}.\n" })).toBe("\\n.\n");
  });

  test("with a name that the JSON lacks is refused, as is one that is none", async () => {
    expect(await refusal(written({ template: "{{#features}}{{fqm}}{{/features}}" }))).toEqual([
      "--template has 'fqm', which the JSON has not; did you mean 'fqn'?",
      "There are: fqn, owner, cache, tags.",
      2,
    ]);
    expect(await refusal(written({ template: "{{fqn}}" }, [{ fqn: "a" }]))).toEqual([
      "--template has 'fqn', but the JSON is a list",
      "{{#.}} and {{/.}} go through it: --template '{{#.}}{{fqn}}\\n{{/.}}'",
      2,
    ]);
    expect(await written({ template: "{{#.}}{{fqn}};{{/.}}" }, [{ fqn: "a" }, { fqn: "b" }])).toBe("a;b;\n");
    expect(await refusal(written({ template: "{{#features}}" }))).toEqual([
      '--template: Unclosed section "features" at 13',
      "The language is Mustache: --template '{{#features}}{{fqn}}\\n{{/features}}'",
      2,
    ]);
  });
});

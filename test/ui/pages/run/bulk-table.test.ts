import { expect, test } from "bun:test";
import { bulkAnswer, bulkRequestOf, MOST_ROWS, readBulk } from "../../../../src/ui/pages/run/bulk-table.ts";
import { compared, otherScope, readAgainst } from "../../../../src/ui/pages/run/comparison.ts";
import { EMPTY_FORM } from "../../../../src/ui/pages/run/query-form.ts";

test("a file's first line names the inputs; a file that is none says why", () => {
  expect(readBulk(' user.id ,user.name\n1,"a,b"\n')).toEqual({ columns: ["user.id", "user.name"], rows: [["1", "a,b"]] });
  const problems = ["user.id\n", "", "a,,b\n1,2,3", "a,a\n1,2", "a,b\n1,2\n3", '"', `a\n${"1\n".repeat(MOST_ROWS + 1)}`].map((text) => {
    const read = readBulk(text);
    return "problem" in read ? read.problem.split(":")[0] : "none";
  });
  expect(problems).toEqual([
    ...["The file has no rows", "The file has no rows", "A column has no name", "The column 'a' is there twice."],
    ...["Row 2 has 1 cells, and there are 2 columns.", "Line 1", `Line ${MOST_ROWS + 2}`],
  ]);
  expect("problem" in readBulk(`a\n${"1\n".repeat(MOST_ROWS)}`)).toBe(false);
});

test("columns are inputs of every row, the form's other inputs hold for all, and empty cells are null", () => {
  const form = {
    ...EMPTY_FORM,
    inputs: [["user.id", "7"] as const, ["user.name", "x"] as const, ["user.age", ""] as const],
    outputs: ["user.o"],
  };
  const { problems, request } = bulkRequestOf(form, { columns: ["user.id"], rows: [["1"], [""]] });
  expect(problems).toEqual([]);
  expect(request.query?.outputs).toEqual(["user.o"]);
  expect(request.query?.inputs).toBeUndefined();
  expect(request.inputs).toEqual([
    {
      feature: "user.id",
      values: [
        { feature: "user.id", raw: "1" },
        { feature: "user.id", typed: { nullValue: "NULL_VALUE_UNSPECIFIED" } },
      ],
    },
    { feature: "user.name", values: [{ feature: "user.name", text: "x" }] },
  ]);
});

test("an answer stands beside its rows, without inputs that came back", () => {
  const columns = [
    { field: "user.id", values: [{ int64Value: "1" }] },
    { field: "user.tags", values: [{ listValue: { values: [{ stringValue: "a" }] } }] },
    { field: "user.none", values: [{}] },
  ];
  expect(bulkAnswer({ columns: ["user.id"], rows: [["1"]] }, { columns })).toEqual({
    columns: ["user.id", "user.tags", "user.none"],
    rows: [["1", '["a"]', ""]],
  });
});

test("two answers differ where a value, an error or its absence does", () => {
  const rows = compared(
    [
      { field: "a", value: { doubleValue: 0.1 } },
      { field: "b", value: { int64Value: "1" } },
      { field: "c", error: { message: "no" } },
    ],
    [
      { field: "a", value: { doubleValue: 0.1 } },
      { field: "c", error: { message: "no" } },
      { field: "b", value: { int64Value: "2" } },
      { field: "d", value: { stringValue: "x" } },
    ],
  );
  expect(rows.map(({ differs, field }) => [field, differs])).toEqual([
    ["a", false],
    ["b", true],
    ["c", false],
    ["d", true],
  ]);
});

test("what is compared with is in the address, and has a scope of its own", () => {
  const own = { environment: "e", branch: "b", deployment: "d" };
  expect([readAgainst(""), readAgainst("try"), readAgainst("toString:x")]).toEqual([undefined, undefined, undefined]);
  expect(otherScope({ kind: "branch", name: "" }, own)).toEqual({ environment: "e", branch: "", deployment: "" });
  expect(otherScope({ kind: "deployment", name: "dpl_1" }, own)).toEqual({ environment: "e", branch: "", deployment: "dpl_1" });
  expect(otherScope(readAgainst("run:q:1") ?? { kind: "branch", name: "" }, own)).toBeUndefined();
});

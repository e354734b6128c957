import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { plainStyle } from "../../src/output/style.ts";
import { displayWidth, fitWidths, TableLayout, truncate } from "../../src/output/table.ts";
import type { Column } from "../../src/output/view.ts";
import { seeded } from "../harness/seed.ts";

type Row = readonly string[];
const columns = (...headers: string[]): Column<Row>[] => headers.map((header, i) => ({ header, cell: (row) => row[i] ?? "" }));
const pipe = plainStyle();
const terminal = (width: number) => plainStyle({ width, isTTY: true });

describe("in a pipe", () => {
  test("columns are aligned with two blanks between them, nothing is cut, nothing trails", () => {
    const long = "x".repeat(300);
    const text = new TableLayout(columns("Name", "Value"), pipe).rows([
      ["a", "1"],
      ["longer", long],
      ["", ""],
    ]);
    expect(text).toBe(`Name    Value\na       1\nlonger  ${long}\n-\n`);
  });

  test("an empty cell before another is a dash, so that programs find the columns", () => {
    const rows = [
      ["a", "", "3"],
      ["", "2", ""],
    ];
    expect(new TableLayout(columns("A", "B", "C"), pipe).rows(rows)).toBe("A  B  C\na  -  3\n-  2\n");
    expect(new TableLayout(columns("A", "B", "C"), terminal(80)).rows(rows)).not.toContain("-");
  });

  test("an empty table is its header", () => {
    expect(new TableLayout(columns("Name", "Deploys"), pipe).rows([])).toBe("Name  Deploys\n");
  });

  test("numbers stand at the right; wide and combining characters count as they show", () => {
    const sized: Column<Row>[] = [
      { header: "Name", cell: (row) => row[0] ?? "" },
      { header: "N", align: "right", cell: (row) => row[1] ?? "" },
    ];
    expect(
      new TableLayout(sized, pipe).rows([
        ["日本", "5"],
        ["e\u0301", "100"],
      ]),
    ).toBe("Name    N\n日本    5\ne\u0301     100\n");
  });

  test("control characters are written visibly", () => {
    const text = new TableLayout(columns("Name", "V"), pipe).rows([["a\u001b[31m\nb\tc\u0007\u009b", "x"]]);
    expect(text).toBe("Name                     V\na\\x1b[31m\\nb\\tc\\x07\\x9b  x\n");
  });
});

describe("on a terminal", () => {
  const described: Column<Row>[] = columns("Name", "Description", "Owner").map((column) => ({
    ...column,
    flexible: column.header === "Description",
  }));
  const amount = ["transaction.amount", "the amount of the transaction in cents", "a@example.com"];

  test("lines fit the width: flexible cells are cut and end in an ellipsis, others stay whole", () => {
    const text = new TableLayout(described, terminal(60)).rows([amount]);
    for (const line of text.split("\n")) expect(displayWidth(line)).toBeLessThanOrEqual(60);
    expect(text).toMatch(/^Name +Description +Owner\s/);
    expect(text).toMatch(/^transaction\.amount {2}the amount .*… {2}a@example\.com$/m);
  });

  test("a column that can be done without is left out where this keeps rows in lines, and only there", () => {
    const trend: Column<Row> = { header: "Trend", cell: (row) => row[3] ?? "", dispensable: true };
    const layout = (width: number) => new TableLayout([...described, trend], terminal(width)).rows([[...amount, "#".repeat(24)]]);
    expect(layout(110)).toMatch(/^Name +Description +Owner +Trend/);
    for (const width of [76, 60]) {
      expect(layout(width)).toBe(new TableLayout(described, terminal(width)).rows([amount]));
      for (const line of layout(width).split("\n")) expect(displayWidth(line)).toBeLessThanOrEqual(width);
    }
    expect(layout(77)).toContain("#".repeat(24));
    expect(layout(40)).toMatch(/\nTrend {8}#{24}\n$/);
  });

  test("where whole cells do not fit side by side, each row is a block of lines, and nothing is cut", () => {
    const layout = new TableLayout(described, terminal(40));
    const text = layout.rows([amount, ["a", "", "b"]]);
    expect(text).toBe(`Name         transaction.amount
Description  the amount of the
             transaction in cents
Owner        a@example.com

Name         a
Owner        b
`);
    expect(layout.rows([["c", "", ""]])).toBe("\nName         c\n");
  });

  test("a word that is longer than a block's line is broken, not cut", () => {
    const id = `client_${"0123456789abcdef".repeat(4)}`;
    const text = new TableLayout(columns("Name", "Value", "Source"), terminal(40)).rows([["Client ID", id, "/home/ada/.config/svc.yml"]]);
    for (const line of text.split("\n")) expect(displayWidth(line)).toBeLessThanOrEqual(40);
    expect(text.replaceAll(/\n +/g, "")).toContain(id);
  });

  test("the header is dim and a column's own style marks its text, not the blanks", () => {
    const style = { ...terminal(80), dim: (text: string) => `<${text}>`, green: (text: string) => `[${text}]` };
    const marked: Column<Row>[] = [
      { header: "Hit?", cell: (row) => row[0] ?? "", style: (text, { green }) => green(text) },
      { header: "Name", cell: (row) => row[1] ?? "" },
    ];
    expect(new TableLayout(marked, style).rows([["✓", "x"]])).toBe("<Hit?>  <Name>\n[✓]     x\n");
  });

  test("a stream keeps its columns", () => {
    const layout = new TableLayout(columns("A", "B"), pipe);
    expect(layout.rows([["long", "1"]]) + layout.rows([["x", "2"]])).toBe("A     B\nlong  1\nx     2\n");
  });
});

describe("properties", () => {
  test("a cut text never takes more than its width, and a text that fits is left alone", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.integer({ min: 0, max: 20 }), (text, width) => {
        const cut = truncate(text, width);
        expect(displayWidth(cut)).toBeLessThanOrEqual(Math.max(width, 0));
        if (displayWidth(text) <= width) expect(cut).toBe(text);
      }),
      seeded(1_000),
    );
  });

  test("widths fit when they can, never grow, and never fall below the floor", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 300 }), { minLength: 1, maxLength: 8 }),
        fc.integer({ min: 1, max: 300 }),
        (natural, room) => {
          const widths = fitWidths(natural, room, 6);
          const sum = (list: readonly number[]) => list.reduce((total, width) => total + width, 0);
          const least = sum(natural.map((width) => Math.min(width, 6)));
          expect(sum(widths)).toBeLessThanOrEqual(Math.max(room, least));
          if (sum(natural) > room) expect(sum(widths)).toBe(Math.max(room, least));
          else expect(widths).toEqual(natural);
          widths.forEach((width, i) => {
            expect(width).toBeLessThanOrEqual(natural[i] as number);
            expect(width).toBeGreaterThanOrEqual(Math.min(natural[i] as number, 6));
          });
        },
      ),
      seeded(1_000),
    );
  });
});

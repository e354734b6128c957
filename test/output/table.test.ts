import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { plainStyle } from "../../src/output/style.ts";
import { displayWidth, fitWidths, TableLayout, truncate } from "../../src/output/table.ts";
import type { Column } from "../../src/output/view.ts";

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
    expect(text).toBe(`Name    Value\na       1\nlonger  ${long}\n\n`);
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
  test("lines fit the width and cut cells end in an ellipsis", () => {
    const text = new TableLayout(columns("Name", "Description", "Owner"), terminal(40)).rows([
      ["transaction.amount", "the amount of the transaction in cents", "a@example.com"],
    ]);
    for (const line of text.split("\n")) expect(displayWidth(line)).toBeLessThanOrEqual(40);
    expect(text).toContain("…");
    expect(text.split("\n")[0]).toContain("Name");
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
  const seed = Number(process.env.SVC_TEST_SEED) || Date.now() % 2 ** 31;

  test("a cut text never takes more than its width, and a text that fits is left alone", () => {
    console.log(`seed ${seed}`);
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.integer({ min: 0, max: 20 }), (text, width) => {
        const cut = truncate(text, width);
        expect(displayWidth(cut)).toBeLessThanOrEqual(Math.max(width, 0));
        if (displayWidth(text) <= width) expect(cut).toBe(text);
      }),
      { seed, numRuns: 1_000 },
    );
  });

  test("widths fit when they can, never grow, and never fall below the floor", () => {
    console.log(`seed ${seed}`);
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
      { seed, numRuns: 1_000 },
    );
  });
});

import { expect, test } from "bun:test";
import { htmlTable, MAX_TABLE_ROWS } from "../../../src/domain/notebook/html-table.ts";
import { type FileCell, ipynbText, NotNotebook, readIpynb } from "../../../src/domain/notebook/ipynb.ts";
import {
  type CellOutput,
  joinedOutputs,
  MAX_CELLS,
  MAX_SOURCE,
  overwritten,
  pngSize,
  withinLength,
} from "../../../src/domain/notebook/notebook.ts";
import { isNearLinear } from "../../harness/growth.ts";

const out = (text: string): CellOutput => ({ kind: "stream", stream: "stdout", text });
const shown: CellOutput = { kind: "display", data: { "text/plain": "12345" } };

test("text that goes on is joined, and nothing else", () => {
  const error: CellOutput = { kind: "stream", stream: "stderr", text: "e" };
  expect(joinedOutputs([out("a"), out("b"), error, out("c"), shown, out("d"), out("e")])).toEqual([
    ...[out("ab"), error, out("c"), shown, out("de")],
  ]);
});

test("what is within a bound is kept: the beginning of a text, and other outputs whole", () => {
  expect(withinLength([out("abc"), shown], 100)).toEqual({ kept: [out("abc"), shown], isCut: false });
  expect(withinLength([out("abc"), out("defg")], 5)).toEqual({ kept: [out("abc"), out("de")], isCut: true });
  expect(withinLength([out("abc"), shown, out("d")], 5)).toEqual({ kept: [out("abc")], isCut: true });
  expect(withinLength([out("a😀")], 2)).toEqual({ kept: [out("a\ufffd")], isCut: true });
});

test("a carriage return writes over the line, as terminals do", () => {
  expect(overwritten("a\r\nb\n")).toBe("a\nb\n");
  expect(overwritten(" 10%\r 20%\r100%\ndone")).toBe("100%\ndone");
  expect(overwritten("long line\rshort")).toBe("shortline");
  expect(overwritten("kept\r")).toBe("kept");
});

test("the size of a PNG is read, and of nothing else", () => {
  expect(pngSize("iVBORw0KGgoAAAANSUhEUgAAAoAAAAHgCAYAAAA")).toEqual({ width: 640, height: 480 });
  expect(pngSize("iVBORw0KGgo=")).toBeUndefined();
  expect(pngSize("***")).toBeUndefined();
  expect(pngSize("")).toBeUndefined();
});

test("the table of a DataFrame's HTML is read as its text", () => {
  const html = `<div><style scoped> .dataframe td { color: red } </style><table border="1" class="dataframe"><thead><tr><th></th><th>a &amp; b</th></tr></thead>
  <tbody><tr><th>0</th><td>&lt;b&gt;&#39;x&#x27;</td></tr><tr><th>1</th><td>two<br>lines <b>bold</b></td></tr></tbody></table><p>2 rows</p></div>`;
  const rows = htmlTable(html)?.map((row) => row.map(({ text, isHead }) => (isHead ? `*${text}` : text)));
  expect(rows).toEqual([
    ["*", "*a & b"],
    ["*0", "<b>'x'"],
    ["*1", "two lines bold"],
  ]);
});

test("other HTML has no table, and a broken one has what can be read", () => {
  expect(htmlTable("<p>text</p>")).toBeUndefined();
  expect(htmlTable("<table></table>")).toBeUndefined();
  expect(htmlTable("<tr><td>outside")).toBeUndefined();
  expect(htmlTable("<table><tr><td>a<td>b<tr><td>c")?.map((row) => row.map(({ text }) => text))).toEqual([["a", "b"], ["c"]]);
  expect(htmlTable("<table><tr><td>a<script>x</td></script>b</td></tr>")?.[0]?.[0]?.text).toBe("ab");
  expect(htmlTable(`<table>${"<tr><td>x</td></tr>".repeat(MAX_TABLE_ROWS + 5)}</table>`)).toHaveLength(MAX_TABLE_ROWS);
});

test.each(["<a", "<!--", "&", "<table", "<td>", " \t"])("the cost of reading %j again and again grows as its length", (piece) => {
  expect(isNearLinear(20_000, (size) => void htmlTable(`<table><tr><td>${piece.repeat(size)}`))).toBe(true);
});

test("a file has what was written to it, and of others what is kept", () => {
  const cells = [
    { id: "a", kind: "markdown", source: "# T\ntext", executionCount: undefined, outputs: [] },
    {
      ...{ id: "b", kind: "code", source: "1", executionCount: 3 },
      outputs: [
        out("a\nb"),
        { kind: "result", data: { "text/html": "<b>\n</b>", "image/png": "AAAA", "application/json": '{"a":1}' } },
        { kind: "error", name: "E", message: "m", traceback: "1\n2" },
      ],
    },
  ] as const satisfies readonly (FileCell & { readonly id: string })[];
  expect(readIpynb(ipynbText(cells))).toEqual(cells.map(({ id: _, ...cell }) => cell));
  const odd = {
    nbformat: 4,
    cells: [
      { cell_type: "raw", source: ["a", "b"] },
      { cell_type: "code", source: "", outputs: [1, { output_type: "x" }] },
    ],
  };
  expect(readIpynb(JSON.stringify(odd))).toEqual([
    { kind: "markdown", source: "ab", executionCount: undefined, outputs: [] },
    { kind: "code", source: "", executionCount: undefined, outputs: [] },
  ]);
});

test.each([
  ["", "is no JSON"],
  ["[1]", "has no list `cells`"],
  ['{"worksheets": []}', "is of an old version"],
  ['{"cells": []}', "is of version null"],
  ['{"nbformat": 4, "cells": [1]}', "cell 1 is no object"],
  ['{"nbformat": 4, "cells": [{"cell_type": "code"}]}', "cell 1 has no source"],
  [JSON.stringify({ nbformat: 4, cells: Array(MAX_CELLS + 1).fill({ source: "" }) }), `${MAX_CELLS} are the most`],
  [JSON.stringify({ nbformat: 4, cells: [{ source: "x".repeat(MAX_SOURCE + 1) }] }), `${MAX_SOURCE} are the most`],
])("a text that is no notebook is told why", (text, why) => {
  expect(() => readIpynb(text)).toThrow(NotNotebook);
  expect(() => readIpynb(text)).toThrow(why);
});

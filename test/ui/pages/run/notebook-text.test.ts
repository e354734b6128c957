/** What pages show of the outputs of cells. */

import { expect, test } from "bun:test";
import { shownOutput } from "../../../../src/ui/pages/run/notebook-text.ts";

const kindOf = (html: string) => shownOutput({ result: { data: { "text/html": html, "text/plain": "plain" } } }).kind;
const heightOf = (html: string) => {
  const shown = shownOutput({ display: { data: { "text/html": html } } });
  return shown.kind === "html" ? shown.height : undefined;
};

test.each([
  ["a frame of pandas", '<div><style scoped>.x {}</style><table border="1" class="dataframe"><tr><td>1</td></tr></table></div>', "table"],
  [
    "a frame of polars",
    '<div><style>.dataframe {}</style><small>shape: (1,)</small><table class="dataframe"><tr><td>1</td></tr></table></div>',
    "table",
  ],
  ["a bare table", "<table><tr><td>1</td></tr></table>", "table"],
  ["a styled frame of pandas", '<style type="text/css">#T_1 {color: red}</style><table id="T_1"><tr><td>1</td></tr></table>', "html"],
  ["a table with a style of its own", '<table><tr><td style="color: red">1</td></tr></table>', "html"],
  ["a table with something beside it", "<h3>Title</h3><table><tr><td>1</td></tr></table>", "html"],
  ["two tables", '<table class="dataframe"><tr><td>1</td></tr></table><table><tr><td>1</td></tr></table>', "html"],
  ["a figure", '<svg height="100pt"></svg>', "html"],
])("%s", (_, html, kind) => {
  expect(kindOf(html)).toBe(kind as "html");
});

test("images come before HTML", () => {
  expect(shownOutput({ result: { data: { "text/html": "<b>x</b>", "image/png": "AAAA" } } }).kind).toBe("image");
});

test("a frame is about as high as what is in it, within bounds", () => {
  expect(heightOf("<b>x</b>")).toBe(60);
  expect(heightOf('<svg width="1pt" height="150pt">')).toBe(200 + 48);
  expect(heightOf('<svg height="100"></svg><img alt="" height=20px>')).toBe(120 + 48);
  expect(heightOf(`<h2>x</h2><table>${"<tr>".repeat(5)}</table>`)).toBe(24 + 5 * 28 + 48);
  expect(heightOf(`<svg height="99999">`)).toBe(600);
});

test("scripts are told of", () => {
  const scripts = (html: string) => {
    const shown = shownOutput({ result: { data: { "text/html": html } } });
    return shown.kind === "html" && shown.hasScripts;
  };
  expect([scripts("<div></div><script>x()</script>"), scripts("<b>script</b>")]).toEqual([true, false]);
});

/** Lines of the log as the log view takes them. */

import { expect, test } from "bun:test";
import { shownLines } from "../../../../src/ui/pages/deploy/shown-lines.ts";

test("are oldest first, with keys of their own though they are equal", () => {
  const equal = { time: "2024-05-01T12:00:00Z", level: "info", component: "build", message: "analyzing" };
  const last = {
    time: "2024-05-01T12:00:01Z",
    level: "error",
    component: "engine",
    resolver: "shop.get_name",
    message: "no\n",
    attributes: { rows: "3", node: "a" },
  };
  const shown = shownLines([last, equal, equal]);
  expect(shown.map(({ text, source, tone }) => [text, source, tone])).toEqual([
    ["analyzing", "build", "dim"],
    ["analyzing", "build", "dim"],
    ["no rows=3 node=a", "shop.get_name", "bad"],
  ]);
  expect(new Set(shown.map(({ key }) => key)).size).toBe(3);
  expect(shown[2]?.time).toBe(Date.UTC(2024, 4, 1, 12, 0, 1));
});

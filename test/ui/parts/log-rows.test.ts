/** Lines of logs as rows. */

import { expect, test } from "bun:test";
import { logRows, type ShownLine } from "../../../src/ui/parts/log-rows.ts";

const line = (text: string): ShownLine => ({ key: "1", time: 0, level: "info", tone: "dim", source: "engine", text });

test("a line of several is a row each, of which the first has its time; the break at its end is none", () => {
  const whole = line('Traceback:\n  File "x.py"\r\n');
  expect(logRows([whole])).toEqual([
    { key: "1", line: whole, text: "Traceback:" },
    { key: "1 1", text: '  File "x.py"' },
  ]);
  expect(logRows([line("")]).map(({ text }) => text)).toEqual([""]);
});

test("what would steer a terminal or turn the text is written visibly", () => {
  const [row] = logRows([line("\u001b[31mred\u001b[0m\u0007 \u202etxt\rover\ttab")]);
  expect(row?.text).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u202e]/);
  expect(row?.text).toContain("[31mred");
  expect(row?.text).toContain("\ttab");
});

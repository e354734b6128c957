import { describe, expect, test } from "bun:test";
import { atEnd, type Pages, press, startPages } from "../../src/context/pages.ts";

const LINES = Array.from({ length: 30 }, (_, index) => `\u001b[1mline ${index}\u001b[0m`);
const typed = (pages: Pages, ...keys: string[]) => keys.reduce(press, pages);
const start = () => startPages(LINES, 10);

describe("moving", () => {
  test.each<[string[], number]>([
    [["\u001b[B"], 1],
    [["j", "\r", "\u001b[A"], 1],
    [[" "], 10],
    [[" ", "b"], 0],
    [[" ", " ", " ", " "], 20],
    [["G"], 20],
    [["\u001b[F", "g"], 0],
    [["\u001b[6~", "\u001b[5~", "k"], 0],
    [["x", "\u001b"], 0],
  ])("%j leads to line %i", (keys, top) => {
    expect(typed(start(), ...keys).top).toBe(top);
  });

  test("a text shorter than the screen never moves", () => {
    expect(typed(startPages(["a", "b"], 10), " ", "G", "j").top).toBe(0);
  });

  test("the end is known", () => {
    expect(atEnd(start())).toBe(false);
    expect(atEnd(typed(start(), "G"))).toBe(true);
  });
});

describe("searching", () => {
  test("goes to the next line that holds the text, whatever its case and colours, and on with n", () => {
    const found = typed(start(), "/", "L", "I", "N", "E", " ", "1", "\r");
    expect([found.top, found.lastSearch]).toEqual([1, "LINE 1"]);
    expect(press(found, "n").top).toBe(10);
    expect(typed(found, "n", "n").top).toBe(11);
  });

  test("says when there is nothing more, until the next key", () => {
    const missing = typed(start(), "/", "x", "y", "\r");
    expect([missing.message, missing.top]).toEqual(["not found", 0]);
    expect(press(missing, "j").message).toBe("");
  });

  test("what is typed can be taken back, and moves nothing", () => {
    expect(typed(start(), "/", "q").done).toBe(false);
    expect(typed(start(), "/", "q", "\u007f").typing).toBe("");
    expect(typed(start(), "/", "\u007f").typing).toBeUndefined();
    expect(typed(start(), "/", "j", "\u001b").top).toBe(0);
  });
});

test.each(["q", "Q", "\u0003", "\u0004"])("%j leaves", (key) => {
  expect(press(start(), key).done).toBe(true);
});

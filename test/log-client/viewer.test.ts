import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { LINE_FIELDS } from "../../src/domain/logs.ts";
import {
  addNewer,
  addOlder,
  MOST_KEPT,
  press,
  replace,
  resize,
  startViewer,
  type ViewedRecord,
  type Viewer,
} from "../../src/log-client/viewer.ts";
import { screenRows } from "../../src/log-client/viewer-screen.ts";
import { seeded } from "../harness/seed.ts";

const record = (n: number, more: Partial<ViewedRecord> = {}): ViewedRecord => ({
  time: "2026-01-02T03:04:05.678901Z",
  level: "info",
  source: "engine",
  text: `line ${n}`,
  fields: [["resolver", "shop.get_user"]],
  ...more,
});
const records = (count: number, from = 0) => Array.from({ length: count }, (_, n) => record(from + n));
const start = (width = 80, height = 24) => startViewer({ fieldSet: LINE_FIELDS, search: "", following: false, width, height });
const filled = (count = 50) => replace(start(), records(count), "");
const keys = (viewer: Viewer, ...pressed: string[]) => pressed.reduce((now, key) => press(now, key).viewer, viewer);
const chosen = ({ chosen: at, records: all }: Viewer) => all[at]?.text;
const shown = (viewer: Viewer) => screenRows(viewer, { colour: false });

describe("the view of a log", () => {
  test("begins with the newest record, and keys move within what is there", () => {
    expect(chosen(filled())).toBe("line 49");
    expect(chosen(keys(filled(), "\u001b[A", "k"))).toBe("line 47");
    expect(chosen(keys(filled(), "\u001b[5~"))).toBe("line 28");
    expect(chosen(keys(filled(), "g", "j"))).toBe("line 1");
    expect(chosen(keys(filled(), "g", "\u001b[A", "G", "\u001b[B"))).toBe("line 49");
    expect(chosen(keys(filled(0), "\u001b[A", "g", "G", "\r"))).toBeUndefined();
  });

  test("older records are asked for at the first one, and keep the place", () => {
    const viewer = replace(start(), records(50, 50), "token");
    expect(press(viewer, "g").wish).toBe("older");
    expect(press(press(viewer, "\u001b[5~").viewer, "\u001b[A").wish).toBeUndefined();
    const top = { ...viewer, chosen: 0 };
    expect(press(top, "\u001b[A").wish).toBe("older");
    const more = addOlder(top, records(50), "");
    expect([chosen(more), more.records.length]).toEqual(["line 50", 100]);
    expect(press({ ...more, chosen: 0 }, "\u001b[A").wish).toBeUndefined();
  });

  test("new records are followed by who looks at the newest, and others stay where they are", () => {
    expect(chosen(addNewer(filled(), records(3, 50)))).toBe("line 52");
    expect(chosen(addNewer(keys(filled(), "k"), records(3, 50)))).toBe("line 48");
    const full = replace(start(), records(MOST_KEPT), "");
    expect(chosen(addNewer(keys(full, "k"), records(3, MOST_KEPT)))).toBe(`line ${MOST_KEPT - 2}`);
    expect(addNewer(full, records(3)).records.length).toBe(MOST_KEPT);
  });

  test("a search is typed, its error stands under its column, and a good one is searched", () => {
    const typed = keys(filled(), "/", ..."levl:error", "\r");
    const rows = shown(typed);
    expect(rows[0]).toStartWith("/levl:error_");
    expect(rows.at(-2)).toBe(" ^^^^");
    expect(rows.at(-1)).toContain("column 1: there is no field 'levl'; did you mean 'level'?");
    const right = keys(typed, "\u0015", ..."level:eror", "\u007f", "\u007f", "\u007f", ..."rror");
    const { viewer, wish } = press(right, "\r");
    expect([viewer.search, viewer.typing, wish]).toEqual(["level:error", undefined, "search"]);
    expect(keys(typed, "\u001b").search).toBe("");
    expect(keys(filled(), "/", "q").typing).toBe("q");
  });

  test("where a search is wider than the screen, its error is on it, with the caret below", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z日本語é😀]{0,60}$/u), fc.stringMatching(/^[a-z日本語é😀]{0,60}$/u), (before, after) => {
        const start = replace(startViewer({ fieldSet: LINE_FIELDS, search: "", following: false, width: 40, height: 9 }), records(1), "");
        const [row = "", , , , , , , caret = ""] = shown(keys(start, "/", ...`${before} levl:x ${after}`, "\r"));
        const at = caret.indexOf("^^^^");
        expect(at).toBeGreaterThan(-1);
        const left = [...row].reduce((text, sign) => (Bun.stringWidth(text) < at ? text + sign : text), "");
        expect(row.slice(left.length)).toStartWith("levl");
      }),
      seeded(300),
    );
  });

  test("an open record is scrolled to its end and no further", () => {
    const long = record(1, { text: Array.from({ length: 100 }, (_, n) => `row ${n}.`).join("\n") });
    const opened = keys(replace(start(80, 24), [long], ""), "\r", ...Array.from({ length: 20 }, () => "\u001b[6~"));
    expect(shown(opened)[21]).toBe("resolver  shop.get_user");
    expect(shown(keys(opened, "k"))[21]).toBe("");
    expect(shown(keys(opened, "k"))).not.toEqual(shown(opened));
    expect(shown(keys(opened, "g", "G"))).toEqual(shown(opened));
    expect(shown(resize(opened, 80, 60))[57]).toBe("resolver  shop.get_user");
  });

  test("a long value of an open record goes on below its beginning", () => {
    const value = "worker-".repeat(12);
    const rows = shown(keys(replace(start(40, 24), [record(1, { fields: [["pod_name", value]] })], ""), "\r"));
    expect(rows.slice(3, 7)).toEqual([
      `pod_name  ${value.slice(0, 30)}`,
      `          ${value.slice(30, 60)}`,
      `          ${value.slice(60)}`,
      "",
    ]);
  });

  test("a record is opened and closed, and q leaves only from outside", () => {
    const opened = keys(filled(), "\r");
    expect(shown(opened).join("\n")).toMatch(/line 49\n\nresolver {2}shop\.get_user/);
    expect(press(opened, "q").wish).toBeUndefined();
    expect(press(keys(opened, "q"), "q").wish).toBe("quit");
    expect(press(opened, "\u0004").wish).toBe("quit");
  });

  test("following is asked for where it is possible", () => {
    expect(press(filled(), "f")).toMatchObject({ wish: "search", viewer: { following: true } });
    expect(press(keys(filled(), "f"), "f")).toMatchObject({ wish: "unfollow", viewer: { following: false } });
    const { viewer, wish } = press({ ...filled(), following: undefined }, "f");
    expect([viewer.message, wish]).toEqual(["these records are not followed", undefined]);
  });

  test("the last row offers to follow, to stop, or neither", () => {
    const keysRow = (viewer: Viewer) => shown(viewer).at(-1)?.trim();
    expect(keysRow(filled())).toBe("/ search  Enter open  f follow  q quit");
    expect(keysRow({ ...filled(), following: true })).toBe("/ search  Enter open  f stop following  q quit");
    expect(keysRow({ ...filled(), following: undefined })).toBe("/ search  Enter open  q quit");
  });

  test("what is being read is not said to be nothing", () => {
    expect(shown(start()).at(-2)).toBe("reading");
    expect(shown(replace(start(), [], "")).at(-2)).toBe("no lines  nothing found");
  });

  test("a row has the record's attributes behind its text, and the time of a request in whole", () => {
    const rows = shown(replace(start(), [record(1, { text: "deployment", more: "status=LIVE", source: "200 120.76ms" })], ""));
    expect(rows[1]).toEndWith(" 200 120.76ms deployment status=LIVE");
  });

  test("text from records cannot steer the terminal", () => {
    const hostile = record(1, { text: "\u001b[31mred\u0007\u202e", source: "\u009b2J", fields: [["a\u001b]0;x", "\u001b[2J"]] });
    for (const viewer of [replace(start(), [hostile], ""), keys(replace(start(), [hostile], ""), "\r")])
      expect(shown(viewer).join("")).not.toMatch(/[\u001b\u0007\u009b\u202e]/);
  });

  test("whatever is pressed, the screen is full, no row is too wide, and the chosen record is on it", () => {
    const pieces = [
      "\u001b[A",
      "\u001b[B",
      "\u001b[5~",
      "\u001b[6~",
      "g",
      "G",
      "/",
      "\r",
      "\u001b",
      "f",
      "q",
      "x",
      ":",
      "level",
      "é",
      "😀",
      "\u007f",
    ];
    const texts = fc.string({ unit: "grapheme", maxLength: 200 });
    fc.assert(
      fc.property(
        fc.record({ width: fc.integer({ min: 20, max: 220 }), height: fc.integer({ min: 4, max: 60 }) }),
        fc.array(texts, { maxLength: 80 }),
        fc.array(fc.constantFrom(...pieces), { maxLength: 30 }),
        fc.integer({ min: 4, max: 60 }),
        (size, said, pressed, height) => {
          const first = replace(
            start(size.width, size.height),
            said.map((text, n) => record(n, { text, source: text })),
            "more",
          );
          const viewer = resize(keys(first, ...pressed), size.width, height);
          const rows = shown(viewer);
          expect(rows.length).toBe(height);
          for (const row of rows) expect(Bun.stringWidth(row)).toBeLessThanOrEqual(size.width);
          const isOpen = viewer.opened !== undefined;
          if (said.length > 0 && !isOpen) expect(rows.filter((row) => row.startsWith("> ")).length).toBe(1);
        },
      ),
      seeded(300),
    );
  });
});

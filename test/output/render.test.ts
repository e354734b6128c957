import { describe, expect, test } from "bun:test";
import { jsonDocument, jsonLine } from "../../src/output/json.ts";
import { render } from "../../src/output/render.ts";
import { createStyle } from "../../src/output/style.ts";
import { tableView, textView } from "../../src/output/view.ts";
import { testIo } from "../harness/context.ts";

const branches = tableView({
  things: "branches",
  rows: (data: { branches: { name: string }[] }) => data.branches,
  columns: [{ header: "Name", cell: (row: { name: string }) => row.name }],
  before: (_, style) => style.bold("All of them"),
  after: (data) => (data.branches.length > 1 ? `${data.branches.length} in all` : ""),
});

describe("tables", () => {
  test("come with the lines before and after them", async () => {
    const { io, stdout, stderr } = testIo();
    await render({ branches: [{ name: "a" }, { name: "b" }] }, branches, io, { json: false, color: true });
    expect(stdout()).toBe("All of them\nName\na\nb\n2 in all\n");
    expect(stderr()).toBe("");
  });

  test("an empty one says so on stderr, and not with --json", async () => {
    const text = testIo();
    await render({ branches: [] }, branches, text.io, { json: false, color: true });
    expect([text.stdout(), text.stderr()]).toEqual(["All of them\nName\n", "No branches found.\n"]);
    const json = testIo();
    await render({ branches: [] }, branches, json.io, { json: true, color: true });
    expect([json.stdout(), json.stderr()]).toEqual(['{\n  "branches": []\n}\n', ""]);
  });

  test("have colour on a terminal only, and none with --no-color or NO_COLOR", async () => {
    const shown = async (stdoutIsTTY: boolean, color: boolean) => {
      const { io, stdout } = testIo({ stdoutIsTTY });
      await render({ branches: [{ name: "a" }] }, branches, io, { json: false, color });
      return stdout();
    };
    expect(await shown(true, true)).toBe("\u001b[1mAll of them\u001b[22m\n\u001b[2mName\u001b[22m\na\n");
    expect(await shown(true, false)).toBe("All of them\nName\na\n");
    expect(await shown(false, true)).toBe("All of them\nName\na\n");
  });
});

describe("text", () => {
  test("ends in one newline, and nothing at all stays nothing", async () => {
    for (const [text, written] of [
      ["a", "a\n"],
      ["a\n", "a\n"],
      ["", ""],
    ] as const) {
      const { io, stdout } = testIo();
      await render(
        text,
        textView((data: string) => data),
        io,
        { json: false, color: false },
      );
      expect(stdout()).toBe(written);
    }
  });
});

describe("JSON", () => {
  test("keeps what it can: bigints, infinities, bytes, maps", () => {
    const value = {
      small: 5n,
      big: 2n ** 63n,
      inf: -Infinity,
      nan: Number.NaN,
      bytes: new Uint8Array([1, 2]),
      map: new Map([["a", 1n]]),
      none: undefined,
    };
    expect(JSON.parse(jsonDocument(value))).toEqual({
      small: 5,
      big: "9223372036854775808",
      inf: "-Infinity",
      nan: "NaN",
      bytes: "AQI=",
      map: { a: 1 },
    });
    expect(jsonDocument(undefined)).toBe("null");
    expect(jsonDocument({ a: [] })).toBe('{\n  "a": []\n}');
  });

  test("a line is one line, and holds nothing that a terminal obeys", () => {
    const text = "a\nb\u001b[31m\u009b\u202e\u007f";
    const line = jsonLine({ text });
    expect(line).toMatch(/^[\x20-\x7e]*$/);
    expect(JSON.parse(line)).toEqual({ text });
  });

  test("a stream stops when the signal says so", async () => {
    const controller = new AbortController();
    const { io, stdout } = testIo();
    const endless = (async function* () {
      for (let i = 0; ; i++) {
        if (i === 2) controller.abort(new Error("stop"));
        yield i;
      }
    })();
    const view = textView((item: number) => String(item));
    await expect(render(endless, view, io, { json: true, color: false, signal: controller.signal })).rejects.toThrow("stop");
    expect(stdout()).toBe("0\n1\n2\n");
  });
});

test("the colour package is the one that is asked for", async () => {
  const style = await createStyle({ isTTY: true, color: true, width: 10 });
  expect(style.red("x")).toBe("\u001b[31mx\u001b[39m");
  expect([style.width, style.isTTY]).toEqual([10, true]);
});

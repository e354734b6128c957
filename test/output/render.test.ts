import { describe, expect, test } from "bun:test";
import type { ColorChoice } from "../../src/context/flags.ts";
import { jsonDocument, jsonLine } from "../../src/output/json.ts";
import { render } from "../../src/output/render.ts";
import { colorChoice, createStyle, showsLinks } from "../../src/output/style.ts";
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
    await render({ branches: [{ name: "a" }, { name: "b" }] }, branches, io, { json: false, color: "auto" });
    expect(stdout()).toBe("All of them\nName\na\nb\n2 in all\n");
    expect(stderr()).toBe("");
  });

  test("an empty one says so on stderr, and not with --json", async () => {
    const text = testIo();
    await render({ branches: [] }, branches, text.io, { json: false, color: "auto" });
    expect([text.stdout(), text.stderr()]).toEqual(["All of them\nName\n", "No branches found.\n"]);
    const json = testIo();
    await render({ branches: [] }, branches, json.io, { json: true, color: "auto" });
    expect([json.stdout(), json.stderr()]).toEqual(['{\n  "branches": []\n}\n', ""]);
  });

  test("have colour on a terminal, everywhere when it is forced, and nowhere when it is not wanted", async () => {
    const shown = async (stdoutIsTTY: boolean, color: ColorChoice) => {
      const { io, stdout } = testIo({ stdoutIsTTY });
      await render({ branches: [{ name: "a" }] }, branches, io, { json: false, color });
      return stdout();
    };
    const colored = "\u001b[1mAll of them\u001b[22m\n\u001b[2mName\u001b[22m\na\n";
    const plain = "All of them\nName\na\n";
    expect([await shown(true, "auto"), await shown(false, "auto")]).toEqual([colored, plain]);
    expect([await shown(true, "always"), await shown(false, "always")]).toEqual([colored, colored]);
    expect([await shown(true, "never"), await shown(false, "never")]).toEqual([plain, plain]);
  });

  test("what the environment says of colour", () => {
    const choices: [Record<string, string>, boolean | undefined, ColorChoice][] = [
      [{}, undefined, "auto"],
      [{ NO_COLOR: "1", FORCE_COLOR: "1" }, undefined, "never"],
      [{ NO_COLOR: "" }, undefined, "auto"],
      [{ FORCE_COLOR: "1" }, undefined, "always"],
      [{ FORCE_COLOR: "" }, undefined, "always"],
      [{ FORCE_COLOR: "0" }, undefined, "never"],
      [{ CLICOLOR_FORCE: "1", TERM: "dumb" }, undefined, "always"],
      [{ CLICOLOR_FORCE: "0" }, undefined, "auto"],
      [{ CLICOLOR: "0" }, undefined, "never"],
      [{ CLICOLOR: "1" }, undefined, "auto"],
      [{ TERM: "dumb" }, undefined, "never"],
      [{ FORCE_COLOR: "1" }, true, "never"],
      [{ NO_COLOR: "1" }, false, "auto"],
    ];
    for (const [env, noColor, choice] of choices) expect([env, noColor, colorChoice(env, noColor)]).toEqual([env, noColor, choice]);
  });
});

test("addresses are links where the terminal is known to show them, and stand there elsewhere", async () => {
  const shown = async (stdoutIsTTY: boolean, env: Record<string, string>) => {
    const { io, stdout } = testIo({ stdoutIsTTY });
    const view = textView((url: string, style) => style.link(url, "the page"));
    await render("http://a.example/1", view, io, { json: false, color: "never", links: showsLinks(env) });
    return stdout();
  };
  const link = "\u001b]8;;http://a.example/1\u001b\\the page\u001b]8;;\u001b\\\n";
  const plain = "http://a.example/1\n";
  const known: Record<string, string>[] = [
    { TERM_PROGRAM: "iTerm.app" },
    { VTE_VERSION: "7000" },
    { TERM: "xterm-kitty" },
    { FORCE_HYPERLINK: "1" },
  ];
  for (const env of known) expect([env, await shown(true, env), await shown(false, env)]).toEqual([env, link, plain]);
  const unknown: Record<string, string>[] = [
    {},
    { TERM: "xterm" },
    { VTE_VERSION: "4000" },
    { TMUX: "x", TERM_PROGRAM: "iTerm.app" },
    { FORCE_HYPERLINK: "0", WT_SESSION: "1" },
  ];
  for (const env of unknown) expect([env, await shown(true, env)]).toEqual([env, plain]);
});

describe("a pager", () => {
  const numbers = textView((count: number) => Array.from({ length: count }, (_, i) => i).join("\n"), undefined, { long: true });
  const shown = async (
    count: number,
    options: { readonly view?: typeof numbers; readonly taken?: boolean; readonly stdoutIsTTY?: boolean },
  ) => {
    const { io, stdout } = testIo({ stdoutIsTTY: options.stdoutIsTTY ?? true, height: 10 });
    const paged: string[] = [];
    const page = async (text: string) => {
      paged.push(text);
      return options.taken ?? true;
    };
    await render(count, options.view ?? numbers, io, { json: false, color: "never", page });
    return { printed: stdout().split("\n").length - 1, paged: paged.length };
  };

  test("shows what is higher than the screen, once; what fits is printed", async () => {
    expect(await shown(9, {})).toEqual({ printed: 9, paged: 0 });
    expect(await shown(10, {})).toEqual({ printed: 0, paged: 1 });
  });

  test("that nobody wants leaves everything to be printed; so does a pipe, and a view that is not meant for one", async () => {
    expect(await shown(100, { taken: false })).toEqual({ printed: 100, paged: 1 });
    expect(await shown(100, { stdoutIsTTY: false })).toEqual({ printed: 100, paged: 0 });
    expect(await shown(100, { view: { ...numbers, long: false } as typeof numbers })).toEqual({ printed: 100, paged: 0 });
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
        { json: false, color: "never" },
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
    await expect(render(endless, view, io, { json: true, color: "never", signal: controller.signal })).rejects.toThrow("stop");
    expect(stdout()).toBe("0\n1\n2\n");
  });
});

test("the colour package is the one that is asked for", async () => {
  const style = await createStyle({ isTTY: true, color: "auto", width: 10 });
  expect(style.red("x")).toBe("\u001b[31mx\u001b[39m");
  expect([style.width, style.isTTY]).toEqual([10, true]);
});

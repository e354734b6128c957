import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type DefinitionForm, definitionText, MOST_CHARACTERS, MOST_LINES } from "../../src/domain/definition-text.ts";
import { seeded } from "../harness/seed.ts";

const at = (line: number, endLine = line) => ({ line, endLine });
const linesOf = (file: string, line: number, form: DefinitionForm) => definitionText(file, at(line), form)?.text.split("\n");

describe("the text of a definition", () => {
  test("of a field goes over its comments, brackets, strings and continued lines", () => {
    const file = [
      "class A:",
      "    before: int = f(1)",
      "    # About it.",
      "    own: str = f(  # (",
      '        "(",',
      "        '''",
      "    (((",
      "        ''',",
      "    )",
      "    next: int = 1 + \\",
      "        2",
      "    last: int",
    ].join("\n");
    expect(definitionText(file, at(4), "field")).toEqual({
      line: 3,
      text: file.split("\n").slice(2, 9).join("\n"),
      truncated: false,
    });
    expect(linesOf(file, 10, "field")).toEqual(["    next: int = 1 + \\", "        2"]);
    expect(linesOf(file, 12, "field")).toEqual(["    last: int"]);
    expect(linesOf(file, 2, "field")).toEqual(["    before: int = f(1)"]);
  });

  test("of a function goes from its first decorator to the end of its body", () => {
    const file =
      "x = 1\n\n# Why.\n@a\n@b(\n    c,\n)\nasync def f(\n    d: int,\n) -> int:\n    if d:\n\n        return 1\n    return 2\n\n\ny = 2\n";
    expect(definitionText(file, at(8), "function")).toEqual({ line: 3, text: file.split("\n").slice(2, 14).join("\n"), truncated: false });
    expect(linesOf("@a\ndef f(): return 1\ndef g(): return 2", 2, "function")).toEqual(["@a", "def f(): return 1"]);
  });

  test("of a SQL file is the file; of a line that is not there, nothing", () => {
    expect(definitionText("-- a\r\nselect 1\r\n", at(1), "file")).toEqual({ line: 1, text: "-- a\nselect 1", truncated: false });
    expect(definitionText("a", at(2), "field")).toBeUndefined();
    expect(definitionText("", at(1), "file")).toBeUndefined();
  });

  test("is bounded, holds the line of its name or was cut, and consists of the file's lines", () => {
    const line = fc
      .array(fc.constantFrom("    ", "@", "#", "(", ")", '"', "'''", "\\", "def f", "x", "\t"), { maxLength: 6 })
      .map((parts) => parts.join(""));
    const anyFile = fc.oneof(
      fc.array(line, { minLength: 1, maxLength: 30 }),
      fc
        .array(fc.string({ maxLength: 300 }), { minLength: 1, maxLength: 400 })
        .map((lines) => lines.map((one) => one.replace(/[\r\n]/g, " "))),
    );
    fc.assert(
      fc.property(anyFile, fc.nat(400), fc.constantFrom<DefinitionForm>("field", "function", "file"), (lines, place, form) => {
        const wanted = (place % lines.length) + 1;
        const found = definitionText(`${lines.join("\n")}\nend`, at(wanted), form);
        if (!found) throw new Error("a line that is there has a definition");
        const shown = found.text === "" && found.truncated ? [] : found.text.split("\n");
        expect(shown).toEqual([...lines, "end"].slice(found.line - 1, found.line - 1 + shown.length));
        expect(shown.length).toBeLessThanOrEqual(MOST_LINES);
        expect(found.text.length).toBeLessThanOrEqual(MOST_CHARACTERS);
        expect(found.line).toBeLessThanOrEqual(wanted);
        expect(found.truncated || found.line + shown.length > wanted).toBe(true);
      }),
      seeded(300),
    );
  });
});

/** Colours of Python, compared with what the language's grammar says of this project's own sources. */

import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { parser } from "@lezer/python";
import { pythonLines } from "../../../src/ui/parts/highlight.ts";
import { isNearLinear } from "../../harness/growth.ts";

const SDK = join(import.meta.dir, "../../../src/sdk/svc");
const FILES = [...new Bun.Glob("**/*.py").scanSync({ cwd: SDK })].sort();

const CLASSES: Readonly<Record<string, string>> = {
  Comment: "tok-comment",
  String: "tok-string",
  FormatString: "tok-string",
  Number: "tok-number",
  Boolean: "tok-atom",
  None: "tok-atom",
};
/** Words that the grammar knows by their place alone. */
const SOFT = new Set(["match", "case", "type"]);

/** The tokens that the grammar gives a colour, as `offset class text`. */
function byGrammar(text: string): string[] {
  const found: string[] = [];
  parser.parse(text).iterate({
    enter({ from, name, node, to }) {
      const piece = text.slice(from, to);
      const isDefined = name === "VariableName" && /^(def|class)$/.test(node.prevSibling?.name ?? "");
      const isKeyword = name === piece && /^[a-z]+$/.test(name) && !SOFT.has(name);
      const classes = CLASSES[name] ?? (isKeyword ? "tok-keyword" : isDefined ? "tok-definition" : undefined);
      if (classes !== undefined) found.push(...piece.split("\n").flatMap((line) => (line === "" ? [] : `${classes} ${line}`)));
      return name !== "FormatString";
    },
  });
  return found;
}

function byColours(text: string): string[] {
  return pythonLines(text).flatMap((pieces) =>
    pieces.flatMap(({ classes, text: piece }) => (classes === "" || classes === "tok-operator" ? [] : `${classes} ${piece}`)),
  );
}

describe("colours of Python", () => {
  test("are those of the grammar in every source of the SDK, and nothing of the text is lost", async () => {
    expect(FILES.length).toBeGreaterThan(50);
    for (const file of FILES) {
      const text = await Bun.file(join(SDK, file)).text();
      expect(
        pythonLines(text)
          .map((pieces) => pieces.map((piece) => piece.text).join(""))
          .join("\n"),
      ).toBe(text);
      expect(byColours(text), file).toEqual(byGrammar(text));
    }
  });

  test.each([
    [
      "a string that does not end",
      '"""a\nb',
      [
        ["tok-string", '"""a'],
        ["tok-string", "b"],
      ],
    ],
    [
      "one of a line that does not end",
      "'a\nb",
      [
        ["tok-string", "'a"],
        ["", "b"],
      ],
    ],
    ["a backslash at the end", '"a\\', [["tok-string", '"a\\']]],
    ["a name with a keyword in it", "defined", [["", "defined"]]],
    ["no text", "", []],
  ])("%s", (_, text, pieces) => {
    expect(pythonLines(text).flatMap((line) => line.map((piece) => [piece.classes, piece.text]))).toEqual(pieces as string[][]);
  });

  test("take time as the text grows, whatever is in it", () => {
    const pieces = ['"', "'", '"""', "\\", "\"\"\"'''\\", "a.", "0_", "\u00E9", "rb"];
    expect(pieces.filter((piece) => !isNearLinear(20_000, (length) => void pythonLines(piece.repeat(length))))).toEqual([]);
  });
});

import { describe, expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import fc from "fast-check";
import { type Diagnostic, type Span, SpanSchema } from "../../gen/svc/v1/error_pb.ts";
import { type FindingDetails, finding } from "../../src/domain/finding.ts";
import { LineMap } from "../../src/domain/line-map.ts";
import { countLine, formatDiagnostic, formatDiagnostics, lspDiagnostic } from "../../src/output/diagnostic.ts";
import { seeded } from "../harness/seed.ts";

const span = (line: number, column: number, endLine: number, endColumn: number, file = "a.sql") =>
  create(SpanSchema, { file, line, column, endLine, endColumn });
type Details = FindingDetails & { readonly label?: string };
const errorAt = (code: number, span: Span | undefined, message: string, { label = "", ...details }: Details = {}) =>
  finding({ code, severity: "error", message, label }, span, details);
const warningAt = (code: number, span: Span | undefined, message: string, { label = "", ...details }: Details = {}) =>
  finding({ code, severity: "warning", message, label }, span, details);
const show = (diagnostic: Diagnostic, text: string | undefined) => formatDiagnostic(diagnostic, () => text);

describe("for people", () => {
  test("head, place, excerpt, marker, label", () => {
    const text = "-- resolves: User\n-- source: pg\nselect id, nmae from users\nwhere 1 = 1\n";
    expect(
      show(
        errorAt(153, span(3, 12, 3, 16), "output feature 'nmae' does not exist in class User; the closest is 'name'", {
          label: "no such feature",
        }),
        text,
      ),
    ).toBe(
      `Error[153]: output feature 'nmae' does not exist in class User; the closest is 'name'
 --> a.sql:3:12
  |
1 | -- resolves: User
2 | -- source: pg
3 | select id, nmae from users
  |            ^^^^ no such feature`,
    );
  });

  test("warnings, related places, hints; the gutter is as wide as the number", () => {
    const text = `${"\n".repeat(9)}first = 1\nfirst = 2\n`;
    const diagnostic = warningAt(112, span(11, 1, 11, 6, "b.py"), "defined again", {
      label: "again",
      related: [{ span: span(10, 1, 10, 6, "b.py"), message: "first defined here" }],
      hint: "Rename it.",
    });
    expect(show(diagnostic, text)).toBe(
      `Warning[112]: defined again
  --> b.py:11:1
   |
10 | first = 1
11 | first = 2
   | ^^^^^ again
  note: first defined here
  --> b.py:10:1
   |
10 | first = 1
   | ^^^^^
  hint: Rename it.`,
    );
  });

  test("tabs and wide characters: the marker stands under the token as a terminal shows it", () => {
    const text = "\tname: 'é日本😀' = x";
    expect(
      show(errorAt(1, span(1, 17, 1, 18), "m"), text)
        .split("\n")
        .slice(3),
    ).toEqual(["1 |     name: 'é日本😀' = x", `  | ${" ".repeat(22)}^`]);
    expect(
      show(errorAt(1, span(1, 10, 1, 12), "m"), text)
        .split("\n")
        .at(-1),
    ).toBe(`  | ${" ".repeat(12)}^^^^`);
  });

  test("a span over several lines marks its first; an empty one marks one column; one behind the end as well", () => {
    expect(
      show(errorAt(1, span(1, 3, 2, 2), "m"), "ab(\nc)\n")
        .split("\n")
        .at(-1),
    ).toBe("  |   ^");
    expect(
      show(errorAt(1, span(1, 2, 1, 2), "m"), "abc")
        .split("\n")
        .at(-1),
    ).toBe("  |  ^");
    expect(
      show(errorAt(1, span(2, 1, 2, 2), "m"), "abc\n")
        .split("\n")
        .slice(3),
    ).toEqual(["1 | abc", "2 |", "  | ^"]);
  });

  test("without the text there is the place; a line that the file does not have is no excerpt", () => {
    const diagnostic = errorAt(1, span(3, 1, 3, 2), "m", { label: "here" });
    expect(show(diagnostic, undefined)).toBe("Error[1]: m\n --> a.sql:3:1\n  = here");
    expect(show(diagnostic, "one\n")).toBe("Error[1]: m\n --> a.sql:3:1\n  = here");
    expect(show(errorAt(191, undefined, "no Python"), undefined)).toBe("Error[191]: no Python");
  });

  test("control characters are shown, not obeyed", () => {
    const shown = show(errorAt(1, span(1, 1, 1, 2, "x\x1b[2J.py"), "m\x1b[31m", { label: "l\x07" }), "\x1b[31mred\n");
    expect(shown).not.toMatch(/[\x00-\x09\x0b-\x1f]/);
    expect(shown).toContain("\\x1b[31mred");
  });

  test("a long line is cut around the marker", () => {
    const text = `select ${"a, ".repeat(100_000)}nmae, ${"b, ".repeat(100_000)}c`;
    const at = text.indexOf("nmae") + 1;
    const [, , , line = "", marker = ""] = show(errorAt(153, span(1, at, 1, at + 4), "m"), text).split("\n");
    expect(line.length).toBeLessThan(200);
    expect(line.slice(marker.indexOf("^"), marker.lastIndexOf("^") + 1)).toBe("nmae");
  });

  test("colours mark what a terminal should show", () => {
    const style = {
      bold: (t: string) => `<b>${t}</b>`,
      dim: (t: string) => `<d>${t}</d>`,
      red: (t: string) => `<r>${t}</r>`,
      yellow: (t: string) => `<y>${t}</y>`,
      cyan: (t: string) => `<c>${t}</c>`,
    };
    expect(formatDiagnostic(errorAt(1, span(1, 1, 1, 2), "m", { label: "l" }), () => "a", style)).toBe(
      "<r>Error[1]</r><b>: m</b>\n <c>--></c> a.sql:1:1\n<d>  |</d>\n<d>1 |</d> a\n<d>  |</d> <r>^ l</r>",
    );
  });

  test("the count line", () => {
    const [error, warning] = [errorAt(1, undefined, "e"), warningAt(2, undefined, "w")];
    expect([[], [error], [error, error, warning], [warning, warning]].map(countLine)).toEqual([
      "No problems found.",
      "1 error found.",
      "2 errors, 1 warning found.",
      "2 warnings found.",
    ]);
    expect(formatDiagnostics([error, warning], () => undefined)).toBe("Error[1]: e\n\nWarning[2]: w\n\n1 error, 1 warning found.");
    expect(formatDiagnostics([], () => undefined)).toBe("No problems found.");
  });

  test("whatever the place, the marker is under what is there", () => {
    const source = fc.array(fc.constantFrom("a", "é", "日", "😀", "\t", "\n", " "), { maxLength: 30 }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(source, fc.nat(40), fc.nat(5), (text, from, length) => {
        const lines = new LineMap("a.sql", text);
        const place = lines.span(from, from + length);
        const shown = show(errorAt(1, place, "m"), text).split("\n");
        expect(shown[1]).toEndWith(`a.sql:${place.line}:${place.column}`);
        expect(shown.at(-1)).toMatch(/^\s*\|\s+\^+$/);
      }),
      seeded(1000),
    );
  });
});

describe("for editors", () => {
  test("0-based, UTF-16, with related places and the hint in the message", () => {
    const text = "x = 1\n😀é = bad\n";
    const diagnostic = errorAt(153, span(2, 6, 2, 9, "pkg/ä b.py"), "wrong", {
      label: "here",
      related: [{ span: span(1, 1, 1, 2, "pkg/ä b.py"), message: "first" }],
      hint: "Do this.",
    });
    expect(lspDiagnostic(diagnostic, () => text, "/home/a project/")).toEqual({
      uri: "file:///home/a%20project/pkg/%C3%A4%20b.py",
      range: { start: { line: 1, character: 6 }, end: { line: 1, character: 9 } },
      severity: 1,
      message: "wrong\nDo this.",
      code: 153,
      source: "svc",
      relatedInformation: [
        {
          location: {
            uri: "file:///home/a%20project/pkg/%C3%A4%20b.py",
            range: { start: { line: 0, character: 0 }, end: { line: 0, character: 1 } },
          },
          message: "first",
        },
      ],
    });
  });

  test("a warning, and a finding without a place", () => {
    const zero = { line: 0, character: 0 };
    expect(lspDiagnostic(warningAt(163, undefined, "w"), () => undefined, "/p")).toMatchObject({
      severity: 2,
      uri: "file:///p",
      range: { start: zero, end: zero },
    });
  });

  test("ranges are the offsets that the span was made from", () => {
    const source = fc.array(fc.constantFrom("a", "é", "😀", "\n"), { maxLength: 20 }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(source, fc.nat(30), fc.nat(5), (text, rawFrom, length) => {
        const whole = (offset: number) => (/[\udc00-\udfff]/.test(text[offset] ?? "") ? offset - 1 : Math.min(offset, text.length));
        const [from, to] = [whole(rawFrom), whole(Math.min(rawFrom + length, text.length))];
        const { range } = lspDiagnostic(errorAt(1, new LineMap("a", text).span(from, Math.max(from, to)), "m"), () => text, "/p");
        const offsetOf = ({ line, character }: { line: number; character: number }) =>
          text.split("\n").slice(0, line).join("\n").length + (line > 0 ? 1 : 0) + character;
        expect(offsetOf(range.start)).toBe(from);
        expect(offsetOf(range.end)).toBe(Math.max(from, to));
      }),
      seeded(1000),
    );
  });
});

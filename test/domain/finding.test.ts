import { expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { type Span, SpanSchema } from "../../gen/svc/v1/error_pb.ts";
import { finding, isError, mergeFindings } from "../../src/domain/finding.ts";

const at = (file: string, line: number, column = 1) => create(SpanSchema, { file, line, column, endLine: line, endColumn: column + 1 });
const errorAt = (code: number, span: Span | undefined, message: string) => finding({ code, severity: "error", message, label: "" }, span);
const warningAt = (code: number, span: Span | undefined, message: string) =>
  finding({ code, severity: "warning", message, label: "" }, span);

test("a later pass does not repeat what an earlier one said of a rule, file and line", () => {
  const first = [errorAt(140, at("b.py", 2), "here"), errorAt(140, at("b.py", 2, 9), "and here")];
  const second = [
    errorAt(140, at("b.py", 2, 5), "in other words"),
    errorAt(141, at("b.py", 2), "more"),
    errorAt(140, at("a.py", 2), "elsewhere"),
  ];
  expect(mergeFindings(first, second).map(({ code, span, message }) => `${span?.file}:${span?.line} ${code} ${message}`)).toEqual([
    "a.py:2 140 elsewhere",
    "b.py:2 140 here",
    "b.py:2 141 more",
    "b.py:2 140 and here",
  ]);
});

test("the very same finding is said once; findings without a place come first", () => {
  const same = () => warningAt(163, at("a.py", 1), "same");
  expect(
    mergeFindings([same(), same(), errorAt(191, undefined, "no Python")], [errorAt(191, undefined, "no Python")]).map(
      ({ message }) => message,
    ),
  ).toEqual(["no Python", "same"]);
});

test("warnings are no errors", () => {
  expect([errorAt(1, undefined, ""), warningAt(1, undefined, "")].map(isError)).toEqual([true, false]);
});

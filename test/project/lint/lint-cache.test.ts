import { afterAll, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toBinary } from "@bufbuild/protobuf";
import { type Diagnostic, DiagnosticSchema } from "../../../gen/svc/v1/error_pb.ts";
import { type LintInput, lintStatically } from "../../../src/project/lint/lint.ts";
import { LintCache } from "../../../src/project/lint/lint-cache.ts";

const above = mkdtempSync(join(tmpdir(), "svc-lint-cache-"));
afterAll(() => rmSync(above, { recursive: true, force: true }));

let folder: string;
let count = 0;
beforeEach(() => {
  folder = join(above, String(count++));
});

const TEXT = `from svc.features import features

@features
class User:
    id: int
    other: str
    name = 3
`;
const INPUT: LintInput = {
  files: [
    { path: "user.py", text: TEXT },
    { path: "broken.py", text: "x = (\n" },
  ],
  runtime: "python310",
};

const bytesOf = (findings: readonly Diagnostic[] | undefined) =>
  findings?.map((finding) => Buffer.from(toBinary(DiagnosticSchema, finding)).toString("hex"));

function lint(input: LintInput): readonly Diagnostic[] {
  const found = lintStatically(input);
  new LintCache(folder, input).put(found);
  return found;
}

test("the findings of an equal input are the same bytes", () => {
  expect(new LintCache(folder, INPUT).get()).toBeUndefined();
  const found = lint(INPUT);
  expect(found.length).toBeGreaterThan(0);
  expect(bytesOf(new LintCache(folder, structuredClone(INPUT)).get())).toEqual(bytesOf(found));
});

test("a project without findings is known as such", () => {
  const clean: LintInput = { files: [{ path: "user.py", text: "RATE = 1\n" }] };
  expect(lint(clean)).toEqual([]);
  expect(new LintCache(folder, clean).get()).toEqual([]);
});

const OTHERS: readonly (readonly [string, LintInput])[] = [
  ["text", { ...INPUT, files: [{ path: "user.py", text: `${TEXT}\n` }, ...INPUT.files.slice(1)] }],
  ["path", { ...INPUT, files: [{ path: "users.py", text: TEXT }, ...INPUT.files.slice(1)] }],
  ["file more", { ...INPUT, files: [...INPUT.files, { path: "other.py", text: "" }] }],
  ["split of the texts", { ...INPUT, files: [{ path: "user.py", text: "" }, ...INPUT.files] }],
  ["runtime", { ...INPUT, runtime: "python313" }],
  ["text of the requirements", { ...INPUT, requirements: "requests\n" }],
  ["rule for metadata", { ...INPUT, policy: { feature: [{ name: "owner", missing: "warn" }] } }],
  ["check of drivers", { ...INPUT, skipDrivers: true }],
];

test.each(OTHERS)("another %s is another input", (_, other) => {
  lint(INPUT);
  expect(new LintCache(folder, other).get()).toBeUndefined();
});

test("a damaged file is no answer", () => {
  lint(INPUT);
  truncateSync(join(folder, readdirSync(folder)[0] as string), 40);
  expect(new LintCache(folder, INPUT).get()).toBeUndefined();
});

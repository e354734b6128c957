/** Lint that reads only what has changed says the same as lint that reads everything. */

import { afterAll, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toBinary } from "@bufbuild/protobuf";
import { type Diagnostic, DiagnosticSchema } from "../../../gen/svc/v1/error_pb.ts";
import { isPythonModule } from "../../../src/domain/source-file.ts";
import { KnownFiles } from "../../../src/project/lint/known-files.ts";
import { type LintInput, lintStatically } from "../../../src/project/lint/lint.ts";

const above = mkdtempSync(join(tmpdir(), "svc-known-files-"));
afterAll(() => rmSync(above, { recursive: true, force: true }));

let folder: string;
let count = 0;
beforeEach(() => {
  folder = join(above, String(count++));
});

type Texts = Readonly<Record<string, string>>;

const filesOf = (texts: Texts) =>
  Object.keys(texts)
    .sort()
    .map((path) => ({ path, text: texts[path] as string }));
const bytesOf = (findings: readonly Diagnostic[]) =>
  findings.map((finding) => Buffer.from(toBinary(DiagnosticSchema, finding)).toString("hex"));

/** Lints like a new process; returns the findings' rules and the paths that were not read again. */
function lint(texts: Texts, options: Omit<LintInput, "files" | "known"> = {}, root = "/project") {
  const input = { ...options, files: filesOf(texts) };
  const cache = new KnownFiles(folder, root, options.runtime);
  const known = cache.get(input.files);
  const kept = [...known.keys()];
  const found = lintStatically({ ...input, known });
  cache.put(known);
  expect(bytesOf(found)).toEqual(bytesOf(lintStatically(input)));
  return { rules: found.map(({ code, span }) => `${code} ${span?.file}`), kept };
}

const CLASSES = `from svc.features import DataFrame, Features, Primary, _, feature, features
import svc.functions as F

@features
class User:
    id: int
    name: str
    label: str = F.upper(_.name)
`;
const RESOLVERS = `from svc import online
from users import User

@online
def name(id: User.id) -> User.name:
    return "é" if id else "x"
`;
const SQL = "-- resolves: User\n-- source: main\nselect id, name from users where id = {{id}}\n";
const BASE: Texts = { "resolvers.py": RESOLVERS, "users.py": CLASSES, "users.sql": SQL };

const { "users.py": _users, ...withoutUsers } = BASE;
const CHANGES: readonly (readonly [string, Texts, string])[] = [
  ["a class loses a feature that another file names", { ...BASE, "users.py": CLASSES.replace("    name: str\n", "") }, "142 resolvers.py"],
  ["a class is renamed", { ...BASE, "users.py": CLASSES.replace("class User", "class Person") }, ""],
  ["the file of a class is renamed", { ...withoutUsers, "people.py": CLASSES }, ""],
  ["the file of a class is gone", withoutUsers, ""],
  ["another file defines the namespace", { ...BASE, "again.py": CLASSES }, "111 users.py"],
  ["another file defines the resolver", { ...BASE, "more.py": RESOLVERS.replace("online\n\ndef", "online(name='name')\ndef") }, ""],
  ["a file no longer parses", { ...BASE, "users.py": `${CLASSES}    x: (\n` }, "101 users.py"],
  ["an expression is wrong", { ...BASE, "users.py": CLASSES.replace("F.upper", "F.uper") }, "133 users.py"],
  ["a module hides the SDK", { ...BASE, "users.py": CLASSES.replace("F.upper", "F.uper"), "svc/__init__.py": "" }, ""],
  ["a module has all names of another", { ...BASE, "more.py": "from users import *\n" }, ""],
];

test.each(CHANGES)("%s", (_, changed, rule) => {
  lint(BASE);
  const { rules, kept } = lint(changed);
  const same = filesOf(changed).filter(({ path, text }) => isPythonModule(path) && BASE[path] === text);
  expect(kept).toEqual(same.map(({ path }) => path));
  if (rule !== "") expect(rules).toContain(rule);
  expect(lint(BASE).rules).toEqual(lint(BASE).rules);
});

test("a module that hides the SDK hides the findings of files that were not read again", () => {
  const wrong = { "users.py": CLASSES.replace("F.upper", "F.uper") };
  expect(lint(wrong).rules).toContain("133 users.py");
  const hidden = lint({ ...wrong, "svc.py": "" });
  expect(hidden.kept).toEqual(["users.py"]);
  expect(hidden.rules).not.toContain("133 users.py");
  expect(lint(wrong).rules).toContain("133 users.py");
});

test("any project may follow any other at the same place", async () => {
  const fixtures = join(import.meta.dir, "../../sdk/fixtures");
  const paths = [...new Bun.Glob("*/**/*.{py,sql}").scanSync({ cwd: fixtures })].sort();
  const projects = Object.values(Object.groupBy(paths, (path) => path.slice(0, path.indexOf("/"))));
  expect(projects.length).toBeGreaterThan(20);
  let findings = 0;
  for (const project of projects) {
    const texts = Object.fromEntries(
      (project ?? []).map((path) => [path.slice(path.indexOf("/") + 1), readFileSync(join(fixtures, path), "utf8")]),
    );
    findings += lint(texts).rules.length;
    const { kept } = lint({ ...texts, "added_last.py": "from svc.features import features\n" });
    expect(kept.length).toBe(Object.keys(texts).filter(isPythonModule).length);
    lint(Object.fromEntries(Object.entries(texts).map(([path, text]) => [`moved/${path}`, text])));
  }
  expect(findings).toBeGreaterThan(20);
});

test("files are kept for one project and runtime", () => {
  lint(BASE);
  expect(lint(BASE, {}, "/other").kept).toEqual([]);
  expect(lint(BASE, { runtime: "python310" }).kept).toEqual([]);
  expect(lint(BASE).kept).toEqual(["resolvers.py", "users.py"]);
  expect(lint(BASE, { policy: { feature: [{ name: "owner", missing: "warn" }] } }).rules).toContain("192 users.py");
});

test("a kept file has what was read from it", () => {
  const known = new Map();
  const files = filesOf({ ...BASE, "empty.py": "", "all.py": "from users import *\nimport os.path as p\nrun(1, *[2])\n" });
  lintStatically({ files, known });
  new KnownFiles(folder, "/project", undefined).put(known);
  const kept = new KnownFiles(folder, "/project", undefined).get(files);
  expect([...kept.keys()]).toEqual([...known.keys()]);
  for (const [path, file] of kept) {
    const { tree, ...module } = file.module ?? {};
    const { tree: before, ...moduleBefore } = known.get(path).module;
    expect(module).toEqual(moduleBefore);
    expect(String(tree)).toBe(String(before));
  }
});

test("a damaged file is as if nothing was kept", () => {
  lint(BASE);
  truncateSync(join(folder, readdirSync(folder)[0] as string), 60);
  expect(lint(BASE).kept).toEqual([]);
});

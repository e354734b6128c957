/**
 * What a new noun takes: its contract, service, commands and tests, one row in the table of
 * services, and nothing else. A copy of the tree gets such a noun, whose own tests then run in it,
 * and is built into a binary that answers for it.
 */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { cpSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const ROOT = join(import.meta.dir, "..");
const NOUN = join(import.meta.dir, "fixtures/new-noun");
const COPIED = [
  "src",
  "gen",
  "docs",
  "LICENSE",
  "proto",
  "build.ts",
  "package.json",
  "bun.lock",
  "tsconfig.json",
  "bunfig.toml",
  "CHANGELOG.md",
  "install.sh",
];
const TESTED_WITH = ["test/client/test-context.ts", "test/commands/platform.ts", "test/harness"];
const ROW = '  labels: service<typeof import("../../gen/svc/v1/label_pb.ts").LabelService>("svc.v1.LabelService"),\n';

const tree = mkdtempSync(join(tmpdir(), "svc-noun-"));
const home = join(tree, "home");
const env = { PATH: `${join(ROOT, "node_modules/.bin")}:${process.env.PATH}`, HOME: home, SVC_NO_UPDATE_CHECK: "1" };

function run(...argv: string[]): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync(argv, { cwd: tree, env });
  if (exitCode !== 0) throw new Error(`${argv.join(" ")}: exit ${exitCode}\n${stdout}${stderr}`);
  return stdout.toString();
}

beforeAll(() => {
  for (const path of [...COPIED, ...TESTED_WITH]) cpSync(join(ROOT, path), join(tree, path), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(tree, "node_modules"));
  cpSync(NOUN, tree, { recursive: true });
  renameSync(join(tree, "test/commands/label-test.ts"), join(tree, "test/commands/label.test.ts"));
  const table = join(tree, "src/contract/services.ts");
  writeFileSync(table, readFileSync(table, "utf8").replace(/^};$/m, `${ROW}};`));
  run("buf", "lint", "proto");
  run("buf", "generate", "proto", "--template", "proto/buf.gen.yaml");
}, 300_000);
afterAll(() => rmSync(tree, { recursive: true, force: true }));

test("its contract, service and commands pass its own tests, by the row alone", () => {
  expect(run(process.execPath, "test", "--timeout", "60000", "./test/commands/label.test.ts")).toStartWith("bun test");
}, 300_000);

test("a binary that is built of the tree has it in its help, and asks its server for it", () => {
  run(process.execPath, "build.ts", "--single");
  const svc = join(tree, "dist/svc");
  expect(run(svc, "help", "--all")).toMatch(/^ {2}svc label list +List labels$/m);
  run(svc, "server", "start", "--detach", "--port", "0");
  try {
    expect(JSON.parse(run(svc, "label", "list", "--json"))).toEqual({ labels: [] });
  } finally {
    run(svc, "server", "stop");
  }
}, 300_000);

test("it is at most 140 lines that are not empty, in 7 files and a row", () => {
  const files = [...new Bun.Glob("**/*.{ts,proto}").scanSync(NOUN)];
  const texts = [ROW, ...files.map((file) => readFileSync(join(NOUN, file), "utf8"))];
  const lines = texts.flatMap((text) => text.split("\n")).filter((line) => line.trim() !== "");
  expect([files.length <= 7, lines.length <= 140]).toEqual([true, true]);
});

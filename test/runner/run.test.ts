/** The project's test command. */

import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { TempFolder } from "../harness/running-server.ts";
import { LONG_FILES } from "./long-files.ts";
import { parseOptions, variablesOf } from "./options.ts";
import { programPath } from "./program-path.ts";
import { processes, schedule, shuffled } from "./schedule.ts";
import { SLOW_BY_NATURE } from "./slow-by-nature.ts";

const ROOT = join(import.meta.dir, "../..");

interface Outcome {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

const run = (...words: readonly string[]): Outcome => runWith({}, ...words);

function runWith(variables: Readonly<Record<string, string>>, ...words: readonly string[]): Outcome {
  const env = { ...process.env, SVC_TEST_SEED: undefined, SVC_TEST_RUNS: undefined, SVC_TEST_QUICK: undefined, ...variables };
  const { exitCode, stdout, stderr } = Bun.spawnSync([process.execPath, join(ROOT, "test/run.ts"), "--no-checks", ...words], { env });
  return { exitCode, stdout: stdout.toString(), stderr: stderr.toString() };
}

describe("random cases", () => {
  test("have a seed of this run, said at the start and again after a failure", () => {
    const { exitCode, stdout } = run("--seed=random", "--runs=12", "test/runner/failing.ts");
    const [first, ...lines] = stdout.split("\n");
    const flags = /^random cases: (--seed=(\d+) --runs=12)$/.exec(first ?? "");
    expect(flags).not.toBeNull();
    expect(stdout).toContain(`seed ${flags?.[2]}, 12 runs`);
    expect(lines.filter((line) => line.startsWith("FAIL ")).at(-1)).toMatch(
      /^FAIL test\/runner\/failing\.ts: \(fail\) fails, and says with which random cases/,
    );
    expect(stdout).not.toContain("(pass)");
    expect(lines).toContain(`the same random cases again: bun test/run.ts ${flags?.[1]}`);
    expect([exitCode, lines.at(-2)]).toEqual([1, "1 passed, 1 failed, 0 skipped"]);
  });

  test("differ from run to run, and are those of a number that is given", () => {
    const seedOf = (text: string) => parseOptions([`--seed=${text}`]).seed;
    expect(seedOf("random")).not.toBe(seedOf("random"));
    expect(seedOf("7")).toBe(7);
  });

  test("are fixed in a run that gates", () => {
    const { stdout } = run("test/runner/failing.ts");
    expect(stdout).toContain("seed 20240508, 1 runs");
    expect(stdout).not.toContain("again");
  });
});

test("files that passed with nothing skipped are listed, and left out of another run", () => {
  using folder = new TempFolder();
  const list = join(folder.path, "whole");
  const files = ["passing", "skipping", "failing"].map((name) => `test/runner/${name}.ts`);
  expect(
    run(`--whole=${list}`, ...files)
      .stdout.split("\n")
      .at(-2),
  ).toBe("3 passed, 1 failed, 1 skipped");
  expect(readFileSync(list, "utf8").split("\n")).toEqual(["test/runner/passing.ts"]);
  const { stdout } = run(`--except=${list}`, ...files);
  expect(stdout).toContain(`left out: 1 files that ran whole before, as ${list} says`);
  expect(stdout.split("\n").at(-2)).toBe("2 passed, 1 failed, 1 skipped");
});

describe("what fails runs again when that is asked for, and", () => {
  const files = ["test/runner/unsteady.ts", "test/runner/failing.ts"];

  test("has passed when it passes then, but is named", () => {
    using folder = new TempFolder();
    const { exitCode, stdout } = runWith({ SVC_TEST_UNSTEADY: folder.path }, "--again", "test/runner/unsteady.ts");
    expect([exitCode, stdout.split("\n").at(-2)]).toEqual([0, "1 passed, 0 failed, 0 skipped"]);
    expect(stdout).toMatch(/^UNSTEADY test\/runner\/unsteady\.ts: \(fail\) passes once it has failed/m);
  });

  test("has failed when it fails again, whatever else passes then", () => {
    using folder = new TempFolder();
    const { exitCode, stdout } = runWith({ SVC_TEST_UNSTEADY: folder.path }, "--again", ...files);
    expect([exitCode, stdout.split("\n").at(-2)]).toEqual([1, "2 passed, 1 failed, 0 skipped"]);
    expect(stdout.match(/^FAIL .*\(fail\).*$/gm)).toEqual([expect.stringContaining("fails, and says")]);
  });

  test("fails without being asked for", () => {
    using folder = new TempFolder();
    const { exitCode, stdout } = runWith({ SVC_TEST_UNSTEADY: folder.path }, ...files);
    expect([exitCode, stdout.split("\n").at(-2)]).toEqual([1, "1 passed, 2 failed, 0 skipped"]);
  });
});

describe("words", () => {
  test("that are no flag, or no number, are refused before anything runs", () => {
    for (const [word, said] of [
      ["--fast", "--fast"],
      ["--seed=often", "--seed=often is no whole number"],
      ["--runs=-1", "--runs=-1 is no whole number"],
    ] as const) {
      const { exitCode, stdout, stderr } = run(word);
      expect([word, exitCode, stdout, stderr]).toEqual([word, 2, "", expect.stringContaining(said)]);
    }
  });

  test("choose files by a part of their path", () => {
    const { stdout } = run("domain/name-search.test");
    expect(stdout).toMatch(/^ok {3}test\/domain\/name-search\.test\.ts \(\d/);
    expect(stdout).toMatch(/^\d+ passed, 0 failed, 0 skipped$/m);
  });
});

test("a script in the place of Python gives way to what it starts, and other folders stay", () => {
  using folder = new TempFolder();
  const [shims, bin] = [join(folder.path, "shims"), join(folder.path, "bin")];
  for (const one of [shims, bin]) mkdirSync(one);
  writeFileSync(join(shims, "python3"), `#!/bin/sh\necho ${join(bin, "python3")}\n`, { mode: 0o755 });
  const tools = "/root/node_modules/.bin";
  expect(programPath("/root", `${folder.path}:${shims}:/bin`)).toBe(`${tools}:${folder.path}:${bin}:/bin`);
  expect(programPath("/root", "/bin")).toBe(`${tools}:/bin`);
});

test("a quick run names what it leaves out, and why", () => {
  const { exitCode, stdout } = run("--quick", "binary/update-windows");
  const path = "test/binary/update-windows.test.ts";
  expect([exitCode, stdout]).toEqual([0, `left out: ${path}: ${SLOW_BY_NATURE[path]}\n0 passed, 0 failed, 0 skipped\n`]);
  expect(variablesOf(parseOptions(["--quick"]))).toEqual({ SVC_TEST_QUICK: "1" });
  expect(variablesOf(parseOptions([]))).toEqual({});
});

test("files that are named in tables are there", () => {
  const named = [...Object.keys(LONG_FILES), ...Object.keys(SLOW_BY_NATURE)];
  expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});

describe("the schedule", () => {
  const short = ["test/a.test.ts", "test/b.test.ts"];
  const paths = [...short, ...Object.keys(LONG_FILES)];

  test("has every file once, and the longest of a lane first", () => {
    const lanes = schedule(paths, 2);
    expect(lanes.flatMap((lane) => lane.paths).sort()).toEqual([...paths].sort());
    for (const { paths: ordered } of lanes) {
      const walls = ordered.map((path) => LONG_FILES[path]?.wall ?? 0);
      expect(walls).toEqual(walls.toSorted((a, b) => b - a));
    }
  });

  test("has one place more for files that compute than there are cores, and others for files that wait", () => {
    const [waiting, computing] = schedule(paths, 2);
    expect(computing?.width).toBe(3);
    for (const path of waiting?.paths ?? []) expect(LONG_FILES[path]?.cpu).toBeLessThan((LONG_FILES[path]?.wall ?? 0) / 2);
    expect(waiting?.paths.filter((path) => short.includes(path))).toEqual([]);
  });

  test("gives short files of a folder one process, a number of them, and long ones and others their own", () => {
    const few = Array.from({ length: 20 }, (_, index) => `test/domain/${index}.test.ts`);
    const long = Object.keys(LONG_FILES).find((path) => path.startsWith("test/commands/")) ?? "";
    const given = [long, ...few, "test/commands/x.test.ts", ...short];
    expect(processes(given)).toEqual([
      few.slice(0, 16),
      [long],
      few.slice(16),
      ["test/commands/x.test.ts"],
      ...short.map((path) => [path]),
    ]);
  });

  test("can be shuffled, by a seed that gives the same order again", () => {
    const many = Array.from({ length: 50 }, (_, index) => `test/${index}.test.ts`);
    expect(shuffled(many, 1)).toEqual(shuffled(many, 1));
    expect(shuffled(many, 1)).not.toEqual(shuffled(many, 2));
    expect([...shuffled(many, 1)].sort()).toEqual([...many].sort());
  });
});

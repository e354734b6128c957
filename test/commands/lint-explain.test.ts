/** `svc lint --explain`: what the rules mean, in a terminal and as JSON. */

import { describe, expect, test } from "bun:test";
import { RULES } from "../../src/domain/rules/rules.ts";
import { tempFolder } from "../client/test-context.ts";
import { runMain, type TestIoOptions } from "../harness/context.ts";

const home = tempFolder("svc-explain-");
const explain = (words: readonly string[], streams: TestIoOptions = {}) =>
  runMain(["lint", ...words], { cwd: home, env: { HOME: home }, ...streams });

test("explains a rule by its number, outside of any project", async () => {
  const done = await explain(["--explain", "113"]);
  expect([done.exitCode, done.stderr]).toEqual([0, ""]);
  expect(done.stdout).toBe(`Error[113] two-primary-keys: A feature class has two primary keys

Two features are marked as primary keys. Take the mark from one of them.

A row is identified by one value.

Found in the text of the files, as they are written, or when the project is
imported.

Breaks the rule: features.py

    @features
    class User:
        email: Primary[str]
        number: int = feature(primary=True)

Keeps the rule: features.py

    @features
    class User:
        email: Primary[str]
        number: int = 0

Imports of svc are left out.
`);
});

test("a rule is named by its id, or as a finding shows it", async () => {
  const { stdout } = await explain(["--explain", "163"]);
  expect(stdout).toStartWith("Warning[163] unused-feature: ");
  for (const named of ["unused-feature", "Warning[163]", "W163", "Unused-Feature"])
    expect((await explain([`--explain=${named}`])).stdout).toBe(stdout);
});

test("running text is as wide as the terminal, and examples keep their lines", async () => {
  const { stdout } = await explain(["--explain", "155"], { stdoutIsTTY: true, width: 50 });
  const [text = "", ...example] = Bun.stripANSI(stdout).split("Breaks the rule");
  expect(Math.max(...text.split("\n").map((line) => line.length))).toBeLessThanOrEqual(50);
  expect(example.join("")).toContain("\n    select id, name from users where email = ${user.emial}\n");
});

test("as JSON the rule has its facts and its example", async () => {
  const { stdout } = await explain(["--explain", "110", "--json"]);
  expect(JSON.parse(stdout)).toEqual({
    code: 110,
    id: "no-primary-key",
    severity: "error",
    title: "A feature class has no primary key",
    means: expect.stringContaining("`id`"),
    why: expect.any(String),
    found_by: ["text", "analyzer"],
    example: { broken: { "features.py": expect.any(String) }, mended: { "features.py": expect.any(String) } },
  });
  expect(JSON.parse((await explain(["--explain", "191", "--json"])).stdout)).toMatchObject({ code: 191, no_example: expect.any(String) });
});

test("without a name all rules are listed", async () => {
  const { stdout } = await explain(["--explain"]);
  expect(
    stdout
      .split("\n")
      .slice(1, -1)
      .map((line) => Number(line.trim().split(" ")[0])),
  ).toEqual(RULES.map(({ code }) => code));
  const { rules } = JSON.parse((await explain(["--explain", "--json"])).stdout) as { rules: { id: string }[] };
  expect(rules.map(({ id }) => id)).toEqual(RULES.map(({ id }) => id));
});

describe("a rule that there is not", () => {
  const cases: [named: string, says: string][] = [
    ["168", "there is no rule '168'; the nearest are 166 (unchecked-values), 170 (bad-named-query), 165 (never-scheduled)"],
    ["bad-windoww", "there is no rule 'bad-windoww'; the nearest is 180 (bad-window)"],
    ["zebra", "there is no rule 'zebra'"],
  ];
  for (const [named, says] of cases)
    test(named, async () => {
      const done = await explain(["--explain", named]);
      expect([done.exitCode, done.stdout]).toEqual([2, ""]);
      expect(done.stderr).toContain(`${says}\n\`svc lint --explain\` lists all rules.`);
    });
});

test("it excludes the flags of validating", async () => {
  const done = await explain(["--explain", "110", "--local"]);
  expect([done.exitCode, done.stderr]).toEqual([2, expect.stringContaining("--explain validates nothing")]);
});

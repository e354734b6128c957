/** The README as a reader follows it: every fenced block, as `test/harness/session.ts` says. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cpSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { loadFlights } from "../harness/flights.ts";
import { lacksProgram } from "../harness/needs.ts";
import { Sandbox } from "../harness/sandbox.ts";
import { type Block, blocksOf, type Command, commandsOf, expectSaid, fits, follow, isSession } from "../harness/session.ts";

const ROOT = join(import.meta.dir, "../..");
const FLIGHTS = join(ROOT, "dist", "flights.db");

/** Why a block may be left out; each is the reason of some block. */
const NOT_RUN = ["builds and tests a clone", "needs a release host", "needs an identity provider", "needs other machines"];

/** Times of runs to come. */
const COMING = [[/(?<=^airport_departures +30m +|^nightly_routes.* )\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\b/g, "TIME"]] as const;

const readme = readFileSync(join(ROOT, "README.md"), "utf8");
const blocks = blocksOf(readme);

test("every block is a session, a file, or left out for a reason that is listed", () => {
  const known = /^(console|\w+ file: [\w./-]+)$/;
  const reasonOf = ({ info }: Block) => /^\w+ not run: (.+)$/.exec(info)?.[1] ?? "";
  expect(readme.match(/```|~~~/g)).toHaveLength(2 * blocks.length);
  const others = blocks.filter(({ info }) => !known.test(info));
  expect(others.filter((block) => !NOT_RUN.includes(reasonOf(block)))).toEqual([]);
  expect([...new Set(others.map(reasonOf))].sort()).toEqual(NOT_RUN);
});

test("lines are compared whole, in their order, and `...` stands for at least one", () => {
  const found = ["a", "b", "c"];
  expect([found, ["..."], ["a", "..."], ["...", "c"], ["a", "...", "c"]].filter((wanted) => !fits(wanted, found))).toEqual([]);
  expect(
    [[], ["a"], ["a", "b"], ["a", "b", "c", "..."], ["...", "b"], ["b", "..."], ["a", "b", "C"]].filter((wanted) => fits(wanted, found)),
  ).toEqual([]);
});

describe.skipIf(process.platform === "win32" || lacksProgram("curl"))("sessions", () => {
  let sandbox: Sandbox;
  let done: readonly Command[];

  beforeAll(async () => {
    await loadFlights(FLIGHTS);
    sandbox = new Sandbox();
    const clone = join(sandbox.home, "svc");
    mkdirSync(join(clone, "dist"), { recursive: true });
    symlinkSync(FLIGHTS, join(clone, "dist/flights.db"));
    symlinkSync(join(ROOT, "node_modules"), join(clone, "node_modules"));
    for (const example of ["test/fixtures/flights", "test/fixtures/airport-history.sql"])
      cpSync(join(ROOT, example), join(clone, example), { recursive: true });
    done = await follow(blocks, sandbox);
  }, 300_000);
  afterAll(async () => {
    await sandbox?.svc(["server", "stop"]);
    await sandbox?.[Symbol.asyncDispose]();
  });

  let before = 0;
  for (const block of blocks.filter(isSession)) {
    const told = commandsOf(block);
    const from = before;
    before += told.length;
    test(`README.md:${block.line}`, () => expectSaid(told, done.slice(from, from + told.length), COMING));
  }
});

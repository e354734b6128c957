/**
 * A project that was renamed, imported by Python: its graph is that of before, with the other name.
 */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Glob } from "bun";
import { createToolchain } from "../../../src/python/create-toolchain.ts";
import type { PythonToolchain } from "../../../src/python/toolchain.ts";
import { type Files, readNames, renamed } from "./places.ts";

setDefaultTimeout(300_000);

const FLIGHTS = join(import.meta.dir, "../../fixtures/flights");
const paths = [...new Glob("**/*.{py,sql}").scanSync(FLIGHTS)].sort();
const project = readNames(Object.fromEntries(paths.map((path) => [path, readFileSync(join(FLIGHTS, path), "utf8")])));

let folder: string;
let chain: PythonToolchain;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-renamed-"));
  chain = createToolchain({ home: join(folder, "home"), env: process.env });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/**
 * What the analyzer says of a project, sorted: findings, features, and what resolvers take and
 * give.
 */
async function analyzed(files: Files): Promise<string[]> {
  const root = await mkdtemp(join(folder, "project-"));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  const { graph } = await chain.analyze({ root, files: paths });
  const path = ({ kind }: (typeof graph.resolvers)[number]["inputs"][number]) => (kind.case === "feature" ? kind.value.path : kind.case);
  return [
    ...graph.diagnostics.map(({ message }) => message),
    ...graph.featureSets.flatMap(({ className, features }) => [className, ...features.map(({ fqn }) => fqn)]),
    ...graph.resolvers.map(({ fqn, inputs, outputs }) => `${fqn}(${inputs.map(path).join(", ")}) -> ${outputs.join(", ")}`),
    ...graph.namedQueries.map(({ inputs, outputs }) => `${inputs.join(", ")} -> ${outputs.join(", ")}`),
  ].sort();
}

test.each([
  ["class Flight", "Trip", /\bflight\b(?=\.)|\bFlight\b/g, { flight: "trip", Flight: "Trip" }],
  ["    delay: int", "lateness", /\bflight\.delay\b/g, { "flight.delay": "flight.lateness" }],
  ["    route: Route", "leg", /\bflight\.route\b/g, { "flight.route": "flight.leg" }],
  ["    late: Windowed", "tardy", /\bairport\.late(?=__)/g, { "airport.late": "airport.tardy" }],
] as [string, string, RegExp, Record<string, string>][])("%s is %s", async (line, newName, old, fresh) => {
  const text = project.files["features.py"] as string;
  const offset = text.indexOf(`${line}`) + line.length - line.replace(/^(?:class )?\s*/, "").length;
  const [before, after] = [await analyzed(project.files), await analyzed(renamed(project, "features.py", offset, newName))];
  expect(after).toEqual(before.map((each) => each.replace(old, (found) => fresh[found] as string)).sort());
  expect(after).not.toEqual(before);
});

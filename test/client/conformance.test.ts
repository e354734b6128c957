/** Every client against one table of requests, on the same server: a client that joins is a row of `RUNNERS`. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { lacksGo, run as runProgram } from "../codegen/tools.ts";
import type { Platform } from "../commands/platform.ts";
import { lacksBrowser } from "../harness/browser.ts";
import { lacksProgram } from "../harness/needs.ts";
import { INTERPRETERS, SDK_ROOT } from "../sdk/interpreters.ts";
import { runByCurl } from "./conformance/curl.ts";
import { runInBrowser } from "./conformance/page.ts";
import { type Expected, type Outcome, type Request, requests } from "./conformance/requests.ts";
import { type ConformanceServer, conformanceProject, startConformanceServer } from "./conformance/server.ts";
import { isValue, type Value } from "./conformance/values.ts";
import { tempFolder } from "./test-context.ts";

const HERE = join(import.meta.dir, "conformance");
let server: ConformanceServer;

/** A client: what it needs, and its outcomes. */
interface Runner {
  readonly name: string;
  readonly skip?: boolean;
  /** Requests that it cannot make. */
  readonly leavesOut?: (request: Request) => boolean;
  readonly run: (table: readonly Request[]) => Promise<readonly Outcome[]>;
}

/** A program that is given the table as a file, and prints an outcome on each line. */
const program =
  (argv: () => readonly string[], env: () => Record<string, string> = () => ({})) =>
  (table: readonly Request[]): Promise<readonly Outcome[]> =>
    outcomesOf([...argv(), fileOf(table)], env());

function fileOf(table: readonly Request[]): string {
  const file = join(tempFolder(), "table.json");
  writeFileSync(file, JSON.stringify(table));
  return file;
}

async function outcomesOf(argv: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<readonly Outcome[]> {
  const child = Bun.spawn([...argv], {
    cwd: server.modules,
    env: { ...server.env, ...env },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, exitCode] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  expect(exitCode, stderr).toBe(0);
  return stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Outcome);
}

const python = INTERPRETERS.at(-1)?.path ?? "python3";
const inPython = (way: string) =>
  program(
    () => [python, "-B", "-W", "error", join(HERE, "runners/python.py"), way],
    () => ({ PYTHONPATH: SDK_ROOT }),
  );

/** What typed clients cannot say: the type of a time takes nothing else. */
const isUntypedTime = ({ options }: Request) => options?.now === "soon";

/** The client of `svc codegen go`, compiled with its runner. */
async function runInGo(table: readonly Request[]): Promise<readonly Outcome[]> {
  const cwd = tempFolder("svc-go-");
  await server.codegen("go", join(cwd, "features/features.go"));
  writeFileSync(join(cwd, "go.mod"), "module example.com/table\n\ngo 1.22\n");
  cpSync(join(HERE, "runners/table.go"), join(cwd, "table.go"));
  await runProgram(["go", "build", "-o", "table", "."], { cwd, env: { GOTOOLCHAIN: "local", GOPROXY: "off", GOFLAGS: "-mod=mod" } });
  return program(() => [join(cwd, "table")])(table);
}

/** The client of `svc codegen java`, compiled with its runner. */
async function runInJava(table: readonly Request[]): Promise<readonly Outcome[]> {
  const cwd = tempFolder("svc-java-");
  const sources = join(cwd, "com/example/table");
  await server.codegen("java", sources, "--package", "com.example.table");
  const classes = readdirSync(sources).filter((name) => readFileSync(join(sources, name), "utf8").includes(" FEATURES = "));
  cpSync(join(HERE, "runners/Table.java"), join(sources, "Table.java"));
  const files = readdirSync(sources).map((name) => join(sources, name));
  await runProgram(["javac", "-Xlint:all", "-Werror", "--release", "11", "-d", "out", ...files], { cwd });
  const given = fileOf(table);
  return outcomesOf([
    "java",
    "-cp",
    join(cwd, "out"),
    "com.example.table.Table",
    given,
    ...classes.map((name) => name.replace(".java", "")),
  ]);
}

const RUNNERS: readonly Runner[] = [
  { name: "curl", skip: lacksProgram("curl"), run: (table) => runByCurl(table, addressOf(server.platform), tempFolder()) },
  { name: "SvcClient", run: inPython("sync") },
  { name: "AsyncSvcClient", run: inPython("async") },
  { name: "TypeScript on Bun", run: program(() => [process.execPath, join(server.modules, "typescript.mjs")]) },
  {
    name: "TypeScript in Chromium",
    skip: lacksBrowser(),
    // Pages have no secrets.
    run: (table) => runInBrowser(table, addressOf(server.platform), server.modules),
    leavesOut: ({ client }) => client?.client_secret !== undefined,
  },
  {
    name: "Go",
    skip: lacksGo(),
    run: runInGo,
    // A time.Duration is no longer than 292 years.
    leavesOut: (request) => isUntypedTime(request) || request.name.startsWith("a long length of time"),
  },
  { name: "Java", skip: lacksProgram("javac", "java"), run: runInJava, leavesOut: isUntypedTime },
  { name: "TypeScript on Node", skip: lacksProgram("node"), run: program(() => ["node", join(server.modules, "typescript.mjs")]) },
];

beforeAll(async () => {
  server = await startConformanceServer();
  const changed = conformanceProject();
  const resolvers = join(changed, "resolvers.py");
  writeFileSync(resolvers, readFileSync(resolvers, "utf8").replace('f"user-{id}"', 'f"branch-{id}"'));
  await server.apply(changed, "--branch=try");
  cpSync(join(HERE, "runners/typescript.mjs"), join(server.modules, "typescript.mjs"));
}, 600_000);
afterAll(() => server.stop());

test("the table has no name twice, and sixty requests or more", () => {
  const names = requests(0).map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  expect(names.length).toBeGreaterThanOrEqual(60);
});

describe("every request comes to what the oracle says", () => {
  for (const [base, { leavesOut = () => false, name, run, skip = false }] of RUNNERS.entries())
    test.skipIf(skip)(
      name,
      async () => {
        const table = requests(base + 1).filter((request) => !leavesOut(request));
        const outcomes = await run(table);
        expect(outcomes.length).toBe(table.length);
        const wrong = table.flatMap((request, at) => differences(request, outcomes[at] as Outcome));
        expect(wrong).toEqual([]);
      },
      600_000,
    );
});

function addressOf({ env, url }: Platform) {
  return { url, clientId: env.SVC_CLIENT_ID ?? "", clientSecret: env.SVC_CLIENT_SECRET ?? "" };
}

/** What is not as expected, in words. */
function differences({ expect: wanted, name }: Pick<Request, "expect" | "name">, got: Outcome): string[] {
  const found: string[] = [];
  const say = (what: string, expected: unknown, said: unknown) =>
    found.push(`${name}: ${what}: expected ${JSON.stringify(expected)?.slice(0, 300)}, got ${JSON.stringify(said)?.slice(0, 300)}`);
  if (wanted.refused !== got.refused)
    return [`${name}: expected ${wanted.refused ?? "an answer"}, got ${JSON.stringify(got).slice(0, 600)}`];
  if (wanted.outcomes) {
    const { outcomes = [] } = got;
    if (outcomes.length !== wanted.outcomes.length) return [`${name}: expected ${wanted.outcomes.length} outcomes, got ${outcomes.length}`];
    return wanted.outcomes.flatMap((one, at) => differences({ name: `${name}, ${at}`, expect: one }, outcomes[at] as Outcome));
  }
  for (const part of ["values", "columns"] as const) {
    const [expected, said]: [Readonly<Record<string, Value>> | undefined, Readonly<Record<string, unknown>> | undefined] = [
      wanted[part],
      got[part],
    ];
    if (!expected) continue;
    if (Object.keys(expected).join() !== Object.keys(said ?? {}).join()) say("outputs", Object.keys(expected), Object.keys(said ?? {}));
    for (const [feature, value] of Object.entries(expected)) if (!isValue(value, said?.[feature])) say(feature, value, said?.[feature]);
  }
  if (wanted.stored && !Bun.deepEquals(wanted.stored, got.stored)) say("stored", wanted.stored, got.stored);
  if (wanted.hits && !Bun.deepEquals(wanted.hits, got.hits)) say("hits", wanted.hits, got.hits);
  if (wanted.inferred && !Bun.deepEquals(wanted.inferred, got.inferred)) say("inferred outputs", wanted.inferred, got.inferred);
  if (!wanted.refused && wanted.stored === undefined)
    for (const part of ["explained", "traced"] as const)
      if ((wanted[part] ?? false) !== got[part]) say(part, wanted[part] ?? false, got[part]);
  return [...found, ...errorDifferences(name, wanted, got)];
}

function errorDifferences(name: string, { errors = [], refused }: Expected, got: Outcome): string[] {
  const found: string[] = [];
  const said = got.errors ?? [];
  // A refusal may have more to say; a query's errors are those of its outputs.
  if (!refused && said.length !== errors.length) found.push(`${name}: expected ${errors.length} errors, got ${JSON.stringify(said)}`);
  for (const { message, ...facts } of errors) {
    const match = said.find(
      (error) =>
        error.message?.includes(message) && Object.entries(facts).every(([key, value]) => error[key as keyof typeof error] === value),
    );
    if (!match) found.push(`${name}: expected the error ${JSON.stringify({ ...facts, message })}, got ${JSON.stringify(said)}`);
  }
  return found;
}

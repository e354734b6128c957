/** Components of the server, with the compiled binary and the server that it started. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { commandTree } from "../../src/commands/index.ts";
import { Sandbox } from "../harness/sandbox.ts";

const PROJECT = {
  "svc.yaml": "project: demo\nenvironments:\n  default: {}\n",
  "features.py": "from svc.features import features\n\n\n@features\nclass User:\n    id: int\n    double: int\n",
  "resolvers.py":
    "from features import User\nfrom svc import online\n\n\n@online\ndef double(id: User.id) -> User.double:\n    return id * 2\n",
  "metrics.yaml": "storage: 1Gi\ndatabaseReplicas: 2\n",
  "gateway.yaml": "listeners: [{name: http, allowedRoutes: {namespaces: {from: Same}}}]\n",
  "persistence.yaml": "kafka_sasl_mechanism: SCRAM-SHA-512\n",
  "topics.yaml": "topics: [{name: results, partitions: 3}]\n",
  "telemetry.yaml": "otel: {otel_collector_version: v1}\n",
};

const sandbox = new Sandbox();
let project = "";
const svc = (...words: string[]) => sandbox.svc(words, { cwd: project });

beforeAll(async () => {
  await sandbox.startServer();
  project = await sandbox.write(PROJECT);
  await sandbox.json(["apply", "--force", "--await"], { cwd: project });
}, 300_000);
afterAll(() => sandbox[Symbol.asyncDispose]());

/** Words of every example below `infra`, in the order of the tree. */
const EXAMPLES = await (async () => {
  const found: string[] = [];
  type Node = {
    readonly verbs?: Readonly<Record<string, Node>>;
    readonly load?: () => Promise<{ default: { examples?: readonly unknown[] } }>;
  };
  const visit = async (node: Node): Promise<void> => {
    for (const example of (await node.load?.())?.default.examples ?? [])
      found.push(typeof example === "string" ? example : (example as { run: string }).run);
    for (const verb of Object.values(node.verbs ?? {})) await visit(verb);
  };
  await visit((commandTree as unknown as Record<string, Node>).infra as Node);
  return found;
})();

test("every example works as it is printed", async () => {
  expect(EXAMPLES.length).toBeGreaterThan(20);
  const suspends = EXAMPLES.filter((example) => example.startsWith("svc infra suspend"));
  for (const example of [...EXAMPLES.filter((one) => !/ (suspend|resume) /.test(one))]) {
    const words = [...example.split(" ").slice(1), ...(/ apply /.test(example) && !example.includes("--yes") ? ["--yes"] : [])];
    const { exitCode, stderr } = await svc(...words);
    expect([example, exitCode, stderr.includes("Error")]).toEqual([example, 0, false]);
  }
  for (const example of suspends) {
    const resume = example.replace("suspend", "resume");
    expect([example, (await svc(...example.split(" ").slice(1))).exitCode]).toEqual([example, 0]);
    expect(EXAMPLES).toContain(resume);
    expect([resume, (await svc(...resume.split(" ").slice(1))).exitCode]).toEqual([resume, 0]);
  }
}, 300_000);

test("a suspended gateway outlives the server, and a query that asks to be traced in vain is told so", async () => {
  const query = ["query", "--in", "user.id=4", "--out", "user.double"];
  expect((await svc("infra", "suspend", "telemetry")).exitCode).toBe(0);
  const untraced = await svc(...query, "--trace");
  expect([untraced.exitCode, untraced.stderr]).toEqual([0, expect.stringContaining("the query was not traced: telemetry is suspended")]);
  expect((await svc("infra", "resume", "telemetry")).exitCode).toBe(0);
  expect((await svc(...query, "--trace")).stdout).toMatch(/^Trace [0-9a-f]{32}$/m);
  expect((await svc("infra", "suspend", "gateway", "--yes")).exitCode).toBe(0);
  expect((await svc("server", "stop")).exitCode).toBe(0);
  await sandbox.startServer();
  const refused = await svc(...query);
  expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining("svc infra resume gateway")]);
  expect((await svc("infra", "resume", "gateway", "--yes")).exitCode).toBe(0);
  expect((await svc(...query)).exitCode).toBe(0);
}, 300_000);

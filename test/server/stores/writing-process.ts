/**
 * Writes to every store of a data directory, at random, until it is killed: `bun writing-process.ts
 * <folder> <name> <seed>`. Prints a line of JSON for each write once it is acknowledged: what a
 * promise of the metadata store or of `ValueSinks.flush` stood for. `name` is in every id, so that
 * no two runs write the same.
 */

import { writeSync } from "node:fs";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { DeploymentStatus } from "../../../gen/svc/v1/deployment_pb.ts";
import { GraphSchema } from "../../../gen/svc/v1/graph_pb.ts";
import { PrimitiveType } from "../../../gen/svc/v1/value_pb.ts";
import { systemClock } from "../../../src/context/system-clock.ts";
import { holdDataDirectory } from "../../../src/server/boot/data-directory.ts";
import { openParts } from "../../../src/server/boot/parts.ts";
import { buildJob } from "../../../src/server/deployments/builds.ts";
import { createLog } from "../../../src/server/log.ts";
import type { DeploymentRecord } from "../../../src/server/stores/metadata/deployments.ts";

/**
 * An acknowledged write: an observation of `user.text` by its value, or a row of the metadata store
 * by its table and id, with the state it was left in.
 */
export type Acknowledged = { readonly observed: readonly string[] } | { readonly row: string; readonly id: string; readonly state: string };

/** Features: their ids in the stores. */
export const TEXT = 1;
export const ONLINE = 2;

const [folder = "", name = "", seedText = "1"] = process.argv.slice(2);
let seed = Number(seedText) | 0;
/** The next random number below `limit`. */
const random = (limit: number): number => {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) | 0;
  return Math.floor(((seed >>> 0) / 2 ** 32) * limit);
};
const clock = systemClock;
const say = (what: unknown): void => void writeSync(1, `${JSON.stringify(what)}\n`);
const log = createLog({ write: (line) => writeSync(2, `${line}\n`), clock, level: "warning" });
const directory = holdDataDirectory(join(folder, "data"));
const options = { port: 0, dataDir: directory.path, clock, env: {}, log: () => undefined, version: "1.2.3-test" };
const { metadata, ...parts } = await openParts({ directory, options, log });
const credentials = await parts.openTenant();
const [environment] = await metadata.environments();
if (!environment) throw new Error("no environment");
const graph = create(GraphSchema, {
  featureSets: [
    {
      namespace: "user",
      features: [
        { fqn: "user.text", kind: { case: "scalar", value: { dtype: { kind: { case: "primitive", value: PrimitiveType.STRING } } } } },
      ],
    },
  ],
});
const sinks = await parts.sinks();
const sink = sinks.of({
  id: "dpl_test",
  environmentId: environment.id,
  branch: "",
  graph,
  identities: new Map([["user.text", { id: TEXT, internalVersion: 1 }]]),
});
const online = await parts.online();
let last = 0;
const next = (): string => `${name}-${++last}`;

async function observe(): Promise<void> {
  while (true) {
    const values = Array.from({ length: 1 + random(20) }, next);
    const taken = await sink?.take([
      {
        featureId: TEXT,
        resolver: "m.text",
        keys: values.map(() => `i:${random(50)}`),
        values,
        observedAt: values.map(() => random(1_000)),
      },
    ]);
    if (random(3) === 0) await Bun.sleep(random(4));
    await sinks.flush();
    if (taken) say({ observed: values } satisfies Acknowledged);
  }
}

async function change(): Promise<void> {
  const acknowledged = (row: string, id: string, state: string) => say({ row, id, state } satisfies Acknowledged);
  const now = 1;
  const NEVER = 1e15;
  while (true) {
    const id = next();
    const kind = random(3);
    if (kind === 0) {
      await metadata.createUpload({ id, sha256: "a".repeat(64), sizeBytes: 1, createdAt: now, expiresAt: NEVER });
      acknowledged("upload", id, "");
    } else if (kind === 1) {
      const secretHash = new Uint8Array(32);
      const about = { deviceName: "d", address: "", userCode: "", permissions: [], personId: "" };
      await metadata.createLoginSession({ ...about, id, secretHash, state: "pending", createdAt: now, expiresAt: NEVER });
      acknowledged("login_session", id, "pending");
      await metadata.decideLoginSession(id, { state: "confirmed", by: "", permissions: ["read"], personId: "" }, now);
      acknowledged("login_session", id, "confirmed");
      const client = { id: `c-${id}`, teamId: environment?.teamId ?? "", name: "d", secretHash, permissions: ["read"], createdAt: now };
      await metadata.takeLoginSession(id, client, now);
      acknowledged("login_session", id, "taken");
      acknowledged("client", client.id, "");
    } else {
      const deployment: DeploymentRecord = {
        id,
        environmentId: environment?.id ?? "",
        branch: "",
        status: DeploymentStatus.QUEUED,
        promoted: false,
        noPromote: false,
        reset: false,
        blueGreen: false,
        approved: false,
        profiling: false,
        projectName: "p",
        runtime: "",
        requirements: "",
        venvs: [],
        layers: [],
        tags: ["a"],
        description: "",
        metadata: {},
        ciJobUrl: "",
        repositoryUrl: "",
        sourceSha256: "",
        createdAt: now,
        updatedAt: now,
        error: "",
        diagnostics: [],
      };
      const build = buildJob(`job-${id}`, deployment);
      await metadata.createDeployment(deployment, random(2) ? build : { ...build, kind: name });
      acknowledged("deployment", id, String(DeploymentStatus.QUEUED));
      acknowledged("job", build.id, "queued");
      await metadata.updateDeployment(id, { status: DeploymentStatus.FAILED }, now);
      acknowledged("deployment", id, String(DeploymentStatus.FAILED));
      for (const { lease } of await metadata.jobs.claim({ node: name, kinds: [name], limit: 1, leaseMs: NEVER })) {
        acknowledged("job", lease.id, "running");
        if (await metadata.jobs.succeed(lease)) acknowledged("job", lease.id, "succeeded");
      }
    }
    if (random(4) === 0) await Bun.sleep(random(3));
  }
}

async function serve(): Promise<void> {
  while (true) {
    const writes = Array.from({ length: 1 + random(30) }, () => {
      const observedAt = random(1_000_000);
      return { namespace: "user", key: `i:${random(20)}`, featureId: ONLINE, value: observedAt, observedAt, resolver: "m.online" };
    });
    online.put("main", { values: writes, rows: [] });
    await Bun.sleep(1 + random(3));
  }
}

say({ ready: credentials ?? null });
await Promise.all([observe(), observe(), observe(), change(), change(), serve()]);

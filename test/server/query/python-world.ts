/**
 * A project of Python text on a real analyzer, a real worker and the real engine; calls of the
 * worker are counted.
 */

import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Graph } from "../../../gen/svc/v1/graph_pb.ts";
import { createToolchain } from "../../../src/python/create-toolchain.ts";
import { createLog } from "../../../src/server/log.ts";
import type { PythonPool } from "../../../src/server/python/pool.ts";
import { createWorkerPool } from "../../../src/server/python/worker-pool.ts";
import type { Answer } from "../../../src/server/query/answer/answer.ts";
import type { BulkAnswer } from "../../../src/server/query/bulk.ts";
import { createEngine, type OnlineEngine } from "../../../src/server/query/create-engine.ts";
import type { LiveDeployment } from "../../../src/server/query/live-deployment.ts";
import { bulkColumn, type QueryRequest } from "../../../src/server/query/request/request.ts";
import { createSqlSources } from "../../../src/server/sql/create-sources.ts";
import { openSqliteOnlineStore } from "../../../src/server/stores/online/sqlite.ts";
import { createVectors, type Vectors } from "../../../src/server/vectors/create-vectors.ts";
import { sharedHome } from "../../harness/first-use.ts";
import { anyPython } from "../python/project.ts";
import { featureIdsOf } from "./graphs.ts";
import { ask } from "./worlds.ts";

const clock = { now: () => Date.parse("2024-05-01T12:00:00Z"), sleep: (ms: number) => Bun.sleep(ms) };

/** The world; close it when done. */
export class PythonWorld {
  /** Rows that the worker was called for since they were last looked at. */
  #rows = 0;

  private constructor(
    readonly graph: Graph,
    readonly engine: OnlineEngine,
    readonly deployment: LiveDeployment,
    readonly vectors: Vectors,
    readonly folder: string,
  ) {}

  /**
   * Starts a world. `databases` makes those of its sources, in the project's folder, and gives the
   * environment of the sources. Fails when the project has errors.
   */
  static async start(
    files: Readonly<Record<string, string>>,
    databases: (root: string) => Readonly<Record<string, string>> = () => ({}),
  ): Promise<PythonWorld> {
    const folder = await mkdtemp(join(tmpdir(), "svc-python-"));
    const root = join(folder, "project");
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(root, path)), { recursive: true });
      await Bun.write(join(root, path), text);
    }
    const env = databases(root);
    const chain = createToolchain({ home: sharedHome(), env: process.env });
    const { graph } = await chain.analyze({ root, files: Object.keys(files) });
    const errors = graph.diagnostics.filter((finding) => finding.severity === 1);
    if (errors.length > 0) throw new Error(errors.map((finding) => finding.message).join("\n"));
    const pool = await createWorkerPool({
      python: (await anyPython()) as string,
      sdkRoot: await chain.sdkRoot(),
      sourceRoot: root,
      env: { PATH: process.env.PATH },
      size: 1,
      socketDir: join(folder, "sockets"),
      onLog: () => {},
      clock,
      deploymentId: "dpl_1",
      environmentName: "default",
      defaultTimeoutMs: 120_000,
      resolverFqns: graph.resolvers.filter((resolver) => resolver.body.case === "python").map((resolver) => resolver.fqn),
    });
    const counted: PythonPool = {
      call: (call) => {
        world.#rows += call.rows;
        return pool.call(call);
      },
      health: () => pool.health(),
      drain: (graceMs) => pool.drain(graceMs),
    };
    const vectors = createVectors(openSqliteOnlineStore(":memory:", { now: () => clock.now() }), { now: () => clock.now() });
    const deployment: LiveDeployment = {
      id: "dpl_1",
      environmentId: "env_1",
      environmentName: "default",
      scope: "main",
      graph,
      featureIds: featureIdsOf(graph),
      pool: counted,
      sources: createSqlSources({ declared: graph.sources, env }),
      online: vectors.online,
      vectors,
    };
    const engine = createEngine({ clock, log: createLog({ write: () => {}, clock, level: "error" }) });
    const world = new PythonWorld(graph, engine, deployment, vectors, folder);
    return world;
  }

  /** Rows that the worker was called for since the last time. */
  takeCalledRows(): number {
    const rows = this.#rows;
    this.#rows = 0;
    return rows;
  }

  async ask(inputs: Readonly<Record<string, unknown>>, outputs: readonly string[], more: Partial<QueryRequest> = {}): Promise<Answer> {
    return this.engine.answer(this.deployment, ask(inputs, outputs, more), clock.now());
  }

  async askBulk(
    columns: Readonly<Record<string, readonly unknown[]>>,
    outputs: readonly string[],
    more: Partial<QueryRequest> = {},
  ): Promise<BulkAnswer> {
    const bulk = { request: ask({}, outputs, more), columns: Object.entries(columns).map(([name, values]) => bulkColumn(name, values)) };
    return this.engine.answerBulk(this.deployment, bulk, clock.now());
  }

  async close(): Promise<void> {
    await this.deployment.pool.drain(0);
    await this.deployment.sources.close();
    await this.vectors.close();
    await this.vectors.online.close();
    await rm(this.folder, { recursive: true, force: true });
  }
}

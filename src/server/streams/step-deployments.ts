/** Deployments as the steps of streams need them: what computes, stores and folds. */

import { durationToMs } from "../../domain/proto-time.ts";
import type { DeploymentTarget } from "../access/scope.ts";
import { createFolding } from "../aggregates/folding.ts";
import { onlineScope } from "../deployments/live-scopes.ts";
import type { Lease } from "../deployments/running.ts";
import type { PythonPool } from "../python/pool.ts";
import type { NamespaceInfo } from "../query/graph/index-types.ts";
import type { RowSinks } from "../sinks/row-sinks.ts";
import type { SeriesStore } from "../stores/metadata/series.ts";
import { primaryKeyOf } from "../stores/online/store.ts";
import { identifySeries } from "../tiles/series-ids.ts";
import type { TypedRows } from "../value-uploads/typed-rows.ts";
import type { DeploymentPlace, VersionedDeployment } from "../value-uploads/upload-deployment.ts";
import { type WriterOptions, writeRows } from "../value-uploads/value-writer.ts";
import type { LiveStream } from "./live-streams.ts";
import { MessageComputer } from "./messages.ts";
import type { KeptWindows, StepDeployment } from "./partition-reader.ts";
import type { StatementEngine } from "./statement-body.ts";

/** Milliseconds that messages may be late where a stream does not say. */
const LATENESS_MS = 3_600_000;

/** What steps need of deployments. */
export interface StepDeploymentsParts {
  readonly deployments: { acquire(target: DeploymentTarget): Lease | Promise<Lease> };
  readonly deploymentOf: (place: DeploymentPlace) => Promise<VersionedDeployment>;
  readonly writer: WriterOptions;
  readonly tables: () => Promise<StatementEngine>;
  /** Ids of the series that rows are folded into. */
  readonly series: SeriesStore;
}

/** Takes a stream's deployment for a step. Rejects while it cannot run. */
export type StepDeployments = (stream: LiveStream) => Promise<StepDeployment>;

/** Makes them; computers and windows are kept as long as the versions of features stay. */
export function createStepDeployments({ deployments, deploymentOf, series, tables, writer }: StepDeploymentsParts): StepDeployments {
  const kept = new WeakMap<
    VersionedDeployment,
    Map<string, { readonly computer: MessageComputer; readonly folding: Promise<KeptWindows> }>
  >();

  const foldingOf = async (environmentId: string, { graph }: VersionedDeployment): Promise<KeptWindows> =>
    createFolding(graph, await identifySeries(series, environmentId, graph), () => writer.deleted.rowsOf(environmentId));

  return async ({ deploymentId, environment, resolver }) => {
    const place = { deploymentId, environmentId: environment.id, environmentName: environment.name, branch: "" };
    const versioned = await deploymentOf(place);
    const own = kept.get(versioned) ?? new Map();
    kept.set(versioned, own);
    const made = own.get(resolver.fqn) ?? {
      computer: new MessageComputer(resolver, versioned, tables),
      folding: foldingOf(environment.id, versioned),
    };
    own.set(resolver.fqn, made);
    made.folding.catch(() => own.delete(resolver.fqn));
    const { computer } = made;
    const folding: KeptWindows = await made.folding;
    const lease =
      computer.needsPython || versioned.graph.sinkResolvers.length > 0
        ? await deployments.acquire({ environment, branch: "", deploymentId })
        : undefined;
    const origin = { scope: onlineScope(environment.id, ""), deploymentId, op: "stream", resolver: resolver.fqn };
    return {
      ...{ id: deploymentId, computer, folding },
      latenessMs: resolver.lateness ? durationToMs(resolver.lateness) : LATENESS_MS,
      pool: lease?.deployment.pool ?? NO_POOL,
      async store({ rows }) {
        await writeRows(writer, origin, [rows]);
        if (lease?.deployment.sinks) tellRows(lease.deployment.sinks, computer.namespace, rows);
        return (await deploymentOf(place)).versions === versioned.versions;
      },
      release: () => lease?.release(),
    };
  };
}

/** Gives the sinks of a class the rows of messages; what a stream does not give is null. */
function tellRows(sinks: RowSinks, { name, primaryKey }: NamespaceInfo, { keys, columns }: TypedRows): void {
  const given = new Map(columns.map(({ feature, values }) => [feature.fqn, values]));
  for (const sink of sinks.of(name)) {
    if (!sink.takesTags([]) || !sink.columns.some((column) => given.has(column) && column !== primaryKey?.fqn)) continue;
    for (const [row, key] of keys.entries())
      sink.add(sink.columns.map((column) => (column === primaryKey?.fqn ? primaryKeyOf(key) : (given.get(column)?.[row] ?? null))));
  }
}

const NO_POOL: PythonPool = {
  call: () => Promise.reject(new Error("the stream runs no Python")),
  health: () => ({ workers: 0, degraded: false }),
  drain: () => Promise.resolve(),
};

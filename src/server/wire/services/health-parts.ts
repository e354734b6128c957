/** The parts of a server that are probed for their health, each by a real read or write. */

import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { DataTypeSchema, PrimitiveType } from "../../../../gen/svc/v1/value_pb.ts";
import { formatDuration } from "../../../domain/duration.ts";
import { GONE_AFTER_MS } from "../../nodes/presence.ts";
import { libraryFiles } from "../../tables/duckdb/library-files.ts";
import { TableError } from "../../tables/engine.ts";
import type { Platform } from "../platform.ts";

const PROBE_DEADLINE_MS = 5_000;
/** Processes of their own have to start first, and may unpack a library. */
const PROCESS_DEADLINE_MS = 20_000;
/** How long a part of processes that works counts as working. */
const PROCESS_KEPT_MS = 60_000;
/** How long a due schedule may wait for a scheduler. */
const MOST_DELAY_MS = 60_000;
/** Schedules that are looked at, longest due first. */
const FIRST_DUE = 10;
/** As the scheduler counts it, see `ScheduleStore.due`. */
const SET_BACK_MS = 60_000;

/** A part. */
export interface Part {
  readonly name: string;
  /**
   * Resolves with a remark, possibly empty; rejects when the part fails, and with NotInstalled when
   * this program lacks it. Absent when the part is never installed; `absent` is then the remark.
   */
  readonly probe?: () => Promise<string>;
  readonly absent?: string;
  /** Milliseconds after which the part counts as failing. */
  readonly deadlineMs: number;
}

/** The error of a part that this program was built without. */
export class NotInstalled extends Error {}

/** The parts in the order in which they are told. */
export function partsOf(platform: Platform): readonly Part[] {
  const part = (name: string, probe: () => Promise<string>, deadlineMs = PROBE_DEADLINE_MS): Part => ({ name, probe, deadlineMs });
  return [
    part("Metadata DB", async () => {
      await platform.metadata.probe();
      return "";
    }),
    part("gRPC Client Query", () => probeQueries(platform)),
    part("Logging Client", async () => {
      const [telemetry, logs] = await Promise.all([platform.telemetry(), platform.logs()]);
      await Promise.all([telemetry.probe(), logs.probe()]);
      const dropped = await droppedRecords(platform);
      return dropped > 0 ? `${dropped} records were dropped since the start` : "";
    }),
    part("Metrics DB", async () => {
      await (await platform.metricStore()).probe();
      return "";
    }),
    {
      name: "Push Registry",
      absent: "this installation has no container registry: code runs from its source bundle",
      deadlineMs: PROBE_DEADLINE_MS,
    },
    part("Source Bucket", async () => {
      await platform.objects.probe();
      return "";
    }),
    part("Online Store", async () => {
      await (await platform.online()).probe();
      return "";
    }),
    part("Tile Store", async () => {
      await (await platform.tiles()).probe();
      return "";
    }),
    part(
      "Offline Store",
      remembered(platform, () => probeHistory(platform)),
      PROCESS_DEADLINE_MS,
    ),
    part(
      "Table Engine",
      remembered(platform, () => probeTables(platform)),
      PROCESS_DEADLINE_MS,
    ),
    part("Python Workers", () => probeWorkers(platform)),
    part("Topics", async () => {
      await (await platform.topicStore()).probe();
      return "";
    }),
    part("Streams", async () => {
      const [stopped] = await (await platform.streams()).stopped();
      if (stopped) throw new Error(`${stopped.name} in environment '${stopped.environment}' was stopped: ${stopped.reason}`);
      return "";
    }),
    part("Scheduler", () => probeScheduler(platform)),
    part("Webhook Outbox", async () => {
      await (await platform.webhooks()).deliveries.list({ environmentId: "", limit: 1 });
      return "";
    }),
    part("Node Lease", () => probeLease(platform)),
  ];
}

/**
 * A probe that is made once for all who ask while it runs, and again a minute after it succeeded,
 * or at once after it failed: pages ask every few seconds.
 */
function remembered({ clock }: Platform, probe: () => Promise<string>): () => Promise<string> {
  let kept: { readonly at: number; readonly outcome: Promise<string> } | undefined;
  return () => {
    if (kept && clock.now() - kept.at < PROCESS_KEPT_MS) return kept.outcome;
    const mine = { at: clock.now(), outcome: probe() };
    mine.outcome.catch(() => {
      if (kept === mine) kept = undefined;
    });
    kept = mine;
    return mine.outcome;
  };
}

async function probeQueries(platform: Platform): Promise<string> {
  const init = { signal: AbortSignal.timeout(PROBE_DEADLINE_MS), verbose: false, proxy: false } as RequestInit;
  const response = await fetch(`${platform.url}/health`, init);
  if (!response.ok) throw new Error(`the server's own address ${platform.url} answers ${response.status}`);
  await (await platform.online()).probe();
  const { running } = await platform.deployments();
  const degraded = running.list().find(({ pool }) => pool.health().degraded);
  if (degraded) throw new Error(`deployment ${degraded.id} is degraded: ${degraded.pool.health().lastFailure ?? "its workers keep dying"}`);
  const count = running.list().length;
  return count === 1 ? "1 deployment runs" : `${count} deployments run`;
}

/** Asks the history, in the process that has it. */
async function probeHistory({ offline }: Platform): Promise<string> {
  await (await offline()).probe();
  return "";
}

/** Writes a table of one row, and reads it back. */
async function probeTables({ dataDir, tables }: Platform): Promise<string> {
  const folder = join(dataDir, "tmp");
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, `probe-${crypto.randomUUID()}.parquet`);
  try {
    const engine = await tables();
    const dtype = create(DataTypeSchema, { kind: { case: "primitive", value: PrimitiveType.INT64 } });
    const writer = await engine.write(path, [{ name: "probe", dtype }]);
    await writer.append({ rows: 1, columns: [[1n]] });
    await writer.finish();
    const { rows } = await engine.describe(path);
    if (rows !== 1) throw new Error(`a table of one row was read as one of ${rows}`);
    return "";
  } catch (error) {
    if (error instanceof TableError && error.code === "unavailable" && libraryFiles().kind === "absent")
      throw new NotInstalled(error.message);
    throw error;
  } finally {
    await rm(path, { force: true });
  }
}

/** Workers that are alive, in the deployments that run. */
async function probeWorkers(platform: Platform): Promise<string> {
  const { running } = await platform.deployments();
  const pools = running.list().map(({ id, pool }) => ({ id, ...pool.health() }));
  const dying = pools.find(({ degraded }) => degraded);
  if (dying) throw new Error(`those of deployment ${dying.id} keep dying: ${dying.lastFailure ?? "without a reason"}`);
  const workers = pools.reduce((sum, pool) => sum + pool.workers, 0);
  return workers === 1 ? "1 worker" : `${workers} workers`;
}

/** Whether schedules become jobs in time. */
async function probeScheduler({ metadata }: Platform): Promise<string> {
  const { now, schedules } = await metadata.schedules.due(FIRST_DUE, SET_BACK_MS);
  const late = schedules.find(({ nextAt }) => nextAt !== undefined && now - nextAt > MOST_DELAY_MS);
  if (late?.nextAt !== undefined) {
    const delay = formatDuration(Math.round((now - late.nextAt) / 1000) * 1000);
    throw new Error(`the schedule ${late.kind} has been due for ${delay}, and no node took it`);
  }
  return "";
}

/** Whether this node has told the others in time that it runs. */
async function probeLease({ metadata, node }: Platform): Promise<string> {
  const nodes = await metadata.nodes.list(GONE_AFTER_MS);
  if (!nodes.some(({ id }) => id === node())) throw new Error(`this node (${node()}) is not among the ${nodes.length} that run`);
  return nodes.length === 1 ? "1 node runs" : `${nodes.length} nodes run`;
}

/**
 * Records that were dropped since the start; 0 while their stores cannot be opened, which is a
 * part's failure.
 */
export async function droppedRecords({ logs, telemetry }: Platform): Promise<number> {
  const stores = await Promise.allSettled([telemetry(), logs()]);
  return stores.reduce((sum, store) => sum + (store.status === "fulfilled" ? store.value.dropped() : 0), 0);
}

/**
 * HealthService: callers with the permission to read get a probe of every part, which really reads
 * or writes; parts that this installation does not have are listed as such.
 */

import { create } from "@bufbuild/protobuf";
import type { ConnectRouter } from "@connectrpc/connect";
import { CheckHealthResponseSchema, HealthCheckSchema, HealthCheckStatus, HealthService } from "../../../../gen/svc/v1/health_pb.ts";
import { Permission } from "../../../../gen/svc/v1/options_pb.ts";
import { errorText } from "../../../domain/error-text.ts";
import { authorize, hasCredentials } from "../../access/authorize.ts";
import type { Platform } from "../platform.ts";

const PROBE_DEADLINE_MS = 5_000;

interface Part {
  readonly name: string;
  /**
   * Resolves with a remark, possibly empty; rejects when the part fails. Absent when the part is
   * not installed; `absent` is then the remark.
   */
  readonly probe?: () => Promise<string>;
  readonly absent?: string;
}

/** Adds the service to a router. */
export function register(router: ConnectRouter, platform: Platform): void {
  const parts = partsOf(platform);
  router.service(HealthService, {
    async checkHealth(_, { requestHeader }) {
      const { version } = platform;
      if (!hasCredentials(requestHeader)) return create(CheckHealthResponseSchema, { status: HealthCheckStatus.OK, version });
      await authorize(platform.callers, requestHeader, Permission.READ);
      const checks = await Promise.all(parts.map(check));
      const fails = checks.some(({ status }) => status === HealthCheckStatus.FAILING);
      const status = fails ? HealthCheckStatus.FAILING : HealthCheckStatus.OK;
      return create(CheckHealthResponseSchema, { checks, status, version, droppedRecords: BigInt(await droppedRecords(platform)) });
    },
  });
}

function partsOf(platform: Platform): readonly Part[] {
  return [
    {
      name: "Metadata DB",
      async probe() {
        await platform.metadata.probe();
        return "";
      },
    },
    { name: "gRPC Client Query", probe: () => probeQueries(platform) },
    {
      name: "Logging Client",
      async probe() {
        const [telemetry, logs] = await Promise.all([platform.telemetry(), platform.logs()]);
        await Promise.all([telemetry.probe(), logs.probe()]);
        const dropped = await droppedRecords(platform);
        return dropped > 0 ? `${dropped} records were dropped since the start` : "";
      },
    },
    {
      name: "Metrics DB",
      async probe() {
        await (await platform.metricStore()).probe();
        return "";
      },
    },
    { name: "Push Registry", absent: "this installation has no container registry: code runs from its source bundle" },
    {
      name: "Source Bucket",
      async probe() {
        await platform.objects.probe();
        return "";
      },
    },
  ];
}

/**
 * Records that were dropped since the start; 0 while their stores cannot be opened, which is a
 * part's failure.
 */
async function droppedRecords({ logs, telemetry }: Platform): Promise<number> {
  const stores = await Promise.allSettled([telemetry(), logs()]);
  return stores.reduce((sum, store) => sum + (store.status === "fulfilled" ? store.value.dropped() : 0), 0);
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

async function check({ name, probe, absent }: Part) {
  if (!probe) return create(HealthCheckSchema, { name, status: HealthCheckStatus.NOT_CONFIGURED, message: absent ?? "" });
  const began = performance.now();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${PROBE_DEADLINE_MS / 1000} s`)), PROBE_DEADLINE_MS);
  });
  const outcome = await Promise.race([probe(), late]).then(
    (message) => ({ status: HealthCheckStatus.OK, message }),
    (error: unknown) => ({ status: HealthCheckStatus.FAILING, message: errorText(error) }),
  );
  clearTimeout(timer);
  return create(HealthCheckSchema, { name, ...outcome, latencyMs: performance.now() - began });
}

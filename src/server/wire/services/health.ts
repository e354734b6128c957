/**
 * HealthService: callers with the permission to read get a probe of every part, which really reads
 * or writes; parts that this installation does not have are listed as such.
 */

import { create } from "@bufbuild/protobuf";
import type { ConnectRouter } from "@connectrpc/connect";
import {
  CheckHealthResponseSchema,
  GetVersionResponseSchema,
  HealthCheckSchema,
  HealthCheckStatus,
  HealthService,
} from "../../../../gen/svc/v1/health_pb.ts";
import { Permission } from "../../../../gen/svc/v1/options_pb.ts";
import { buildInfo } from "../../../build-info.ts";
import { errorText } from "../../../domain/error-text.ts";
import { platformName } from "../../../domain/release/target.ts";
import { authorize, hasCredentials } from "../../access/authorize.ts";
import type { Platform } from "../platform.ts";
import { droppedRecords, NotInstalled, type Part, partsOf } from "./health-parts.ts";

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

    async getVersion() {
      const { packages } = await import("../../../baked-packages.ts");
      return create(GetVersionResponseSchema, {
        version: platform.version,
        platform: buildInfo.target || platformName(process.platform, process.arch),
        hash: buildInfo.commit,
        buildTime: buildInfo.builtAt,
        packages: packages().map(({ license, name, version }) => ({ license, name, version })),
      });
    },
  });
}

async function check({ name, probe, absent, deadlineMs }: Part) {
  if (!probe) return create(HealthCheckSchema, { name, status: HealthCheckStatus.NOT_CONFIGURED, message: absent ?? "" });
  const began = performance.now();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${deadlineMs / 1000} s`)), deadlineMs);
  });
  const outcome = await Promise.race([probe(), late]).then(
    (message) => ({ status: HealthCheckStatus.OK, message }),
    (error: unknown) => ({
      status: error instanceof NotInstalled ? HealthCheckStatus.NOT_CONFIGURED : HealthCheckStatus.FAILING,
      message: errorText(error),
    }),
  );
  clearTimeout(timer);
  return create(HealthCheckSchema, { name, ...outcome, latencyMs: performance.now() - began });
}

/**
 * gRPC's health service (grpc.health.v1), for probes and balancers: like `/health/ready` it tells
 * anyone whether calls should be sent to this node, and nothing else. All services are served
 * alike.
 */

import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, type ConnectRouter } from "@connectrpc/connect";
import {
  Health,
  type HealthCheckResponse,
  HealthCheckResponseSchema,
  HealthListResponseSchema,
  HealthCheckResponse_ServingStatus as Status,
} from "../../../../gen/grpc/health/v1/health_pb.ts";
import { SERVICES } from "../../../contract/services.ts";
import type { Platform } from "../platform.ts";

/** Milliseconds between two looks of those who watch: stores are probed no more often than that. */
const LOOK_MS = 1_000;
/** Most callers who watch, since nobody knows who they are. */
const MOST_WATCHING = 256;
/** Names of services that may be asked for; "" = the server. */
const NAMES: ReadonlySet<string> = new Set(["", Health.typeName, ...Object.values(SERVICES).map(({ typeName }) => typeName)]);

/** What the service needs. */
type Parts = Pick<Platform, "clock" | "components" | "readiness" | "stopping">;

/** Adds the service to a router. */
export function register(router: ConnectRouter, platform: Parts): void {
  const { clock, components, readiness, stopping } = platform;
  const overall = async (): Promise<Status> => {
    const { state } = await readiness.report();
    return state === "ready" && !components.isSuspended("gateway") ? Status.SERVING : Status.NOT_SERVING;
  };
  const statusOf = async (name: string): Promise<Status> => (NAMES.has(name) ? overall() : Status.SERVICE_UNKNOWN);
  let watching = 0;

  router.service(Health, {
    async check({ service }) {
      const status = await statusOf(service);
      if (status === Status.SERVICE_UNKNOWN) throw new ConnectError("There is no service of this name.", Code.NotFound);
      return create(HealthCheckResponseSchema, { status });
    },
    async list() {
      const status = await overall();
      const names = ["", Health.typeName, "svc.v1.QueryService"];
      return create(HealthListResponseSchema, { statuses: Object.fromEntries(names.map((name) => [name, { status }])) });
    },
    async *watch({ service }, { signal }): AsyncGenerator<HealthCheckResponse> {
      if (watching >= MOST_WATCHING)
        throw new ConnectError(`${MOST_WATCHING} callers watch already, which is the most. Ask with Check.`, Code.ResourceExhausted);
      watching++;
      const ended = AbortSignal.any([signal, stopping]);
      try {
        for (let told: Status | undefined; !signal.aborted; ) {
          const status = await statusOf(service);
          if (status !== told) yield create(HealthCheckResponseSchema, { status });
          told = status;
          if (stopping.aborted) return;
          await clock.sleep(LOOK_MS, ended).catch(() => undefined);
        }
      } finally {
        watching--;
      }
    },
  });
}

/**
 * The gateway of a server: its routes are the containers and scaling groups of this node, and those
 * of others, whose gateways it asks.
 */

import type { ContainerCapabilities } from "../containers/create-containers.ts";
import { createConnections } from "../http1/connections.ts";
import type { ScalingGroups } from "../scaling-groups/scaling-groups.ts";
import { tallyRefusal } from "../wire/call-audit.ts";
import type { Platform } from "../wire/platform.ts";
import { type GatewayParts, PATIENCE } from "./exchange.ts";
import { createGatewayMeter } from "./gateway-meter.ts";
import { createHops } from "./hops.ts";
import { clientOf } from "./passed-fields.ts";
import { createRoutes } from "./routes.ts";

/** Makes what requests of the gateway need. */
export async function createGatewayParts(
  options: Pick<
    Platform,
    | "audit"
    | "callers"
    | "clients"
    | "clock"
    | "components"
    | "dataDir"
    | "environments"
    | "keys"
    | "log"
    | "logRecorder"
    | "metadata"
    | "metrics"
    | "node"
  > & {
    readonly containers: () => Promise<ContainerCapabilities>;
    readonly scalingGroups: () => Promise<ScalingGroups>;
    /** See `AdmissionParts`. */
    readonly names: ReadonlySet<string>;
  },
): Promise<GatewayParts> {
  const { callers, clock, components, environments, keys, log, metadata, names } = options;
  const node = options.node();
  const { containers } = await options.containers();
  const groups = await options.scalingGroups();
  return {
    ...{ callers, environments, names, log },
    hops: createHops({ keys: keys.hops, node, clock }),
    meter: createGatewayMeter(options),
    async refused({ code, fields, route, sender }) {
      const headers = new Headers(
        fields
          .filter(([name]) => name === "authorization" || name === "traceparent")
          .map(([name, value]): [string, string] => [name, value]),
      );
      const address = clientOf(sender, fields);
      await tallyRefusal(options, { endpoint: `gateway/${route.label}`, headers, address, environmentId: route.environmentId }, code);
    },
    routes: createRoutes({
      ...{ containers, groups, node, nodes: metadata.nodes },
      isSuspended: () => components.isSuspended("gateway"),
    }),
    connections: createConnections(),
    patience: PATIENCE,
  };
}

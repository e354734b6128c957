/** The gateway of a server: its routes are the containers and scaling groups of this node. */

import type { ContainerCapabilities } from "../containers/create-containers.ts";
import { createConnections } from "../http1/connections.ts";
import type { ScalingGroups } from "../scaling-groups/scaling-groups.ts";
import type { Platform } from "../wire/platform.ts";
import { type GatewayParts, PATIENCE } from "./exchange.ts";
import { createRoutes } from "./routes.ts";

/** Makes what requests of the gateway need. */
export async function createGatewayParts(
  options: Pick<Platform, "callers" | "environments" | "components" | "log"> & {
    readonly containers: () => Promise<ContainerCapabilities>;
    readonly scalingGroups: () => Promise<ScalingGroups>;
    /** See `AdmissionParts`. */
    readonly names: ReadonlySet<string>;
  },
): Promise<GatewayParts> {
  const { callers, components, environments, log, names } = options;
  const { containers } = await options.containers();
  const groups = await options.scalingGroups();
  return {
    ...{ callers, environments, names, log },
    routes: createRoutes({ containers, groups, isSuspended: () => components.isSuspended("gateway") }),
    connections: createConnections(),
    patience: PATIENCE,
  };
}

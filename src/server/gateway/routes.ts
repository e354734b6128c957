/** Routes to the containers and scaling groups of this node. */

import type { ContainerSpec } from "../../../gen/svc/v1/container_pb.ts";
import { hasEnded, type StoredContainer } from "../containers/container-records.ts";
import type { Containers } from "../containers/containers.ts";
import { Failure } from "../failure.ts";
import { type RouteKind, routeLabel } from "../route-label.ts";
import { type Group, specOf } from "../scaling-groups/group-records.ts";
import type { RoutedGroup, ScalingGroups } from "../scaling-groups/scaling-groups.ts";
import { gatewaySuspended } from "../wire/http/ingress.ts";
import { Refused } from "./admission.ts";
import type { Route, Routes } from "./route.ts";

/** Milliseconds between two readings of the containers, for labels that are not known. */
const REREAD_MS = 100;

/** Makes the routes. */
export function createRoutes(parts: {
  readonly containers: Pick<Containers, "list" | "address">;
  readonly groups: Pick<ScalingGroups, "elsewhere" | "routed">;
  /** Id of this node. */
  readonly node: string;
  /** Whether nothing is answered. */
  readonly isSuspended: () => boolean;
}): Routes {
  const { containers, groups, isSuspended, node } = parts;
  const ofGroups = new WeakMap<Group, Route>();
  let ofContainers: ReadonlyMap<string, { readonly id: string; readonly route: Route }> = new Map();
  /** What other nodes answer for, by label and id. */
  let ofOthers: ReadonlyMap<string, { readonly what: string; readonly node: string }> = new Map();
  let readAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;

  const read = async (): Promise<void> => {
    await Bun.sleep(Math.max(0, readAt + REREAD_MS - performance.now()));
    readAt = performance.now();
    const routed = (await containers.list()).filter((one) => one.spec.port !== 0 && one.group === "" && !hasEnded(one));
    ofOthers = new Map([
      ...routed.filter((one) => one.node !== node).flatMap((one) => placesOf(containerRoute(one, containers), one.id, one.node)),
      ...(await groups.elsewhere()).flatMap((one) => {
        const route = { ...routeFacts("group", one.scope, one.name, specOf(one.content)), what: `scaling group '${one.name}'` };
        return placesOf(route, one.id, one.content.node);
      }),
    ]);
    ofContainers = new Map(
      routed
        .filter((one) => one.node === node)
        .flatMap((one) => {
          const entry = { id: one.id, route: containerRoute(one, containers) };
          return [[entry.route.label, entry] as const, [one.id, entry] as const];
        }),
    );
  };
  const groupRoute = ({ group, lease }: RoutedGroup): Route | undefined => {
    const known = ofGroups.get(group);
    if (known) return known;
    const spec = specOf(group.content);
    if (spec.port === 0) return undefined;
    const route = { ...routeFacts("group", group.scope, group.name, spec), what: `scaling group '${group.name}'`, lease };
    ofGroups.set(group, route);
    return route;
  };

  return {
    async find(labelOrId) {
      if (isSuspended()) throw gatewaySuspended();
      const group = groups.routed(labelOrId);
      if (group) return groupRoute(group);
      const known = ofContainers.get(labelOrId);
      if (known && containers.address(known.id)) return known.route;
      reading ??= read().finally(() => {
        reading = undefined;
      });
      await reading;
      const there = ofContainers.get(labelOrId);
      if (there) return there.route;
      const other = ofOthers.get(labelOrId);
      if (other)
        throw new Refused(
          421,
          `The ${other.what} is on another node, ${other.node}, whose gateway leads to it.`,
          "`svc clusters describe` shows the nodes that run; what balances load before them sends a route to its own node.",
        );
      return undefined;
    },
  };
}

function routeFacts(kind: RouteKind, environmentId: string, name: string, spec: ContainerSpec): Omit<Route, "what" | "lease"> {
  const { authenticated, grpc, private: isPrivate } = spec;
  return {
    label: routeLabel(kind, environmentId, name),
    kind,
    name,
    environmentId,
    isGrpc: grpc,
    isPrivate,
    isAuthenticated: authenticated,
  };
}

function placesOf({ label, what }: Pick<Route, "label" | "what">, id: string, node: string) {
  return [label, id].map((key) => [key, { what, node }] as const);
}

function containerRoute({ environmentId, id, name, spec }: StoredContainer, containers: Pick<Containers, "address">): Route {
  return {
    ...routeFacts("container", environmentId, name, spec),
    what: `container '${name}'`,
    lease: async () => {
      const address = containers.address(id);
      if (address) return { address, replica: name, release: () => undefined };
      throw new Failure("unavailable", `The container '${name}' does not run.`, { hint: `\`svc container get --id ${id}\` shows why.` });
    },
  };
}

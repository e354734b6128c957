/** Routes to the containers and scaling groups of this node, and to those of others. */

import type { ContainerSpec } from "../../../gen/svc/v1/container_pb.ts";
import { hasEnded, type StoredContainer } from "../containers/container-records.ts";
import type { Containers } from "../containers/containers.ts";
import { Failure } from "../failure.ts";
import { GONE_AFTER_MS } from "../nodes/presence.ts";
import { type RouteKind, routeLabel } from "../route-label.ts";
import { type Group, specOf } from "../scaling-groups/group-records.ts";
import type { RoutedGroup, ScalingGroups } from "../scaling-groups/scaling-groups.ts";
import type { NodeStore } from "../stores/metadata/nodes.ts";
import { gatewaySuspended } from "../wire/http/ingress.ts";
import { serverAt } from "./gateway-address.ts";
import { Refused } from "./refused.ts";
import type { Route, Routes } from "./route.ts";

/** Milliseconds between two readings of the containers, for labels that are not known. */
const REREAD_MS = 100;
/** How long what other nodes have is taken for what it was. */
const OTHERS_MS = 1_000;

/** Makes the routes. */
export function createRoutes(parts: {
  readonly containers: Pick<Containers, "list" | "address">;
  readonly groups: Pick<ScalingGroups, "elsewhere" | "routed">;
  readonly nodes: Pick<NodeStore, "list">;
  /** Id of this node. */
  readonly node: string;
  /** Whether nothing is answered. */
  readonly isSuspended: () => boolean;
}): Routes {
  const { containers, groups, isSuspended, node, nodes } = parts;
  const ofGroups = new WeakMap<Group, Route>();
  let ofContainers: ReadonlyMap<string, { readonly id: string; readonly route: Route }> = new Map();
  /** What other nodes have, by label and id: by way of their gateways, or why it is not reached. */
  let ofOthers: ReadonlyMap<string, Route | Refused> = new Map();
  let readAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;

  const read = async (): Promise<void> => {
    await Bun.sleep(Math.max(0, readAt + REREAD_MS - performance.now()));
    readAt = performance.now();
    const routed = (await containers.list()).filter((one) => one.spec.port !== 0 && one.group === "" && !hasEnded(one));
    const gateways = new Map((await nodes.list(GONE_AFTER_MS)).map((one) => [one.id, one.gatewayUrl]));
    const others: readonly (readonly [id: string, home: string, facts: RouteFacts])[] = [
      ...routed.filter((one) => one.node !== node).map((one) => [one.id, one.node, containerRoute(one, containers)] as const),
      ...(await groups.elsewhere()).flatMap(({ content, id, name, scope }) => {
        const spec = specOf(content);
        return spec.port === 0 ? [] : [[id, content.node, groupFacts(scope, name, spec)] as const];
      }),
    ];
    ofOthers = new Map(
      others.flatMap(([id, home, facts]) => {
        const way = routeElsewhere(facts, home, gateways.get(home));
        return [[facts.label, way] as const, [id, way] as const];
      }),
    );
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
    const route = { ...groupFacts(group.scope, group.name, spec), lease };
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
      const remembered = performance.now() - readAt < OTHERS_MS ? ofOthers.get(labelOrId) : undefined;
      if (remembered) return orThrow(remembered);
      reading ??= read().finally(() => {
        reading = undefined;
      });
      await reading;
      const there = ofContainers.get(labelOrId);
      if (there) return there.route;
      const other = ofOthers.get(labelOrId);
      return other && orThrow(other);
    },
  };
}

/** What is known of a route beside its server. */
type RouteFacts = Omit<Route, "lease" | "node">;

/**
 * The route to what another node has.
 * @param gateway address of its gateway; undefined = it does not run
 */
function routeElsewhere(facts: RouteFacts, node: string, gateway: string | undefined): Route | Refused {
  const { isPrivate, what } = facts;
  const there = `The ${what} is on another node, ${node}`;
  if (gateway === undefined) return new Refused(502, `${there}, which does not run.`, "`svc clusters describe` shows the nodes that run.");
  if (isPrivate) return new Refused(421, `${there}, and private: only clients on the machine of that node reach it, at its own gateway.`);
  const address = serverAt(gateway);
  if (!address)
    return new Refused(
      421,
      `${there}, whose gateway leads to it; it does not say where others reach that.`,
      "SVC_GATEWAY_ADDRESS of that node says it, for example https://node-1.internal:6669.",
    );
  return { ...facts, node, lease: () => Promise.resolve({ address, release: () => undefined }) };
}

function orThrow(way: Route | Refused): Route {
  if (way instanceof Refused) throw way;
  return way;
}

function groupFacts(environmentId: string, name: string, spec: ContainerSpec): RouteFacts {
  return { ...routeFacts("group", environmentId, name, spec), what: `scaling group '${name}'` };
}

function routeFacts(kind: RouteKind, environmentId: string, name: string, spec: ContainerSpec): Omit<RouteFacts, "what"> {
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

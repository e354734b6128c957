/** ContainerService: programs of images that the container engine runs. */

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import {
  type ContainerSchema,
  ContainerService,
  type ContainerSpec,
  ContainerSpecSchema,
  ContainerStatus,
  type ContainerUseSchema,
} from "../../../../gen/svc/v1/container_pb.ts";
import { durationToMs, msToDuration, msToTimestamp } from "../../../domain/proto-time.ts";
import { resolveScope } from "../../access/scope.ts";
import { type ContainerState, hasEnded, type StoredContainer } from "../../containers/container-records.ts";
import type { ContainerUses } from "../../containers/container-use.ts";
import type { Containers } from "../../containers/containers.ts";
import { isHostImage } from "../../engines/host/host-image.ts";
import { Failure } from "../../failure.ts";
import { routeAddress, routeLabel } from "../../route-label.ts";
import type { EnvironmentRecord } from "../../stores/metadata/identity.ts";
import { callerOf } from "../interceptors.ts";
import { pageAddress } from "../page-address.ts";
import type { Platform } from "../platform.ts";
import { containerCluster } from "./cluster.ts";

const STATUSES = {
  pending: ContainerStatus.PENDING,
  running: ContainerStatus.RUNNING,
  unreachable: ContainerStatus.UNREACHABLE,
  succeeded: ContainerStatus.SUCCEEDED,
  failed: ContainerStatus.FAILED,
  stopped: ContainerStatus.STOPPED,
  lost: ContainerStatus.LOST,
} as const satisfies Record<ContainerState, ContainerStatus>;

/** Adds the service to a router. */
export function register(router: ConnectRouter, platform: Platform): void {
  const environmentOf = async (context: HandlerContext): Promise<EnvironmentRecord> =>
    (await resolveScope(platform.environments, callerOf(context), context.requestHeader)).environment;
  const message = async (container: StoredContainer, { requestHeader }: HandlerContext) => ({
    ...containerMessage(
      container,
      platform.gatewayAddressFor(requestHeader),
      (await platform.containers()).uses,
      await containerCluster(platform),
    ),
    pageUrl: pageAddress(platform, requestHeader, container.environmentId, "container", { name: container.id }),
  });
  const containers = async (): Promise<Containers> => (await platform.containers()).containers;

  router.service(ContainerService, {
    async runContainer({ spec, name, tags, lifetime, cluster }, context) {
      await containerCluster(platform, cluster);
      const lifetimeMs = lifetime ? durationToMs(lifetime) : 0;
      const wish = { environment: await environmentOf(context), name, spec: spec ?? create(ContainerSpecSchema), tags, lifetimeMs };
      const container = await (await containers()).run({ ...wish, group: "", hasNetwork: true }, callerOf(context));
      return { container: await message(container, context), warnings: hostWarnings(container.spec) };
    },

    async getContainer({ container }, context) {
      return { container: await message(await (await containers()).get((await environmentOf(context)).id, named(container)), context) };
    },

    async listContainers(_request, context) {
      const all = await (await containers()).list((await environmentOf(context)).id);
      return { containers: await Promise.all(all.map((one) => message(one, context))) };
    },

    async stopContainer({ container }, context) {
      return {
        container: await message(await (await containers()).stop((await environmentOf(context)).id, named(container), ""), context),
      };
    },
  });
}

/** What callers are told about what they run. */
export function hostWarnings({ image }: Pick<ContainerSpec, "image">): string[] {
  return isHostImage(image) ? ["It runs on the server's machine without isolation: with the server's user, files and network."] : [];
}

/** A name or id that was given. Throws Failure invalid_argument for none. */
export function named(idOrName: string): string {
  if (idOrName === "") throw new Failure("invalid_argument", "There is neither an id nor a name.");
  return idOrName;
}

/** The state of a container in the contract. */
export function containerStatus({ status }: Pick<StoredContainer, "status">): ContainerStatus {
  return STATUSES[status];
}

/**
 * A container in the contract.
 * @param gateway address of the gateway; replicas have no route of their own
 * @param cluster id of the cluster that it runs in
 */
export function containerMessage(
  container: StoredContainer,
  gateway: string,
  uses: ContainerUses,
  cluster: string,
): MessageInitShape<typeof ContainerSchema> {
  const { environmentId, id, name, spec, tags, lifetimeMs, exitCode, message, createdAt, startedAt, endedAt, node, group } = container;
  return {
    ...{ id, name, status: containerStatus(container), spec, tags: { ...tags }, lifetime: msToDuration(lifetimeMs), cluster },
    url: hasRoute(container) ? routeAddress(gateway, routeLabel("container", environmentId, name), spec.grpc) : "",
    ...{ message, createdAt: msToTimestamp(createdAt), node, scalingGroup: group, unisolated: isHostImage(spec.image) },
    ...useMessage(uses, id),
    ...(exitCode !== undefined && { exitCode }),
    ...(startedAt !== undefined && { startedAt: msToTimestamp(startedAt) }),
    ...(endedAt !== undefined && { endedAt: msToTimestamp(endedAt) }),
  };
}

/** What a container uses, in the contract. */
export function useMessage(uses: ContainerUses, id: string): { readonly use?: MessageInitShape<typeof ContainerUseSchema> } {
  const { memoryBytes, processors } = uses.of(id) ?? {};
  if (memoryBytes === undefined) return {};
  return { use: { memoryBytes: BigInt(memoryBytes), ...(processors !== undefined && { processors }) } };
}

/** Whether requests are led to a container by itself. */
function hasRoute(container: StoredContainer): boolean {
  return container.spec.port !== 0 && container.group === "" && !hasEnded(container);
}

/** ScalingGroupService: containers of one kind behind one route. */

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import { ContainerSpecSchema } from "../../../../gen/svc/v1/container_pb.ts";
import { type ScalingGroupSchema, ScalingGroupService, ScalingGroupStatus } from "../../../../gen/svc/v1/scaling_group_pb.ts";
import { msToTimestamp } from "../../../domain/proto-time.ts";
import { resolveScope } from "../../access/scope.ts";
import { hasEnded } from "../../containers/container-records.ts";
import type { ContainerUses } from "../../containers/container-use.ts";
import { isHostImage } from "../../engines/host/host-image.ts";
import { routeAddress, routeLabel } from "../../route-label.ts";
import { specOf } from "../../scaling-groups/group-records.ts";
import type { GroupState } from "../../scaling-groups/replica-set.ts";
import type { KnownGroup } from "../../scaling-groups/scaling-groups.ts";
import type { EnvironmentRecord } from "../../stores/metadata/identity.ts";
import { callerOf } from "../interceptors.ts";
import { pageAddress } from "../page-address.ts";
import type { Platform } from "../platform.ts";
import { containerCluster } from "./cluster.ts";
import { containerMessage, hostWarnings, named } from "./container.ts";

const STATUSES = {
  starting: ScalingGroupStatus.STARTING,
  ready: ScalingGroupStatus.READY,
  idle: ScalingGroupStatus.IDLE,
  failed: ScalingGroupStatus.FAILED,
} as const satisfies Record<GroupState["status"], ScalingGroupStatus>;

const NO_BOUNDS = { minReplicas: 1, maxReplicas: 1, targetCpu: 0 };

/** Adds the service to a router. */
export function register(router: ConnectRouter, platform: Platform): void {
  const environmentOf = async (context: HandlerContext): Promise<EnvironmentRecord> =>
    (await resolveScope(platform.environments, callerOf(context), context.requestHeader)).environment;
  const message = async (known: KnownGroup, { requestHeader }: HandlerContext) => ({
    ...groupMessage(known, platform.gatewayAddressFor(requestHeader), (await platform.containers()).uses, await containerCluster(platform)),
    pageUrl: pageAddress(platform, requestHeader, known.group.scope, "scalingGroup", { name: known.group.name }),
  });

  router.service(ScalingGroupService, {
    async createScalingGroup({ bounds = NO_BOUNDS, name, spec, tags }, context) {
      const wish = { environment: await environmentOf(context), name, spec: spec ?? create(ContainerSpecSchema), tags, bounds };
      const known = await (await platform.scalingGroups()).put(wish, callerOf(context));
      return { group: await message(known, context), warnings: hostWarnings(wish.spec) };
    },

    async getScalingGroup({ group }, context) {
      const { id } = await environmentOf(context);
      return { group: await message(await (await platform.scalingGroups()).get(id, named(group)), context) };
    },

    async listScalingGroups(_request, context) {
      const { id } = await environmentOf(context);
      const groups = await (await platform.scalingGroups()).list(id);
      return { groups: await Promise.all(groups.map((one) => message({ ...one, replicas: [] }, context))) };
    },

    async scaleScalingGroup({ group, minReplicas, maxReplicas, targetCpu }, context) {
      const { id } = await environmentOf(context);
      const change = {
        ...(minReplicas !== undefined && { minReplicas }),
        ...(maxReplicas !== undefined && { maxReplicas }),
        ...(targetCpu !== undefined && { targetCpu }),
      };
      return { group: await message(await (await platform.scalingGroups()).scale(id, named(group), change), context) };
    },

    async restartScalingGroup({ group }, context) {
      const { id } = await environmentOf(context);
      return { group: await message(await (await platform.scalingGroups()).restart(id, named(group)), context) };
    },

    async deleteScalingGroup({ group }, context) {
      const { id } = await environmentOf(context);
      return { group: await message(await (await platform.scalingGroups()).delete(id, named(group)), context) };
    },
  });
}

/**
 * A group in the contract.
 * @param gateway address of the gateway
 * @param cluster id of that of its replicas
 */
function groupMessage(
  { group, replicas, state }: KnownGroup,
  gateway: string,
  uses: ContainerUses,
  cluster: string,
): MessageInitShape<typeof ScalingGroupSchema> {
  const { content, createdAt, id, name, scope, updatedAt } = group;
  const spec = specOf(content);
  return {
    ...{ id, name, status: STATUSES[state.status], spec, bounds: content.bounds, tags: { ...content.tags } },
    ...{ readyReplicas: state.ready, wantedReplicas: state.wanted, message: state.message },
    url: spec.port === 0 ? "" : routeAddress(gateway, routeLabel("group", scope, name), spec.grpc),
    ...{ createdAt: msToTimestamp(createdAt), updatedAt: msToTimestamp(updatedAt) },
    replicas: replicas.map((one) => ({
      ...containerMessage(one, gateway, uses, cluster),
      ...(state.readyIds && !hasEnded(one) && { ready: state.readyIds.has(one.id) }),
    })),
    unisolated: isHostImage(spec.image),
  };
}

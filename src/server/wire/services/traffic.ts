/** TrafficService: how the queries of an environment are shared among deployments. */

import { create } from "@bufbuild/protobuf";
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import {
  GetTrafficResponseSchema,
  PromoteTrafficResponseSchema,
  SetTrafficResponseSchema,
  SuspendTrafficResponseSchema,
  TrafficService,
} from "../../../../gen/svc/v1/traffic_pb.ts";
import { resolveScope } from "../../access/scope.ts";
import type { Traffic } from "../../deployments/traffic.ts";
import type { TrafficTags } from "../../deployments/traffic-rules.ts";
import { callerOf } from "../interceptors.ts";
import type { Platform } from "../platform.ts";

/** Adds the service to a router. */
export function register(router: ConnectRouter, platform: Platform): void {
  const of = async (context: HandlerContext): Promise<{ readonly traffic: Traffic; readonly id: string }> => {
    const { environment } = await resolveScope(platform.environments, callerOf(context), context.requestHeader);
    return { traffic: (await platform.deployments()).traffic, id: environment.id };
  };

  router.service(TrafficService, {
    async getTraffic(_request, context) {
      const { traffic, id } = await of(context);
      return create(GetTrafficResponseSchema, { tags: messages(await traffic.list(id)) });
    },
    async setTraffic({ weights, mirrorWeights }, context) {
      const { traffic, id } = await of(context);
      const tags = await traffic.set(id, new Map(Object.entries(weights)), new Map(Object.entries(mirrorWeights)));
      return create(SetTrafficResponseSchema, { tags: messages(tags) });
    },
    async promoteTraffic(_request, context) {
      const { traffic, id } = await of(context);
      return create(PromoteTrafficResponseSchema, { tags: messages(await traffic.promote(id)) });
    },
    async suspendTraffic({ tag }, context) {
      const { traffic, id } = await of(context);
      return create(SuspendTrafficResponseSchema, { tags: messages(await traffic.suspend(id, tag)) });
    },
  });
}

function messages(tags: TrafficTags) {
  return tags.map(({ weight, ...tag }) => ({ ...tag, ...(weight !== null && { weight }) }));
}

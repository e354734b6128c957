/** EnvironmentService: the team's environments. */

import { create } from "@bufbuild/protobuf";
import type { ConnectRouter } from "@connectrpc/connect";
import { EnvironmentSchema, EnvironmentService, ListEnvironmentsResponseSchema } from "../../../../gen/svc/v1/environment_pb.ts";
import { callerOf } from "../interceptors.ts";
import type { Platform } from "../platform.ts";
import { recordMessage } from "../record-message.ts";

/** Adds the service to a router. */
export function register(router: ConnectRouter, platform: Platform): void {
  router.service(EnvironmentService, {
    async listEnvironments(_request, context) {
      const { teamId } = callerOf(context);
      const environments = await platform.environments.list(teamId);
      return create(ListEnvironmentsResponseSchema, {
        environments: environments.map((environment) => recordMessage(EnvironmentSchema, environment)),
      });
    },
  });
}

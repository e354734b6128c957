/** AuthService: login sessions and who am I. */

import { create } from "@bufbuild/protobuf";
import type { ConnectRouter } from "@connectrpc/connect";
import {
  AuthService,
  CreateLoginSessionResponseSchema,
  GetLoginSessionResponseSchema,
  LoginSessionStatus,
  WhoAmIResponseSchema,
} from "../../../gen/svc/v1/auth_pb.ts";
import { msToTimestamp } from "../../domain/proto-time.ts";
import type { LoginOutcome } from "../auth/login-sessions.ts";
import { Failure } from "../failure.ts";
import { callerOf } from "../interceptors.ts";
import type { Platform } from "../platform.ts";
import { resolveScope } from "../scope.ts";

const STATUS: Readonly<Record<LoginOutcome["state"], LoginSessionStatus>> = {
  pending: LoginSessionStatus.PENDING,
  confirmed: LoginSessionStatus.CONFIRMED,
  denied: LoginSessionStatus.DENIED,
  expired: LoginSessionStatus.EXPIRED,
};

/** Adds the service to a router. */
export function register(router: ConnectRouter, { loginSessions, metadata, url }: Platform): void {
  router.service(AuthService, {
    async createLoginSession({ deviceName }) {
      const { id, secret, expiresAt } = await loginSessions.open(deviceName);
      return create(CreateLoginSessionResponseSchema, {
        loginSessionId: id,
        url: `${url}/cli/${id}`,
        sessionSecret: secret,
        expiresAt: msToTimestamp(expiresAt),
      });
    },

    async getLoginSession({ loginSessionId, sessionSecret }) {
      const outcome = await loginSessions.poll(loginSessionId, sessionSecret);
      if (!outcome) throw new Failure("not_found", "There is no such login session.", { hint: "Start again with `svc login`." });
      const credentials =
        outcome.state === "confirmed"
          ? { clientId: outcome.clientId, clientSecret: outcome.clientSecret, environmentId: outcome.environmentId }
          : {};
      return create(GetLoginSessionResponseSchema, { status: STATUS[outcome.state], ...credentials });
    },

    async whoAmI(_request, context) {
      const caller = callerOf(context);
      const { environment } = await resolveScope(metadata, caller, context.requestHeader);
      return create(WhoAmIResponseSchema, {
        userId: caller.clientId,
        environmentId: environment.id,
        environmentName: environment.name,
        teamId: environment.teamId,
        projectId: environment.projectId,
        dashboardUrl: url,
      });
    },
  });
}

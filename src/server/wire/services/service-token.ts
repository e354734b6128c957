/** ServiceTokenService: credentials of programs, permissions and roles. */

import { create } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { ConnectRouter } from "@connectrpc/connect";
import {
  CreateServiceTokenResponseSchema,
  DeleteServiceTokenResponseSchema,
  ListPermissionsResponseSchema,
  ListServiceTokensResponseSchema,
  ServiceTokenService,
  UpdateServiceTokenResponseSchema,
} from "../../../../gen/svc/v1/service_token_pb.ts";
import { PERMISSIONS, type PermissionRow, ROLES } from "../../../domain/permissions.ts";
import { msToTimestamp, timestampToMs } from "../../../domain/proto-time.ts";
import { createServiceTokens, type ServiceTokenRecord } from "../../access/service-tokens.ts";
import { Failure } from "../../failure.ts";
import { callerOf, noteOf } from "../interceptors.ts";
import type { Platform } from "../platform.ts";

/** Adds the service to a router. */
export function register(router: ConnectRouter, platform: Platform): void {
  const tokens = createServiceTokens(platform);

  router.service(ServiceTokenService, {
    listPermissions: () =>
      create(ListPermissionsResponseSchema, {
        permissions: PERMISSIONS.map(({ name, meaning, isTeamWide = false }: PermissionRow) => ({
          name,
          description: meaning,
          teamWide: isTeamWide,
        })),
        roles: ROLES.map(({ name, meaning, permissions }) => ({ name, description: meaning, permissions: [...permissions] })),
      }),

    async listServiceTokens(_request, context) {
      return create(ListServiceTokensResponseSchema, { serviceTokens: (await tokens.list(callerOf(context))).map(message) });
    },

    async createServiceToken({ name, permissions, role, environments, expiresAt }, context) {
      const wish = { name, permissions, role, environments, expiresAt: instantOf(expiresAt) };
      const { token, secret } = await tokens.create(callerOf(context), wish);
      const note = noteOf(context);
      note.about = { ...note.about, id: token.tokenId };
      return create(CreateServiceTokenResponseSchema, { serviceToken: message(token), clientSecret: secret });
    },

    async updateServiceToken(request, context) {
      const { id, name, permissions, role, environments, allEnvironments, expiresAt, neverExpires } = request;
      if (allEnvironments && environments.length > 0)
        throw new Failure("invalid_argument", "The service token is limited to environments or to none, not both.");
      if (neverExpires && expiresAt) throw new Failure("invalid_argument", "The service token ends at a time or never, not both.");
      const lift = { environments: allEnvironments, expiry: neverExpires };
      const wish = { name, permissions, role, environments, expiresAt: instantOf(expiresAt), lift };
      return create(UpdateServiceTokenResponseSchema, { serviceToken: message(await tokens.update(callerOf(context), id, wish)) });
    },

    async deleteServiceToken({ id }, context) {
      return create(DeleteServiceTokenResponseSchema, { serviceToken: message(await tokens.delete(callerOf(context), id)) });
    },
  });
}

/** Epoch milliseconds of an instant, without their fraction; undefined when it is not given. */
function instantOf(at: Timestamp | undefined): number | undefined {
  return at && Math.floor(timestampToMs(at));
}

function message({ tokenId, id, name, permissions, environments, createdAt, lastUsedAt, expiresAt, createdBy }: ServiceTokenRecord) {
  return {
    id: tokenId,
    name,
    clientId: id,
    permissions: [...permissions],
    environmentIds: [...(environments ?? [])],
    createdAt: msToTimestamp(createdAt),
    ...(lastUsedAt !== undefined && { lastUsedAt: msToTimestamp(lastUsedAt) }),
    ...(expiresAt !== undefined && { expiresAt: msToTimestamp(expiresAt) }),
    createdBy: createdBy ?? "",
  };
}

/** SecretService: the secrets of an environment. */

import { create } from "@bufbuild/protobuf";
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import {
  DeleteSecretsResponseSchema,
  ListSecretsResponseSchema,
  RevealSecretsResponseSchema,
  SecretService,
  SetSecretsResponseSchema,
} from "../../../../gen/svc/v1/secret_pb.ts";
import { msToTimestamp } from "../../../domain/proto-time.ts";
import { maskedSecret } from "../../../domain/secret-name.ts";
import { resolveScope } from "../../access/scope.ts";
import type { Secret } from "../../secrets/secrets.ts";
import type { EnvironmentRecord } from "../../stores/metadata/identity.ts";
import { callerOf } from "../interceptors.ts";
import type { Platform } from "../platform.ts";
import { requestApproval } from "./approval-request.ts";

const message = ({ value, updatedAt, ...known }: Secret, show: (value: string) => string) => ({
  ...known,
  value: value === undefined ? "" : show(value),
  updatedAt: msToTimestamp(updatedAt),
});
const masked = (secret: Secret) => message(secret, maskedSecret);
const revealed = (secret: Secret) => message(secret, (value) => value);
const withoutValue = (secret: Secret) => message(secret, () => "");

/** Adds the service to a router. */
export function register(router: ConnectRouter, platform: Platform): void {
  const environmentOf = async (context: HandlerContext): Promise<EnvironmentRecord> =>
    (await resolveScope(platform.environments, callerOf(context), context.requestHeader)).environment;
  const scopeOf = async (context: HandlerContext): Promise<string> => (await environmentOf(context)).id;

  router.service(SecretService, {
    async listSecrets(_request, context) {
      const secrets = await (await platform.secrets()).secrets.list(await scopeOf(context));
      return create(ListSecretsResponseSchema, { secrets: secrets.map(masked) });
    },
    async revealSecrets({ names }, context) {
      const { secrets } = await platform.secrets();
      const scope = await scopeOf(context);
      const found = names.length === 0 ? await secrets.list(scope) : await secrets.find(scope, names);
      return create(RevealSecretsResponseSchema, { secrets: found.map(revealed) });
    },
    async setSecrets({ secrets }, context) {
      const environment = await environmentOf(context);
      const given = secrets.map(({ name, value }) => ({ name, value }));
      const approvalId = await requestApproval(platform, context, environment, { kind: "secret.set", secrets: given });
      if (approvalId !== undefined) return create(SetSecretsResponseSchema, { approvalId });
      const set = await (await platform.secrets()).secrets.set(environment.id, given);
      return create(SetSecretsResponseSchema, { secrets: set.map(masked) });
    },
    async deleteSecrets({ names }, context) {
      const environment = await environmentOf(context);
      const approvalId = await requestApproval(platform, context, environment, { kind: "secret.delete", names });
      if (approvalId !== undefined) return create(DeleteSecretsResponseSchema, { approvalId });
      const deleted = await (await platform.secrets()).secrets.delete(environment.id, names);
      return create(DeleteSecretsResponseSchema, { secrets: deleted.map(withoutValue) });
    },
  });
}

/** IntegrationService: the integrations of an environment, and their tests. */

import { create } from "@bufbuild/protobuf";
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import {
  ApplyIntegrationResponseSchema,
  DeleteIntegrationsResponseSchema,
  IntegrationService,
  IntegrationTestStatus,
  ListIntegrationsResponseSchema,
  RevealIntegrationsResponseSchema,
  TestIntegrationResponseSchema,
} from "../../../../gen/svc/v1/integration_pb.ts";
import { environmentPrefix } from "../../../domain/integrations.ts";
import { msToTimestamp } from "../../../domain/proto-time.ts";
import { maskedSecret } from "../../../domain/secret-name.ts";
import { resolveScope } from "../../access/scope.ts";
import { Failure } from "../../failure.ts";
import type { Integration } from "../../secrets/integrations.ts";
import type { EnvironmentRecord } from "../../stores/metadata/identity.ts";
import { callerOf } from "../interceptors.ts";
import type { Platform } from "../platform.ts";
import { requestApproval } from "./approval-request.ts";

const message = ({ variables, variableNames, updatedAt, ...known }: Integration, show: (value: string) => string) => ({
  ...known,
  environmentVariables: Object.fromEntries(
    variableNames.map((name) => {
      const value = variables?.[name];
      return [name, value === undefined ? "" : show(value)];
    }),
  ),
  secrets: variableNames.map((name) => `${environmentPrefix(known.name)}_${name}`),
  updatedAt: msToTimestamp(updatedAt),
});
const masked = (integration: Integration) => message(integration, maskedSecret);
const revealed = (integration: Integration) => message(integration, (value) => value);
const withoutValues = (integration: Integration) => message(integration, () => "");

const STATUS = {
  ok: IntegrationTestStatus.OK,
  failed: IntegrationTestStatus.FAILED,
  untested: IntegrationTestStatus.UNTESTED,
} as const;

/** Adds the service to a router. */
export function register(router: ConnectRouter, platform: Platform): void {
  const environmentOf = async (context: HandlerContext): Promise<EnvironmentRecord> =>
    (await resolveScope(platform.environments, callerOf(context), context.requestHeader)).environment;
  const scopeOf = async (context: HandlerContext): Promise<string> => (await environmentOf(context)).id;

  router.service(IntegrationService, {
    async listIntegrations(_request, context) {
      const list = await (await platform.secrets()).integrations.list(await scopeOf(context));
      return create(ListIntegrationsResponseSchema, { integrations: list.map(masked) });
    },
    async revealIntegrations({ name }, context) {
      const { integrations } = await platform.secrets();
      const scope = await scopeOf(context);
      const found = name === "" ? await integrations.list(scope) : [await integrations.get(scope, name)];
      return create(RevealIntegrationsResponseSchema, { integrations: found.map(revealed) });
    },
    async applyIntegration({ name, kind, environmentVariables, mustBeNew }, context) {
      const { integrations } = await platform.secrets();
      const given = { name, kind, variables: environmentVariables, mustBeNew };
      const environment = await environmentOf(context);
      const approvalId = await requestApproval(platform, context, environment, { kind: "integration.apply", integration: given });
      if (approvalId !== undefined) return create(ApplyIntegrationResponseSchema, { approvalId });
      const { integration, isNew } = await integrations.apply(environment.id, given);
      return create(ApplyIntegrationResponseSchema, { integration: masked(integration), created: isNew });
    },
    async deleteIntegrations({ names }, context) {
      if (names.length === 0) throw new Failure("invalid_argument", "No integration was named.");
      const environment = await environmentOf(context);
      const approvalId = await requestApproval(platform, context, environment, { kind: "integration.delete", names });
      if (approvalId !== undefined) return create(DeleteIntegrationsResponseSchema, { approvalId });
      const deleted = await (await platform.secrets()).integrations.delete(environment.id, names);
      return create(DeleteIntegrationsResponseSchema, { integrations: deleted.map(withoutValues) });
    },
    async testIntegration({ name }, context) {
      const integration = await (await platform.secrets()).integrations.get(await scopeOf(context), name);
      if (!integration.variables) throw new Failure("failed_precondition", integration.problem);
      const { probe } = await import("../../probes/probe.ts");
      const { status, message } = await probe(integration.kind, integration.variables, { clock: platform.clock, signal: context.signal });
      return create(TestIntegrationResponseSchema, { name: integration.name, kind: integration.kind, status: STATUS[status], message });
    },
  });
}

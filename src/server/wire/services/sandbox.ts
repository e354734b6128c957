/** SandboxService: containers that wait for commands; those go over `http/shells.ts`. */

import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import { type SandboxSchema, SandboxService } from "../../../../gen/svc/v1/sandbox_pb.ts";
import { msToTimestamp } from "../../../domain/proto-time.ts";
import { resolveScope } from "../../access/scope.ts";
import type { StoredContainer } from "../../containers/container-records.ts";
import type { ContainerUses } from "../../containers/container-use.ts";
import type { Sandboxes } from "../../containers/sandboxes.ts";
import type { EnvironmentRecord } from "../../stores/metadata/identity.ts";
import { callerOf } from "../interceptors.ts";
import { pageAddress } from "../page-address.ts";
import type { Platform } from "../platform.ts";
import { containerStatus, named, useMessage } from "./container.ts";

const PATH = "/v1/sandboxes/exec";

/** Adds the service to a router. */
export function register(router: ConnectRouter, platform: Platform): void {
  const environmentOf = async (context: HandlerContext): Promise<EnvironmentRecord> =>
    (await resolveScope(platform.environments, callerOf(context), context.requestHeader)).environment;
  const sandboxes = async (): Promise<Sandboxes> => (await platform.containers()).sandboxes;

  const message = async (sandbox: StoredContainer, { requestHeader }: HandlerContext) => ({
    ...sandboxMessage(sandbox, (await platform.containers()).uses),
    url: pageAddress(platform, requestHeader, sandbox.environmentId, "sandbox", { id: sandbox.id }),
  });

  router.service(SandboxService, {
    async createSandbox({ image, name, cpu, memory, environment: variables }, context) {
      const wish = { environment: await environmentOf(context), image, name, cpu, memory, variables };
      return { sandbox: await message(await (await sandboxes()).create(wish, callerOf(context)), context) };
    },

    async getSandbox({ sandbox }, context) {
      return { sandbox: await message(await (await sandboxes()).get((await environmentOf(context)).id, named(sandbox)), context) };
    },

    async listSandboxes(_request, context) {
      const all = await (await sandboxes()).list((await environmentOf(context)).id);
      return { sandboxes: await Promise.all(all.map((one) => message(one, context))) };
    },

    async terminateSandbox({ sandbox }, context) {
      return { sandbox: await message(await (await sandboxes()).stop((await environmentOf(context)).id, named(sandbox), ""), context) };
    },

    async openExec({ sandbox, command, workdir, environment: variables, timeoutSeconds, terminal, columns, rows }, context) {
      const wish = {
        sandbox: named(sandbox),
        command,
        workdir,
        variables,
        timeoutSeconds,
        terminal: terminal ? { columns, rows } : undefined,
      };
      const { ticket, expiresAt } = await (await sandboxes()).open((await environmentOf(context)).id, wish, callerOf(context));
      return { path: PATH, ticket, expiresAt: msToTimestamp(expiresAt) };
    },
  });
}

function sandboxMessage(sandbox: StoredContainer, uses: ContainerUses): MessageInitShape<typeof SandboxSchema> {
  const { id, name, spec, message, createdAt, endedAt, node } = sandbox;
  return {
    ...{ id, name, image: spec.image, status: containerStatus(sandbox), environment: spec.environment, message, node },
    ...{ cpu: spec.resources?.cpu ?? "", memory: spec.resources?.memory ?? "", createdAt: msToTimestamp(createdAt) },
    ...(endedAt !== undefined && { endedAt: msToTimestamp(endedAt) }),
    ...useMessage(uses, id),
  };
}

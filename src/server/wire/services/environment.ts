/** EnvironmentService: the team's environments, their configuration and their life. */

import { create } from "@bufbuild/protobuf";
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import {
  CreateEnvironmentResponseSchema,
  DeleteEnvironmentResponseSchema,
  DescribeContentsResponseSchema,
  EnvironmentSchema,
  EnvironmentService,
  GetEnvironmentConfigResponseSchema,
  ListEnvironmentsResponseSchema,
  ResumeEnvironmentResponseSchema,
  SuspendEnvironmentResponseSchema,
  UpdateEnvironmentConfigResponseSchema,
} from "../../../../gen/svc/v1/environment_pb.ts";
import { ConfigInvalid } from "../../../domain/environment-config.ts";
import { configMessage, readConfigMessage } from "../../../domain/environment-config-message.ts";
import { mayReach, requireWholeTeam, resolveNames, type ScopeNames, scopeHeader, visibleEnvironments } from "../../access/scope.ts";
import { Failure } from "../../failure.ts";
import type { EnvironmentRecord } from "../../stores/metadata/identity.ts";
import { callerOf } from "../interceptors.ts";
import type { Platform } from "../platform.ts";
import { recordMessage } from "../record-message.ts";
import { requestApproval } from "./approval-request.ts";

const environmentMessage = (environment: EnvironmentRecord) => recordMessage(EnvironmentSchema, environment);

/** Adds the service to a router. */
export function register(router: ConnectRouter, platform: Platform): void {
  const { environments, environmentLifecycle, log, projects } = platform;
  /**
   * The environment of an id, or of a name in the call's project; empty = that of the call's
   * headers.
   */
  const environmentOf = async (context: HandlerContext, wanted = ""): Promise<EnvironmentRecord> => {
    const { requestHeader } = context;
    if (wanted.startsWith("env_")) return environmentById(context, wanted);
    const names: ScopeNames = {
      environment: wanted || scopeHeader(requestHeader, "environment"),
      project: scopeHeader(requestHeader, "project"),
      branch: "",
      deployment: "",
    };
    return (await resolveNames(environments, callerOf(context), names)).environment;
  };
  /** The environment of an id, which a change names so that it is of no other. */
  const environmentById = async (context: HandlerContext, id: string): Promise<EnvironmentRecord> => {
    const caller = callerOf(context);
    const found = await environments.find({ teamId: caller.teamId, project: "", environment: id });
    if (id === "" || found?.id !== id || !mayReach(caller, found))
      throw new Failure("not_found", `There is no environment '${id}'.`, { hint: "`svc environment list` shows all." });
    return found;
  };

  router.service(EnvironmentService, {
    async listEnvironments(_request, context) {
      const listed = await visibleEnvironments(environments, callerOf(context));
      return create(ListEnvironmentsResponseSchema, { environments: listed.map(environmentMessage) });
    },

    async createEnvironment({ name, project }, context) {
      requireWholeTeam(callerOf(context), "new environments");
      const wanted = project || scopeHeader(context.requestHeader, "project");
      const environment = await (await projects()).addEnvironment(callerOf(context).teamId, wanted, name);
      log.info("environment created", { environment: environment.id, name, by: callerOf(context).clientId });
      return create(CreateEnvironmentResponseSchema, { environment: environmentMessage(environment) });
    },

    async describeContents(request, context) {
      const environment = await environmentOf(context, request.environment);
      const { deployments, branches, datasets, featureIds, settings, isLastOfProject } = await (await environmentLifecycle()).contents(
        environment,
      );
      return create(DescribeContentsResponseSchema, {
        environment: environmentMessage(environment),
        deployments,
        branches: branches.length,
        features: featureIds.length,
        settings,
        datasets,
        isLastOfProject,
      });
    },

    async deleteEnvironment({ environmentId }, context) {
      const environment = await environmentById(context, environmentId);
      await (await platform.approvals()).refuseProtected(environment, "it was not deleted");
      await (await environmentLifecycle()).remove(environment);
      log.info("environment deleted", { environment: environment.id, name: environment.name, by: callerOf(context).clientId });
      return create(DeleteEnvironmentResponseSchema, { environment: environmentMessage(environment) });
    },

    async getEnvironmentConfig(request, context) {
      const environment = await environmentOf(context, request.environment);
      const { config, etag } = await (await platform.configurations()).get(environment.id);
      return create(GetEnvironmentConfigResponseSchema, {
        environment: environmentMessage(environment),
        config: configMessage(config),
        etag,
      });
    },

    async updateEnvironmentConfig({ environmentId, name, config, etag }, context) {
      const environment = await environmentById(context, environmentId);
      const lifecycle = await environmentLifecycle();
      const isRenamed = name !== "" && name !== environment.name;
      const wanted = asFailure(() => readConfigMessage(config));
      const change = { kind: "configuration", name: isRenamed ? name : "", config: wanted, etag } as const;
      const approvalId = await requestApproval(platform, context, environment, change);
      if (approvalId !== undefined)
        return create(UpdateEnvironmentConfigResponseSchema, { environment: environmentMessage(environment), etag, approvalId });
      if (isRenamed) await lifecycle.checkRename(environment, name);
      if (wanted.protected) await (await platform.approvals()).protect(callerOf(context), environment);
      const next = await (await platform.configurations()).replace(environment.id, wanted, etag);
      const after = isRenamed ? await lifecycle.rename(environment, name) : environment;
      lifecycle.changed(environment);
      log.info("environment updated", { environment: environment.id, by: callerOf(context).clientId });
      return create(UpdateEnvironmentConfigResponseSchema, { environment: environmentMessage(after), etag: next });
    },

    async suspendEnvironment(request, context) {
      const { environment, changed } = await (await environmentLifecycle()).suspend(await environmentOf(context, request.environment));
      if (changed) log.info("environment suspended", { environment: environment.id, by: callerOf(context).clientId });
      return create(SuspendEnvironmentResponseSchema, { environment: environmentMessage(environment), changed });
    },

    async resumeEnvironment(request, context) {
      const { environment, changed } = await (await environmentLifecycle()).resume(await environmentOf(context, request.environment));
      if (changed) log.info("environment resumed", { environment: environment.id, by: callerOf(context).clientId });
      return create(ResumeEnvironmentResponseSchema, { environment: environmentMessage(environment), changed });
    },
  });
}

/** What `read` returns. Throws a rule that is broken as Failure invalid_argument. */
function asFailure<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ConfigInvalid)) throw error;
    throw new Failure("invalid_argument", `The configuration is not valid: ${error.message}.`);
  }
}

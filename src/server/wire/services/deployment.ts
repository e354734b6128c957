/** DeploymentService: validate, upload, deploy, watch; branches and sources. */

import { create } from "@bufbuild/protobuf";
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import {
  type CreateDeploymentRequest,
  CreateDeploymentResponseSchema,
  CreateUploadResponseSchema,
  DeleteBranchResponseSchema,
  DeleteDeploymentResponseSchema,
  type Deployment,
  DeploymentSchema,
  DeploymentService,
  DeploymentStatus,
  DiffDeploymentResponseSchema,
  GetDeploymentResponseSchema,
  GetProfileResponseSchema,
  GetSourceResponseSchema,
  ListBranchesResponseSchema,
  ListDeploymentsResponseSchema,
  PromoteDeploymentResponseSchema,
  RollBackDeploymentResponseSchema,
  StartBranchResponseSchema,
  ValidateGraphResponseSchema,
  type Venv,
  WatchDeploymentResponseSchema,
} from "../../../../gen/svc/v1/deployment_pb.ts";
import { GraphSchema } from "../../../../gen/svc/v1/graph_pb.ts";
import { addressOf } from "../../../domain/addresses.ts";
import { closestNames } from "../../../domain/closest.ts";
import { msToTimestamp } from "../../../domain/proto-time.ts";
import { MAX_VENVS, VENV_NAME } from "../../../domain/venvs.ts";
import { checkBranch, resolveScope, scopeNames } from "../../access/scope.ts";
import { refuseOtherBranch, type Standing } from "../../deployments/deployments.ts";
import { isSettled } from "../../deployments/progress.ts";
import { COLORS } from "../../deployments/traffic-rules.ts";
import { Failure } from "../../failure.ts";
import { newId } from "../../identifier.ts";
import type { DeploymentRecord, VenvRecord } from "../../stores/metadata/deployments.ts";
import { MAX_OBJECT_BYTES } from "../../stores/objects/store.ts";
import { callerOf, noteOf } from "../interceptors.ts";
import type { Platform } from "../platform.ts";
import { checkEncoded } from "./call-body.ts";
import { readPage } from "./page-token.ts";
import { uploadedBundle } from "./uploaded-bundle.ts";

const UPLOAD_LIFETIME_MS = 86_400_000;
/** Longest path, in characters. */
const MAX_PATH = 1_000;
const MAX_TEXT = 64 * 1024;
const MAX_ENTRIES = 200;

/** A deployment as the contract shows it. */
export function deploymentMessage(
  record: DeploymentRecord,
  { answers, serves, waits }: Standing,
  approvalId: string,
  dashboardUrl: string,
): Deployment {
  return create(DeploymentSchema, {
    id: record.id,
    status: serves && record.status === DeploymentStatus.INACTIVE ? DeploymentStatus.LIVE : record.status,
    branch: record.branch,
    environmentId: record.environmentId,
    promoted: record.promoted || answers,
    tags: [...record.tags],
    description: record.description,
    metadata: { ...record.metadata },
    ciJobUrl: record.ciJobUrl,
    repositoryUrl: record.repositoryUrl,
    createdAt: msToTimestamp(record.createdAt),
    updatedAt: msToTimestamp(record.updatedAt),
    error: record.error,
    diagnostics: [...record.diagnostics],
    url: dashboardUrl + addressOf("deployment", { id: record.id }, { environment: record.environmentId }),
    sourceSha256: record.sourceSha256,
    live: answers,
    profiling: record.profiling,
    waitsForTraffic: waits,
    approvalId,
    notebookFiles: record.layers.map(({ path }) => path),
  });
}

/** Adds the service to a router. */
export function register(router: ConnectRouter, platform: Platform): void {
  const { addressFor, clock, environments, keys, metadata, objects } = platform;
  /** Id of the pending request for the approval of a deployment; empty = none is. */
  const approvalOf = async ({ id, approved, status }: DeploymentRecord): Promise<string> => {
    if (approved || isSettled(status)) return "";
    const approval = await metadata.approvals.ofDeployment(id);
    return approval?.state === "pending" ? approval.id : "";
  };
  const message = async (record: DeploymentRecord, { requestHeader }: HandlerContext): Promise<Deployment> => {
    const { standing } = await platform.deployments();
    return deploymentMessage(record, standing(record), await approvalOf(record), addressFor(requestHeader));
  };

  router.service(DeploymentService, {
    async validateGraph({ graph, branch, projectName, environmentNames, withoutFeatures }, context) {
      if (graph.length === 0) throw new Failure("invalid_argument", "The request has no graph.");
      checkEncoded(GraphSchema, graph);
      const place = await (await platform.projects()).place(callerOf(context), scopeNames(context.requestHeader), {
        projectName,
        environmentNames,
      });
      const { environment, environmentName, project } = place;
      const found = await (await platform.deployments()).validate(
        environment ?? { id: "", name: environmentName },
        checkBranch(branch),
        graph,
      );
      if (withoutFeatures) for (const change of found.diff.features) delete change.feature;
      return create(ValidateGraphResponseSchema, {
        ...found,
        environmentName,
        createsEnvironment: environment === undefined,
        createsProject: project === undefined,
      });
    },

    async createUpload({ sha256, sizeBytes }) {
      const size = Number(sizeBytes);
      if (!/^[0-9a-f]{64}$/.test(sha256)) throw new Failure("invalid_argument", "sha256 must be 64 lower-case hex digits.");
      if (size <= 0 || size > MAX_OBJECT_BYTES) {
        throw new Failure("invalid_argument", `A bundle has between 1 and ${MAX_OBJECT_BYTES} bytes; this one has ${size}.`, {
          hint: "Leave data out of the project with .svcignore.",
        });
      }
      const now = clock.now();
      const id = newId("upl", now);
      await metadata.createUpload({ id, sha256, sizeBytes: size, createdAt: now, expiresAt: now + UPLOAD_LIFETIME_MS });
      const { url, expiresAt } = await objects.sign("put", sha256, size);
      return create(CreateUploadResponseSchema, {
        uploadId: id,
        url,
        complete: (await objects.size(sha256)) === size,
        expiresAt: msToTimestamp(expiresAt),
      });
    },

    async createDeployment(request, context) {
      checkTexts(request);
      const branch = checkBranch(request.branch);
      if (request.reset && branch === "") throw new Failure("invalid_argument", "Only a branch can be reset.");
      checkBlueGreen(request, branch);
      const upload = await uploadedBundle(platform, request.uploadId);
      const { projectName, environmentNames } = request;
      const folder = { projectName, environmentNames };
      const environment = await (await platform.projects()).settle(callerOf(context), scopeNames(context.requestHeader), folder);
      const wanted = {
        environmentId: environment.id,
        branch,
        noPromote: request.noPromote,
        reset: request.reset,
        projectName,
        blueGreen: request.blueGreen,
        profiling: request.profiling,
        runtime: request.runtime,
        requirements: request.requirements,
        venvs: venvsOf(request.venvs),
        tags: request.tags,
        description: request.description,
        metadata: request.metadata,
        ciJobUrl: request.ciJobUrl,
        repositoryUrl: request.repositoryUrl,
        sourceSha256: upload.sha256,
      };
      const approvalOfIt = (await platform.approvals()).ofDeployments(callerOf(context));
      const deployment = await message(await (await platform.deployments()).create(wanted, approvalOfIt), context);
      const note = noteOf(context);
      if (deployment.approvalId !== "") note.about = { ...note.about, approval_id: deployment.approvalId };
      return create(CreateDeploymentResponseSchema, { deployment });
    },

    async getDeployment({ deploymentId }, context) {
      const { environment, branch } = await resolveScope(environments, callerOf(context), context.requestHeader);
      const deployment = await (await platform.deployments()).named(deploymentId, environment.id, branch);
      return create(GetDeploymentResponseSchema, { deployment: await message(deployment, context) });
    },

    async diffDeployment({ deploymentId, baseDeploymentId }, context) {
      const { environment, branch } = await resolveScope(environments, callerOf(context), context.requestHeader);
      const deployments = await platform.deployments();
      const deployment = await deployments.named(deploymentId, environment.id, branch);
      // An id may be of another branch.
      const isTag = baseDeploymentId !== "" && !baseDeploymentId.startsWith("dpl_");
      const base = isTag ? (await deployments.named(baseDeploymentId, environment.id, branch)).id : baseDeploymentId;
      const { deploymentDiff } = await import("../../deployments/deployment-diff.ts");
      return create(DiffDeploymentResponseSchema, { diff: await deploymentDiff(metadata, deployment, base) });
    },

    async promoteDeployment({ deploymentId }, context) {
      const { environment, branch } = await resolveScope(environments, callerOf(context), context.requestHeader);
      const deployments = await platform.deployments();
      const { deployment, replaced } = await deployments.promote(await deployments.named(deploymentId, environment.id, branch));
      return create(PromoteDeploymentResponseSchema, {
        deployment: await message(deployment, context),
        replacedDeploymentId: replaced ?? "",
      });
    },

    async rollBackDeployment(_request, context) {
      const { environment, branch } = await resolveScope(environments, callerOf(context), context.requestHeader);
      const { deployment, replaced } = await (await platform.deployments()).rollBack(environment.id, branch);
      return create(RollBackDeploymentResponseSchema, {
        deployment: await message(deployment, context),
        replacedDeploymentId: replaced ?? "",
      });
    },

    async deleteDeployment({ deploymentId }, context) {
      const { environment } = await resolveScope(environments, callerOf(context), context.requestHeader);
      const deployments = await platform.deployments();
      const deployment = await deployments.find(deploymentId, environment.id);
      const deleted = await message(deployment, context);
      await deployments.delete(deployment);
      return create(DeleteDeploymentResponseSchema, { deployment: deleted });
    },

    async getProfile({ deploymentId }, context) {
      const scope = await resolveScope(environments, callerOf(context), context.requestHeader);
      const { environment, branch } = scope;
      const deployments = await platform.deployments();
      const wanted = deploymentId || (await deployments.resolve(scope));
      const { id, profiling } = await deployments.named(wanted, environment.id, branch);
      if (!profiling)
        throw new Failure("failed_precondition", `Deployment ${id} was deployed without profiling.`, {
          hint: "Deploy with `svc apply --enable-profiling`, and ask when it has answered queries.",
        });
      const { resolvers, dropped, intervalMs } = deployments.profile(id);
      return create(GetProfileResponseSchema, {
        deploymentId: id,
        resolvers: resolvers.map(({ resolver, samples, stacks }) => ({
          resolver,
          samples: BigInt(samples),
          stacks: stacks.map((stack) => ({ frames: [...stack.frames], samples: BigInt(stack.samples) })),
        })),
        intervalMs,
        droppedSamples: BigInt(dropped),
      });
    },

    async deleteBranch({ branch }, context) {
      const { environment } = await resolveScope(environments, callerOf(context), context.requestHeader);
      if (branch === "") throw new Failure("invalid_argument", "Name the branch that is to be deleted.");
      const deployments = await (await platform.deployments()).deleteBranch(environment.id, checkBranch(branch));
      return create(DeleteBranchResponseSchema, { branch, deployments });
    },

    async listDeployments({ branch, tags, ...page }, context) {
      const { environment } = await resolveScope(environments, callerOf(context), context.requestHeader);
      const { id: environmentId } = environment;
      const filter = JSON.stringify([environmentId, branch, tags]);
      const { items, nextPageToken } = await readPage(keys.objects, filter, page, (limit, before) =>
        metadata.deployments({
          ...{ environmentId, branch, limit },
          ...(before === undefined ? {} : { before }),
          ...(tags.length === 0 ? {} : { tags }),
        }),
      );
      return create(ListDeploymentsResponseSchema, {
        deployments: await Promise.all(items.map((one) => message(one, context))),
        nextPageToken,
      });
    },

    async *watchDeployment({ deploymentId }, context) {
      const { environment } = await resolveScope(environments, callerOf(context), context.requestHeader);
      const deployments = await platform.deployments();
      for await (const { deployment, progress } of deployments.watch(deploymentId, environment.id, context.signal)) {
        yield create(WatchDeploymentResponseSchema, { deployment: await message(deployment, context), progress });
      }
    },

    async startBranch({ branch: given }, context) {
      const branch = checkBranch(given);
      if (branch === "") throw new Failure("invalid_argument", "The request names no branch.");
      const { environment } = await resolveScope(environments, callerOf(context), context.requestHeader);
      const deployments = await platform.deployments();
      const target = { environment, branch, deploymentId: "" };
      const id = await deployments.resolve(target);
      (await deployments.acquire(target)).release();
      return create(StartBranchResponseSchema, { deployment: await message(await deployments.find(id, environment.id), context) });
    },

    async listBranches(_request, context) {
      const { environment } = await resolveScope(environments, callerOf(context), context.requestHeader);
      const branches = await metadata.branches(environment.id);
      return create(ListBranchesResponseSchema, {
        branches: branches.map(({ name, deploys, lastDeployedAt, latestDeploymentId }) => ({
          name,
          deploys,
          lastDeployedAt: msToTimestamp(lastDeployedAt),
          latestDeploymentId,
        })),
      });
    },

    async getSource({ target }, context) {
      const { environment, branch } = await resolveScope(environments, callerOf(context), context.requestHeader);
      const deployment = await sourceTarget(platform, environment.id, target || branch);
      refuseOtherBranch(deployment, branch);
      const size = await objects.size(deployment.sourceSha256);
      if (size === undefined) throw new Failure("not_found", `The source of deployment ${deployment.id} is no longer in the object store.`);
      return create(GetSourceResponseSchema, {
        deployment: await message(deployment, context),
        url: (await objects.sign("get", deployment.sourceSha256, size)).url,
      });
    },
  });
}

async function sourceTarget({ metadata, deployments }: Platform, environmentId: string, target: string): Promise<DeploymentRecord> {
  if (/^dpl_[0-9a-f]+$/.test(target)) return (await deployments()).find(target, environmentId);
  const live = (await deployments()).live(environmentId, target);
  if (live !== undefined) return (await deployments()).find(live, environmentId);
  const [latest] = await metadata.deployments({ environmentId, branch: target, limit: 1 });
  if (latest) return latest;
  if (target === "")
    throw new Failure("not_found", "Nothing is deployed in this environment yet.", { hint: "Deploy a project with `svc apply`." });
  const names = (await metadata.branches(environmentId)).map(({ name }) => name);
  const close = closestNames(target, names).map((name) => `'${name}'`);
  throw new Failure("not_found", `There is no branch or deployment '${target}' in this environment.`, {
    hint: close.length > 0 ? `Did you mean ${close.join(" or ")}?` : "`svc branch list` shows the branches.",
  });
}

/** Throws Failure invalid_argument when a blue/green deployment is to be something else as well. */
function checkBlueGreen({ blueGreen, noPromote, tags }: CreateDeploymentRequest, branch: string): void {
  if (!blueGreen) return;
  if (branch !== "") throw new Failure("invalid_argument", "A branch has no blue and green deployments.");
  if (noPromote) throw new Failure("invalid_argument", "A blue/green deployment takes over its tag, so it cannot go without promotion.");
  const color = COLORS.find((one) => tags.includes(one));
  if (color !== undefined)
    throw new Failure("invalid_argument", `A blue/green deployment gets its tag from the server; this one names '${color}'.`, {
      hint: `Deploy with the tag ${color} alone, or to the inactive one of blue and green.`,
    });
}

function checkTexts(request: {
  tags: string[];
  description: string;
  metadata: Record<string, string>;
  ciJobUrl: string;
  repositoryUrl: string;
  requirements: string;
  environmentNames: string[];
}): void {
  if (request.environmentNames.length > MAX_ENTRIES)
    throw new Failure("invalid_argument", `A project file has at most ${MAX_ENTRIES} environments.`);
  const texts = [...request.tags, request.description, ...Object.entries(request.metadata).flat(), request.ciJobUrl, request.repositoryUrl];
  if (request.tags.length > MAX_ENTRIES || Object.keys(request.metadata).length > MAX_ENTRIES) {
    throw new Failure("invalid_argument", `A deployment has at most ${MAX_ENTRIES} tags and ${MAX_ENTRIES} metadata entries.`);
  }
  if (texts.reduce((length, text) => length + text.length, 0) > MAX_TEXT) {
    throw new Failure("invalid_argument", `Tags, description and metadata have at most ${MAX_TEXT} characters together.`);
  }
}

/** The venvs of a request. Throws Failure invalid_argument. */
function venvsOf(venvs: readonly Venv[]): VenvRecord[] {
  if (venvs.length > MAX_VENVS) throw new Failure("invalid_argument", `A deployment has at most ${MAX_VENVS} venvs.`);
  const names = new Set(venvs.map(({ name }) => name));
  if (names.size < venvs.length) throw new Failure("invalid_argument", "Two venvs have one name.");
  for (const { name, requirements, runtime } of venvs) {
    const hint = "A name has letters, digits, '.', '_' and '-', at most 100 of them.";
    if (!VENV_NAME.test(name)) throw new Failure("invalid_argument", "The name of a venv is none.", { hint });
    if (requirements === "" || requirements.length > MAX_PATH || runtime.length > MAX_PATH)
      throw new Failure("invalid_argument", `Venv '${name}' needs a requirements file, by a path of at most ${MAX_PATH} characters.`);
  }
  return venvs.map(({ name, requirements, runtime }) => ({ name, requirements, runtime }));
}

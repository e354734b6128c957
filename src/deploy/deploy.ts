/**
 * One deployment, step by step: validate locally and on the server, show the diff, ask, upload,
 * deploy, wait.
 */

import { create, fromBinary, toJson } from "@bufbuild/protobuf";
import { CreateDeploymentRequestSchema, type Deployment, type DeploymentDiff, DeploymentStatus } from "../../gen/svc/v1/deployment_pb.ts";
import { type Diagnostic, Severity } from "../../gen/svc/v1/error_pb.ts";
import { type Feature, GraphSchema } from "../../gen/svc/v1/graph_pb.ts";
import type { Context } from "../context/context.ts";
import { isError } from "../domain/finding.ts";
import { outlivingFeatures } from "../domain/graph-diff.ts";
import { escapeControls } from "../domain/name.ts";
import { sizeText } from "../domain/size.ts";
import { AbortedError, CliError } from "../errors/cli-error.ts";
import { countLine, formatDiagnostics, lspDiagnostic } from "../output/diagnostic.ts";
import { largeFiles } from "../project/bundle.ts";
import type { SourceBundle } from "../project/project.ts";
import { secretsLeftOut } from "../project/secrets.ts";
import { followDeployment, statusName } from "./follow.ts";
import { pausedSchedules } from "./paused-schedules.ts";
import type { Provenance } from "./provenance.ts";
import { uploadBundle } from "./upload-bundle.ts";
import { environmentNames, type Validation, validateProject } from "./validate.ts";

/** Options of a deployment. */
export interface DeployOptions {
  readonly branch: string | undefined;
  readonly force: boolean;
  readonly dryRun: boolean;
  readonly await: boolean;
  readonly reset: boolean;
  readonly noPromote: boolean;
  readonly blueGreen: boolean;
  readonly profiling: boolean;
  readonly dump: boolean;
  readonly skipLsp: boolean;
  readonly skipSqlExtrasCheck: boolean;
  readonly tags: readonly string[];
  readonly description: string | undefined;
  readonly metadata: readonly (readonly [string, string])[];
  readonly provenance: Provenance;
}

/** The events of `apply`, in the order in which they happen. */
export type ApplyEvent =
  | { readonly kind: "payload"; readonly payload: unknown }
  | ({ readonly kind: "diff"; readonly payload?: unknown } & Plan)
  | ({
      readonly kind: "deployed";
      readonly deployment: Deployment;
      /** Whether queries of its scope reach the deployment once it is live. */
      readonly promoted: boolean;
      readonly payload?: unknown;
    } & Plan);

/** The changes of a deployment. */
export interface Plan {
  readonly diff: DeploymentDiff;
  /** Features whose cached values remain although their resolvers change. */
  readonly outliving: readonly Feature[];
}

/**
 * Deploys once. The generator resumes after each event is shown, so that the diff is above the
 * question. Throws a CliError when the project has errors or the deployment fails, and AbortedError
 * when the user says no; then nothing is deployed.
 */
export async function* deploy(context: Context, options: DeployOptions): AsyncGenerator<ApplyEvent, void, undefined> {
  let packing: Promise<SourceBundle> | undefined;
  const validation = await validateProject(context, {
    branch: options.branch,
    needsServer: true,
    skipLocalWarnings: options.skipLsp,
    skipDrivers: options.skipSqlExtrasCheck,
    meanwhile(project, { name }) {
      if (options.dryRun) return;
      packing = project.bundle(name);
      packing.catch(() => undefined);
    },
  });
  showFindings(context, validation);
  if (validation.serverFailure !== undefined) throw validation.serverFailure;
  const { diff, graph, graphBytes, project, environment } = validation;
  if (!diff || !graph || !graphBytes)
    throw new CliError("the server did not compare the project with what is live", { code: "broken_answer" });
  const request = {
    branch: options.branch ?? "",
    noPromote: options.noPromote,
    blueGreen: options.blueGreen,
    profiling: options.profiling,
    tags: [...options.tags],
    description: options.description ?? "",
    metadata: Object.fromEntries(options.metadata),
    ciJobUrl: options.provenance.ciJobUrl,
    repositoryUrl: options.provenance.repositoryUrl,
    reset: options.reset,
    runtime: environment.runtime ?? "",
    requirements: environment.requirements ?? "",
    venvs: (environment.venvs ?? []).map(({ name, requirements, runtime = "" }) => ({ name, requirements, runtime })),
    projectName: project.name,
    environmentNames: environmentNames(project),
  };
  const payload = options.dump
    ? {
        request: toJson(CreateDeploymentRequestSchema, create(CreateDeploymentRequestSchema, request)),
        graph: toJson(GraphSchema, fromBinary(GraphSchema, graphBytes())),
        files: await project.files(environment.name),
      }
    : undefined;
  if (payload !== undefined) yield { kind: "payload", payload };
  const { files, secrets } = await project.list(environment.name);
  if (secrets.length > 0) context.progress.warn(secretsLeftOut(secrets.map(escapeControls)));
  const large = largeFiles(files);
  if (large !== undefined) context.progress.warn(large);
  const hasCache = validation.liveProject !== "" && !options.reset;
  const plan: Plan = { diff, outliving: hasCache ? outlivingFeatures(diff, graph) : [] };
  yield { kind: "diff", ...plan };
  const created = creationOf(validation);
  if (created !== undefined) context.progress.note(created);
  const paused = validation.liveProject === "" || request.branch !== "" ? undefined : await pausedSchedules(context, graph);
  if (paused !== undefined) context.progress.note(paused);
  if (options.dryRun) return;
  if (!options.force && !(await context.prompt.confirm("Would you like to deploy?"))) throw new AbortedError();

  const service = await context.api.deployments();
  const started = await context.progress.step("Uploading the source", async (say) => {
    say(`packing ${sizeText(files.reduce((sum, { size }) => sum + size, 0))}`);
    const uploadId = await uploadBundle(context, await (packing ?? project.bundle(environment.name)), say);
    return (await service.createDeployment({ ...request, uploadId })).deployment;
  });
  if (!started) throw new CliError("the server did not name the deployment", { code: "broken_answer" });
  const deployment = options.await ? await followDeployment(context, started.id) : started;
  if (deployment.status === DeploymentStatus.FAILED) throw failedDeployment(context, deployment, validation);
  yield { kind: "deployed", deployment, promoted: !options.noPromote && !deployment.waitsForTraffic, ...plan, payload };
}

/** What a deployment makes beside itself, as a line for people; undefined when nothing. */
function creationOf({ place, project }: Validation): string | undefined {
  if (place?.createsProject)
    return `Project '${escapeControls(project.name)}' is new on this server: it is created, with environment '${escapeControls(place.environment)}'.`;
  if (place?.createsEnvironment)
    return `Environment '${escapeControls(place.environment)}' of project '${escapeControls(project.name)}' is new on this server: it is created.`;
  return undefined;
}

/** Prints findings on stderr. Throws when one of them stops the deployment. */
function showFindings({ progress }: Context, validation: Validation): void {
  const { diagnostics, source } = validation;
  if (diagnostics.length > 0) progress.note(formatDiagnostics(diagnostics, source));
  if (!diagnostics.some(isError)) return;
  throw new CliError(`the project was not deployed: ${countLine(diagnostics)}`, {
    code: "validation_failed",
    details: { diagnostics: findingsJson(diagnostics, validation) },
  });
}

function failedDeployment({ progress }: Context, deployment: Deployment, validation: Validation): CliError {
  const { diagnostics } = deployment;
  if (diagnostics.length > 0) progress.note(formatDiagnostics(diagnostics, validation.source));
  return new CliError(`deployment ${deployment.id} failed: ${deployment.error || statusName(deployment.status)}`, {
    code: "deployment_failed",
    hint: "What was live before still is.",
    details: { deployment_id: deployment.id, url: deployment.url, diagnostics: findingsJson(diagnostics, validation) },
  });
}

function findingsJson(diagnostics: readonly Diagnostic[], { source, project }: Validation): unknown[] {
  return diagnostics
    .map((finding) => (finding.severity === Severity.UNSPECIFIED ? { ...finding, severity: Severity.ERROR } : finding))
    .map((finding) => lspDiagnostic(finding, source, project.root));
}

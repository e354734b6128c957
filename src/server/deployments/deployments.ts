/**
 * The life of deployments: QUEUED, BUILDING, STARTING, then LIVE or FAILED. A deployment that fails
 * does not change what is live; one that starts takes over in one step, and the one that it
 * replaces finishes its running queries. A build is a job, so that an acknowledged deployment is
 * continued after the server died.
 */

import { type DeploymentDiff, DeploymentStatus } from "../../../gen/svc/v1/deployment_pb.ts";
import type { Diagnostic } from "../../../gen/svc/v1/error_pb.ts";
import type { Graph } from "../../../gen/svc/v1/graph_pb.ts";
import { errorText } from "../../domain/error-text.ts";
import type { DeploymentTarget } from "../access/scope.ts";
import { Failure } from "../failure.ts";
import { newId } from "../identifier.ts";
import type { Bus } from "../jobs/bus.ts";
import type { JobHandler } from "../jobs/runner.ts";
import { followStore } from "../nodes/follow.ts";
import { environmentsToldOf } from "../secrets/secrets.ts";
import type { DeploymentRecord, DeploymentStore, LivePointer, NewDeployment } from "../stores/metadata/deployments.ts";
import type { EnvironmentRecord } from "../stores/metadata/identity.ts";
import type { MetadataStore } from "../stores/metadata/store.ts";
import { type Builder, type BuilderOptions, createBuilder } from "./builder.ts";
import { buildJob, createBuilds } from "./builds.ts";
import { compareWithLive } from "./comparison.ts";
import { followEnvironments, suspended } from "./environment-states.ts";
import { createLifecycle } from "./lifecycle.ts";
import { createLiveScopes, type LiveChange, onlineScope } from "./live-scopes.ts";
import { createProgressBoard, type ProgressEvent } from "./progress.ts";
import { relayProgress } from "./progress-relay.ts";
import { createRunningDeployments, type Lease, type RunningDeployments, type StartedDeployment } from "./running.ts";
import { refuseVastGraph, validateGraph } from "./validation.ts";

/** The services that the capability needs. */
export interface DeploymentsOptions extends BuilderOptions {
  readonly metadata: BuilderOptions["metadata"] & DeploymentStore & Pick<MetadataStore, "progress">;
  readonly bus: Bus;
  /** Id of this node. */
  readonly node: string;
  /**
   * Milliseconds without a query after which a deployment stops, unless it is live in its
   * environment.
   */
  readonly idleMs?: number;
  /**
   * Tells others that a deployment is live or has failed; called until it resolved once, and
   * perhaps again.
   */
  readonly settled?: (deployment: DeploymentRecord) => Promise<void>;
}

/**
 * Throws Failure invalid_argument when `wanted` names a branch and the deployment belongs to
 * another.
 */
export function refuseOtherBranch(deployment: { readonly id: string; readonly branch: string }, wanted: string): void {
  if (wanted === "" || deployment.branch === wanted) return;
  const own = deployment.branch === "" ? "the environment's own" : `of branch '${deployment.branch}'`;
  throw new Failure("invalid_argument", `Deployment ${deployment.id} is ${own}, not of branch '${wanted}'.`, {
    hint: "Name the deployment or the branch, not both.",
  });
}

/** The capability to deploy. */
export interface Deployments {
  /**
   * Stores a new deployment, durably when this resolves, and queues its build. Rejects with Failure
   * `suspended` when its environment is.
   */
  create(deployment: NewDeployment): Promise<DeploymentRecord>;
  /** The states and progress of a deployment until it is settled. Throws Failure not_found. */
  watch(id: string, environmentId: string, signal: AbortSignal): AsyncIterable<ProgressEvent>;
  /** A deployment of an environment. Throws Failure not_found. */
  find(id: string, environmentId: string): Promise<DeploymentRecord>;
  /**
   * The server's findings on a graph, the changes that deploying it would make, and the name of the
   * project that is live in its scope (empty = none). Throws Failure invalid_argument for a graph
   * of too many definitions.
   */
  validate(
    environment: Pick<EnvironmentRecord, "id" | "name">,
    branch: string,
    graph: Graph,
  ): Promise<{ readonly diagnostics: Diagnostic[]; readonly diff: DeploymentDiff; readonly liveProjectName: string }>;
  /**
   * Id of the deployment that a target names, or of the live one of its scope. Throws Failure
   * not_found, invalid_argument or failed_precondition.
   */
  resolve(target: DeploymentTarget): Promise<string>;
  /** The graph of a deployment. Throws Failure failed_precondition when it has none. */
  graph(id: string): Promise<Graph>;
  /**
   * The deployment that goes live next in a scope and its progress, in words; undefined when there
   * is none.
   */
  underway(environmentId: string, branch: string): string | undefined;
  /**
   * A lease on the deployment to run a query on, which is started if it does not run. To be
   * released when the query has ended. Throws, or rejects with, Failure; `suspended` when its
   * environment is.
   */
  acquire(target: DeploymentTarget): Lease | Promise<Lease>;
  /** Deployments that run now. */
  readonly running: RunningDeployments;
  /**
   * Stops the deployments of an environment on this node. Resolves when running queries have ended
   * and nothing of it runs.
   */
  halt(environmentId: string): Promise<void>;
  /** The handler of BUILD_JOB jobs. */
  readonly builds: JobHandler;
  /** Resolves when every environment's live deployment runs or has failed to start. */
  readonly restored: Promise<void>;
  /** Stops the workers. Builds were stopped before, by the job runner. */
  close(): Promise<void>;
}

/**
 * Makes the capability; starts the environments' live deployments, and those that another node
 * makes live. Deployments that are not settled continue when a job runner claims their builds.
 */
export async function createDeployments(options: DeploymentsOptions): Promise<Deployments> {
  const { metadata, online, bus, clock, log } = options;
  const builder: Builder = createBuilder(options);
  const scopes = createLiveScopes(await metadata.livePointers());
  await builder.tidy(new Set(scopes.list().map(({ deploymentId }) => deploymentId)));
  const board = createProgressBoard(clock);
  const relay = relayProgress({ ...options, board, onRemoteChange: (deployment) => warmUp(deployment) });
  const running = createRunningDeployments({ clock, log, ...(options.idleMs === undefined ? {} : { idleMs: options.idleMs }) });
  const closing = new AbortController();

  const start = async (deployment: DeploymentRecord, signal: AbortSignal): Promise<StartedDeployment> => {
    const started = await builder.start(deployment, (line) => lifecycle.note(deployment, line), signal);
    const refused = states.refusal(deployment.environmentId);
    if (refused === undefined) return started;
    await started.stop(0);
    throw new Error(refused);
  };

  /**
   * Starts a deployment that another node is about to make live in an environment, so that this
   * node can answer with it at once; stops it when it fails.
   */
  const warmUp = (deployment: DeploymentRecord): void => {
    const { id, branch, noPromote, status } = deployment;
    if (branch !== "" || noPromote) return;
    if (status === DeploymentStatus.FAILED) void running.retire(id);
    if (status !== DeploymentStatus.STARTING) return;
    const started = running.acquire(id, () => builder.start(deployment, () => undefined, closing.signal));
    Promise.resolve(started).then(
      (lease) => lease.release(),
      (error: unknown) => log.debug("a deployment of another node could not be started ahead", { deployment: id, error: String(error) }),
    );
  };

  const applyChange = ({ environmentId, branch, before, now }: LiveChange): void => {
    if (before !== undefined) {
      running.pin(before, false);
      void running.retire(before);
    }
    if (now !== undefined && branch === "") void startLive({ environmentId, branch, deploymentId: now });
  };
  const readLive = async (): Promise<void> => scopes.replace(await metadata.livePointers()).forEach(applyChange);

  const lifecycle = createLifecycle({
    ...options,
    publish: relay.publish,
    async promoted(id) {
      await live.reread().catch(() => undefined);
      bus.publish("live", id);
    },
  });

  const takeOver = async (deployment: DeploymentRecord, signal: AbortSignal): Promise<void> => {
    const { id, environmentId, branch } = deployment;
    if (deployment.reset && branch !== "") await online.dropScope(onlineScope(environmentId, branch));
    if (deployment.noPromote) {
      await lifecycle.move(id, { status: DeploymentStatus.LIVE }, signal);
      return;
    }
    await lifecycle.promote(deployment, signal);
  };

  const find = async (id: string, environmentId: string): Promise<DeploymentRecord> => {
    const deployment = await metadata.deployment(id);
    if (deployment?.environmentId === environmentId) return deployment;
    throw new Failure("not_found", `There is no deployment '${id}' in this environment.`, {
      hint: "`svc branch list` and the dashboard show what there is.",
    });
  };

  const underway = (environmentId: string, branch: string): string | undefined => {
    const next = board
      .underway()
      .find(({ deployment }) => deployment.environmentId === environmentId && deployment.branch === branch && !deployment.noPromote);
    return next && `deployment ${next.deployment.id} is being deployed (${stateOf(next)})`;
  };

  /**
   * The failure of a query when nothing is live in its scope: a deployment is under way, it failed,
   * or there was none.
   */
  const nothingLive = async ({ environment, branch }: DeploymentTarget): Promise<Failure> => {
    const scope = branch === "" ? `in environment '${environment.name}'` : `on branch '${branch}' of environment '${environment.name}'`;
    const next = underway(environment.id, branch);
    if (next !== undefined)
      return new Failure("failed_precondition", `Nothing is live ${scope} yet: ${next}.`, {
        hint: "Ask again in a moment; `svc apply --await` waits until it is live.",
      });
    const [last] = await metadata.deployments({ environmentId: environment.id, branch, limit: 1 });
    if (last?.status === DeploymentStatus.FAILED)
      return new Failure("failed_precondition", `Nothing is live ${scope}: deployment ${last.id} failed: ${last.error}`, {
        hint: "Deploy again with `svc apply` when that is mended.",
      });
    return branch === ""
      ? new Failure("failed_precondition", `Nothing is deployed ${scope} yet.`, { hint: "Deploy a project with `svc apply`." })
      : new Failure("not_found", `Nothing is live ${scope}.`, { hint: `Deploy to it with \`svc apply --branch ${branch}\`.` });
  };

  const liveOf = async (target: DeploymentTarget): Promise<string> => {
    const live = scopes.get(target.environment.id, target.branch);
    if (live !== undefined) return live;
    throw await nothingLive(target);
  };

  const acquireById = async (id: string, environmentId: string, branch: string): Promise<Lease> => {
    const deployment = await find(id, environmentId);
    refuseOtherBranch(deployment, branch);
    if (states.refusal(environmentId) !== undefined) {
      const environment = await metadata.environment(environmentId);
      if (environment) throw suspended(environment);
    }
    if (deployment.status !== DeploymentStatus.LIVE && deployment.status !== DeploymentStatus.INACTIVE) {
      const doing = board.underway().find((event) => event.deployment.id === id);
      const why = doing ? `is being deployed (${stateOf(doing)})` : `failed (${deployment.error})`;
      throw new Failure("failed_precondition", `Deployment ${id} cannot answer queries: it ${why}.`);
    }
    try {
      return await running.acquire(id, () => start(deployment, closing.signal));
    } catch (error) {
      throw new Failure("unavailable", `Deployment ${id} could not be started: ${errorText(error)}`, {
        hint: "Deploy again with `svc apply`.",
      });
    }
  };

  const startLive = async ({ deploymentId, environmentId }: LivePointer): Promise<void> => {
    if (states.refusal(environmentId) !== undefined) return;
    running.pin(deploymentId, true);
    try {
      (await acquireById(deploymentId, environmentId, "")).release();
    } catch (error) {
      if (!closing.signal.aborted) log.error("a live deployment could not be started", { deployment: deploymentId, error: String(error) });
    }
  };

  const halt = async (environmentId: string): Promise<void> => {
    const isIts = (one: { readonly environmentId: string }) => one.environmentId === environmentId;
    const pointed = scopes
      .list()
      .filter(isIts)
      .map(({ deploymentId }) => deploymentId);
    const ids = new Set([
      ...running
        .list()
        .filter(isIts)
        .map(({ id }) => id),
      ...pointed,
    ]);
    for (const id of ids) running.pin(id, false);
    await Promise.all([...ids].map((id) => running.retire(id)));
  };
  const startAll = (environmentId: string): void => {
    const deploymentId = scopes.get(environmentId, "");
    if (deploymentId !== undefined) void startLive({ environmentId, branch: "", deploymentId });
  };
  const states = await followEnvironments({
    ...options,
    changes: {
      stop(environmentId, reason) {
        log.info("everything of an environment is stopped", { environment: environmentId, reason });
        void halt(environmentId);
      },
      start: startAll,
      restart(environmentId) {
        log.info("what runs in an environment is started anew with its new name", { environment: environmentId });
        void halt(environmentId);
        startAll(environmentId);
      },
    },
  });

  const restored = Promise.all(
    scopes
      .list()
      .filter(({ branch }) => branch === "")
      .map(startLive),
  );
  const settings = followStore({ bus, topic: "documents", clock, log, read: (ids) => running.renew(environmentsToldOf(ids)) });
  const live = followStore({ bus, topic: "live", clock, log, read: readLive });
  await relay.caughtUp();

  return {
    running,
    find,
    halt,
    builds: createBuilds({
      metadata,
      builder,
      lifecycle,
      running,
      start,
      takeOver,
      refusal: states.refusal,
      halted: states.signal,
      settled: options.settled ?? (() => Promise.resolve()),
    }),
    restored: restored.then(() => undefined),

    async create(wanted) {
      const environment = await metadata.environment(wanted.environmentId);
      if (environment?.suspendedAt !== undefined) throw suspended(environment);
      const now = clock.now();
      const deployment: DeploymentRecord = {
        ...wanted,
        id: newId("dpl", now),
        status: DeploymentStatus.QUEUED,
        promoted: false,
        createdAt: now,
        updatedAt: now,
        error: "",
        diagnostics: [],
      };
      await metadata.createDeployment(deployment, buildJob(newId("job", now), deployment));
      relay.publish({ deployment, progress: "" });
      bus.publish("jobs");
      return deployment;
    },

    async *watch(id, environmentId, signal) {
      await find(id, environmentId);
      yield* board.follow(() => find(id, environmentId), id, AbortSignal.any([signal, closing.signal]));
    },

    async validate(environment, branch, graph) {
      refuseVastGraph(graph);
      const diagnostics = await validateGraph(graph, environment, {
        env: options.env,
        integrations: (await options.secrets.variables(environment.id)).integrations,
      });
      const live = scopes.get(environment.id, branch);
      const base = live ?? scopes.get(environment.id, "");
      const diff = await compareWithLive(metadata, environment.id, base, graph, base === undefined ? undefined : running.peek(base)?.graph);
      return { diagnostics, diff, liveProjectName: (live && (await metadata.deployment(live))?.projectName) || "" };
    },

    async resolve(target) {
      if (target.deploymentId === "") return liveOf(target);
      const deployment = await find(target.deploymentId, target.environment.id);
      refuseOtherBranch(deployment, target.branch);
      return deployment.id;
    },

    graph: (id) => builder.graph(id),

    underway,

    acquire(target) {
      if (target.environment.suspendedAt !== undefined) throw suspended(target.environment);
      const id = target.deploymentId || scopes.get(target.environment.id, target.branch);
      if (id === undefined) return nothingLive(target).then((failure) => Promise.reject(failure));
      const known = running.peek(id);
      const isNamedTwice = target.deploymentId !== "" && target.branch !== "";
      if (known?.environmentId === target.environment.id && !isNamedTwice) {
        return running.acquire(id, () => Promise.reject(new Error("the deployment runs already")));
      }
      return acquireById(id, target.environment.id, target.branch);
    },

    async close() {
      closing.abort(new Error("the server is stopping"));
      await Promise.all([live.stop(), settings.stop(), relay.stop(), states.stop()]);
      await running.close();
    },
  };
}

/** The last progress line of a deployment, or its state when there is none. */
function stateOf({ deployment, progress }: ProgressEvent): string {
  return progress || DeploymentStatus[deployment.status].toLowerCase();
}

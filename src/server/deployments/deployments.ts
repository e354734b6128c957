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
import { SharedDefinitions } from "../../domain/graph-bytes.ts";
import { groupFindings } from "../../domain/resource-groups.ts";
import type { DeploymentTarget } from "../access/scope.ts";
import { createCollection } from "../documents/collection.ts";
import { Failure } from "../failure.ts";
import { newId } from "../identifier.ts";
import type { Bus } from "../jobs/bus.ts";
import { noteChange } from "../jobs/changes.ts";
import type { JobHandler } from "../jobs/runner.ts";
import { followStore } from "../nodes/follow.ts";
import { environmentsToldOf } from "../secrets/secrets.ts";
import type { DeploymentRecord, DeploymentStore, NewDeployment } from "../stores/metadata/deployments.ts";
import type { EnvironmentRecord } from "../stores/metadata/identity.ts";
import type { MetadataStore } from "../stores/metadata/store.ts";
import {
  type Builder,
  type BuilderOptions,
  createBuilder,
  type DeploymentRuntime,
  type RuntimeOptions,
  servingWorkers,
} from "./builder.ts";
import { buildJob, createBuilds } from "./builds.ts";
import { compareWithLive } from "./comparison.ts";
import { followEnvironments, type Protection, suspended } from "./environment-states.ts";
import { deployedFunctions } from "./function-versions.ts";
import { createLifecycle } from "./lifecycle.ts";
import { createLiveScopes, onlineScope, type ServingDeployment } from "./live-scopes.ts";
import { createProfiles, type Profile } from "./profiles.ts";
import { createProgressBoard, isSettled, type ProgressEvent } from "./progress.ts";
import { relayProgress } from "./progress-relay.ts";
import { createPromotions, type Promotions } from "./promotions.ts";
import { createRemovals, type Removals } from "./removals.ts";
import { createRunningDeployments, type Lease, type RunningDeployments, type StartedDeployment } from "./running.ts";
import { createTraffic, READY, type Traffic, type TrafficSetting } from "./traffic.ts";
import { createPlaces, deploymentAt, isShared } from "./traffic-rules.ts";
import { refuseVastGraph, validateGraph } from "./validation.ts";

/** The services that the capability needs. */
export interface DeploymentsOptions extends Omit<BuilderOptions, "profiles" | "decode"> {
  readonly metadata: BuilderOptions["metadata"] &
    DeploymentStore &
    Pick<MetadataStore, "approvals" | "documents" | "functions" | "progress">;
  readonly protection: Protection;
  readonly bus: Bus;
  /** Id of this node. */
  readonly node: string;
  /**
   * Milliseconds without a query after which a deployment stops, unless it is live in its
   * environment.
   */
  readonly idleMs?: number;
  /**
   * Tells others that a deployment is live, waits for approval or has failed; called until it
   * resolved once, and perhaps again.
   */
  readonly settled?: (deployment: DeploymentRecord) => Promise<void>;
  /** Warnings about a graph that follow from other settings of its environment. */
  readonly advice?: (graph: Graph, environmentId: string) => Promise<readonly Diagnostic[]>;
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

/** Makes the request for the approval of a deployment. */
export type ApprovalOf = (deployment: DeploymentRecord) => Promise<Parameters<DeploymentStore["createDeployment"]>[2]>;

/** The place of a deployment among the others of its scope. */
export interface Standing {
  /** Whether it answers queries of its scope. */
  readonly answers: boolean;
  /** Whether it is among those that are to run, also when no query needs it now. */
  readonly serves: boolean;
  /** Whether queries of its scope reach it only once a tag of its own is given a weight. */
  readonly waits: boolean;
}

/** The capability to deploy. */
export interface Deployments extends Promotions, Removals {
  /**
   * Stores a new deployment, durably when this resolves, and queues its build. Rejects with Failure
   * `suspended` when its environment is, not_found when that is gone, and resource_exhausted when
   * too many requests for approval wait there.
   * @param approvalOf the request for its approval, and the most that may be pending; undefined =
   * it needs none
   */
  create(deployment: NewDeployment, approvalOf?: ApprovalOf): Promise<DeploymentRecord>;
  /** Tells the followers of a deployment that its approval was decided. */
  decided(deploymentId: string): Promise<void>;
  /**
   * Marks as approved what serves an environment and its branches, and what a rollback goes back
   * to.
   */
  approveServing(environmentId: string): Promise<void>;
  /** The states and progress of a deployment until it is settled. Throws Failure not_found. */
  watch(id: string, environmentId: string, signal: AbortSignal): AsyncIterable<ProgressEvent>;
  /** A deployment of an environment. Throws Failure not_found. */
  find(id: string, environmentId: string): Promise<DeploymentRecord>;
  /**
   * The deployment of an id or a tag: that of the tag's traffic, else the newest ready one, else
   * the newest one of the branch. Throws Failure not_found.
   */
  named(idOrTag: string, environmentId: string, branch: string): Promise<DeploymentRecord>;
  /** Where a deployment stands. */
  standing(deployment: DeploymentRecord): Standing;
  /**
   * The server's findings on a graph, the changes that deploying it would make, and the name of the
   * project that is live in its scope (empty = none). Throws Failure invalid_argument for a graph
   * of too many definitions.
   * @param bytes the graph, which was looked through: it can be decoded
   */
  validate(
    environment: Pick<EnvironmentRecord, "id" | "name">,
    branch: string,
    bytes: Uint8Array,
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
   * Id of the live deployment of a scope; where queries are shared by weights, of that with most.
   */
  live(environmentId: string, branch: string): string | undefined;
  /**
   * A lease on the deployment to run a query on, which is started if it does not run. To be
   * released when the query has ended. Throws, or rejects with, Failure; `suspended` when its
   * environment is.
   * @param correlationId queries with the same one go to the same deployment; default: any
   */
  acquire(target: DeploymentTarget, correlationId?: string): Lease | Promise<Lease>;
  /**
   * What a process of a deployment's code is started with, apart from its workers: its source is
   * unpacked into a folder that there is not yet. Rejects with Failure when it may not run, and
   * with BuildFailed.
   */
  runtime(
    id: string,
    environmentId: string,
    source: string,
    signal: AbortSignal,
    venv?: string,
    options?: RuntimeOptions,
  ): Promise<DeploymentRuntime>;
  /**
   * A signal that is aborted, with a reason in words, when an environment is suspended or removed.
   */
  halted(environmentId: string): AbortSignal;
  /** Deployments, other than the one that answers it, that a query is to be copied to. */
  mirrorsOf(target: DeploymentTarget, answeredBy: string, correlationId: string): readonly (() => Lease | Promise<Lease>)[];
  /** What a deployment's resolvers spent their time on, on this node. */
  profile(id: string): Profile;
  /** How queries are shared among deployments. */
  readonly traffic: Traffic;
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
  const profiles = createProfiles();
  const { decode } = new SharedDefinitions();
  const builder: Builder = createBuilder({ ...options, profiles, decode });
  const settings = createCollection<TrafficSetting>(
    { documents: metadata.documents, bus, clock, log },
    {
      kind: "traffic",
      noun: "traffic setting",
      idPrefix: "trf",
      listedBy: "svc traffic get",
      maxPerScope: 1,
    },
  );
  const traffic = createTraffic({
    settings,
    metadata,
    now: () => clock.now(),
    requireApproved: async (id, environmentId) => requireApproved(await find(id, environmentId)),
    warmUp: async (id, environmentId) => (await acquireServing({ id, environmentId, branch: "" })).release(),
    changed: (environmentId) => announceLive(environmentId),
  });
  /**
   * The weights of all environments, without tags whose deployment is gone, and then the pointers,
   * which take over from weights.
   */
  const readServing = async () => {
    const weights = await Promise.all(
      (await traffic.all()).map(async ({ environmentId, tags }) => ({
        environmentId,
        tags: (await Promise.all(tags.map(async (one) => ((await metadata.deployment(one.deploymentId)) ? [one] : [])))).flat(),
      })),
    );
    return [await metadata.livePointers(), weights] as const;
  };
  const scopes = createLiveScopes(...(await readServing()));
  await builder.tidy(new Set(scopes.serving().map(({ id }) => id)));
  const placeOf = createPlaces();
  const mirrorPlaceOf = createPlaces();
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

  const readLive = async (): Promise<void> => {
    const { begun, ended } = scopes.replace(...(await readServing()));
    for (const id of ended) {
      running.pin(id, false);
      void running.retire(id);
    }
    for (const deployment of begun) if (deployment.branch === "") void keepServing(deployment);
    for (const { id } of running.list()) if (!scopes.serves(id) && !(await metadata.deployment(id))) void running.retire(id);
  };

  /** Makes this node and then the others see what answers queries of an environment now. */
  const announceLive = async (environmentId: string): Promise<void> => {
    await live.reread().catch(() => undefined);
    bus.publish("live", environmentId);
    noteChange(bus, "deployments", environmentId);
  };

  const lifecycle = createLifecycle({
    ...options,
    publish: relay.publish,
    promoted: announceLive,
  });

  const takeOver = async (deployment: DeploymentRecord, signal: AbortSignal): Promise<void> => {
    const { id, environmentId, branch } = deployment;
    if (deployment.reset && branch !== "") await online.dropScope(onlineScope(environmentId, branch));
    const functions = deployedFunctions(await builder.graph(id));
    if (functions.length > 0) await metadata.functions.place(deployment, functions, () => newId("fnv", clock.now()), clock.now());
    const outcome = deployment.noPromote || branch !== "" ? undefined : await traffic.deployed(deployment);
    if (outcome === "waits") lifecycle.note(deployment, "ready; queries are shared among other tags");
    if (deployment.noPromote || outcome === "answers" || outcome === "waits") {
      await lifecycle.move(id, { status: DeploymentStatus.LIVE }, signal);
      return;
    }
    await lifecycle.promote(deployment, signal);
  };

  const find = async (id: string, environmentId: string): Promise<DeploymentRecord> => {
    const deployment = await metadata.deployment(id);
    if (deployment?.environmentId === environmentId) return deployment;
    throw new Failure("not_found", `There is no deployment '${id}' in this environment.`, {
      hint: "`svc deployment list` shows what there is.",
    });
  };

  const named = async (idOrTag: string, environmentId: string, branch: string): Promise<DeploymentRecord> => {
    if (/^dpl_[0-9a-f]+$/.test(idOrTag)) {
      const deployment = await find(idOrTag, environmentId);
      refuseOtherBranch(deployment, branch);
      return deployment;
    }
    const weighted = branch === "" ? (await traffic.weighted(environmentId)).find(({ tag }) => tag === idOrTag) : undefined;
    const held = weighted && (await metadata.deployment(weighted.deploymentId));
    if (held) return held;
    const tagged = { environmentId, branch, tags: [idOrTag], limit: 1 };
    const [deployment] = [...(await metadata.deployments({ ...tagged, statuses: READY })), ...(await metadata.deployments(tagged))];
    if (deployment) return deployment;
    throw new Failure(
      "not_found",
      `There is no deployment '${idOrTag}' ${branch === "" ? "in this environment" : `on branch '${branch}'`}.`,
      {
        hint: "Give an id or a tag; `svc deployment list` shows both.",
      },
    );
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

  /** A deployment whose code may run now. Rejects with Failure for any other. */
  const runnable = async (id: string, environmentId: string): Promise<DeploymentRecord> => {
    const deployment = await find(id, environmentId);
    if (states.refusal(environmentId) !== undefined) {
      const environment = await metadata.environment(environmentId);
      if (environment) throw suspended(environment);
    }
    if (deployment.status !== DeploymentStatus.LIVE && deployment.status !== DeploymentStatus.INACTIVE) {
      const doing = board.underway().find((event) => event.deployment.id === id);
      const why = doing ? `is being deployed (${stateOf(doing)})` : `failed (${deployment.error})`;
      throw new Failure("failed_precondition", `Deployment ${id} cannot answer queries: it ${why}.`);
    }
    await requireApproved(deployment);
    return deployment;
  };

  const acquireById = async (id: string, environmentId: string, branch: string): Promise<Lease> => {
    refuseOtherBranch(await find(id, environmentId), branch);
    return startById(await runnable(id, environmentId));
  };

  /** Whether a deployment may not run because nobody approved it. */
  const needsApproval = async ({ id, environmentId, approved }: DeploymentRecord): Promise<boolean> =>
    !approved && !scopes.serves(id) && (await options.protection.isProtected(environmentId));
  const requireApproved = async (deployment: DeploymentRecord): Promise<void> => {
    if (await needsApproval(deployment)) throw notApproved(deployment);
  };

  const startById = async (deployment: DeploymentRecord): Promise<Lease> => {
    try {
      return await running.acquire(deployment.id, () => start(deployment, closing.signal));
    } catch (error) {
      throw new Failure("unavailable", `Deployment ${deployment.id} could not be started: ${errorText(error)}`, {
        hint: "Deploy again with `svc apply`.",
      });
    }
  };

  /** A lease on a deployment that serves, whatever its state: it was started before it served. */
  const acquireServing = async ({ id, environmentId, branch }: ServingDeployment): Promise<Lease> => {
    const lease = running.peek(id) ? await running.acquire(id, never) : await startById(await find(id, environmentId));
    if (branch === "") lease.deployment.pool.resize?.(servingWorkers(options));
    return lease;
  };

  const keepServing = async (deployment: ServingDeployment): Promise<void> => {
    if (states.refusal(deployment.environmentId) !== undefined) return;
    running.pin(deployment.id, true);
    try {
      (await acquireServing(deployment)).release();
    } catch (error) {
      if (!closing.signal.aborted) log.error("a live deployment could not be started", { deployment: deployment.id, error: String(error) });
    }
  };

  const halt = async (environmentId: string): Promise<void> => {
    const isIts = (one: { readonly environmentId: string }) => one.environmentId === environmentId;
    const ids = new Set([...running.list(), ...scopes.serving()].filter(isIts).map(({ id }) => id));
    for (const id of ids) running.pin(id, false);
    await Promise.all([...ids].map((id) => running.retire(id)));
  };
  const startAll = (environmentId: string): void => {
    for (const one of scopes.serving()) if (one.environmentId === environmentId && one.branch === "") void keepServing(one);
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
  /** The deployment of a query's share of the traffic; undefined when traffic is not shared. */
  const routed = ({ environment, branch }: DeploymentTarget, correlationId: string): string | undefined => {
    const route = branch === "" ? scopes.route(environment.id) : undefined;
    return route && deploymentAt(route, placeOf(correlationId));
  };

  /** Stops a deployment that was deleted on this node, and removes its folder. */
  const retire = async (id: string): Promise<void> => {
    running.pin(id, false);
    await running.retire(id);
    await builder.discard(id);
  };

  const decided = async (id: string): Promise<void> => {
    const deployment = await metadata.deployment(id);
    if (!deployment) return;
    relay.publish({ deployment, progress: "" });
    bus.publish("jobs");
    noteChange(bus, "runs", deployment.environmentId);
    if (isSettled(deployment.status)) await options.settled?.(deployment);
  };

  const restored = Promise.all(
    scopes
      .serving()
      .filter(({ branch }) => branch === "")
      .map(keepServing),
  );
  const variables = followStore({ bus, topic: "documents", clock, log, read: (ids) => running.renew(environmentsToldOf(ids)) });
  const live = followStore({ bus, topic: "live", clock, log, read: readLive });
  await relay.caughtUp();

  const isTakenOver = async ({ id, environmentId }: DeploymentRecord): Promise<boolean> => {
    const tags = await traffic.weighted(environmentId);
    return isShared(tags) && tags.some(({ deploymentId }) => deploymentId === id);
  };

  return {
    running,
    find,
    halt,
    named,
    traffic,
    profile: profiles.of,
    ...createPromotions({
      metadata,
      lifecycle,
      traffic,
      requireApproved,
      acquire: (deployment) => acquireServing(deployment),
      signal: closing.signal,
    }),
    ...createRemovals({ metadata, online, objects: options.objects, traffic, now: () => clock.now(), retire, announceLive, bus }),
    builds: createBuilds({
      ...{ metadata, builder, lifecycle, running, start, takeOver, isTakenOver, needsApproval },
      ...{ clock, refusal: states.refusal, halted: states.signal, settled: options.settled ?? (() => Promise.resolve()) },
    }),
    restored: restored.then(() => undefined),

    standing({ id, environmentId, branch, blueGreen, noPromote, status, tags }) {
      const answers = scopes.answers(id);
      const shared = branch === "" ? scopes.traffic(environmentId) : [];
      const isOver = status === DeploymentStatus.INACTIVE || status === DeploymentStatus.FAILED;
      const takesOver = !blueGreen && shared.some(({ tag, weight }) => weight && tags.includes(tag));
      return { answers, serves: scopes.serves(id), waits: !answers && !noPromote && !isOver && isShared(shared) && !takesOver };
    },

    async create(wanted, approvalOf) {
      const environment = await metadata.environment(wanted.environmentId);
      if (!environment) throw new Failure("not_found", "The environment was deleted meanwhile.");
      if (environment.suspendedAt !== undefined) throw suspended(environment);
      const now = clock.now();
      const live = wanted.reset || wanted.branch === "" ? undefined : scopes.get(wanted.environmentId, wanted.branch);
      const layers = wanted.layers ?? (live === undefined ? undefined : await metadata.deployment(live))?.layers ?? [];
      const color = wanted.blueGreen ? [await traffic.colorFor(wanted.environmentId)] : [];
      const deployment: DeploymentRecord = {
        ...wanted,
        tags: [...color, ...wanted.tags],
        layers,
        id: newId("dpl", now),
        status: DeploymentStatus.QUEUED,
        promoted: false,
        approved: false,
        createdAt: now,
        updatedAt: now,
        error: "",
        diagnostics: [],
      };
      const replaced = await metadata.createDeployment(deployment, buildJob(newId("job", now), deployment), await approvalOf?.(deployment));
      if (replaced === "full")
        throw new Failure("resource_exhausted", `Too many requests for approval are pending in environment '${environment.name}'.`, {
          hint: "`svc approval list` shows them.",
        });
      for (const { deploymentId } of replaced) await decided(deploymentId);
      relay.publish({ deployment, progress: "" });
      bus.publish("jobs");
      noteChange(bus, "runs", deployment.environmentId);
      return deployment;
    },

    decided,

    async approveServing(environmentId) {
      const pointers = (await metadata.livePointers()).filter((one) => one.environmentId === environmentId);
      const weighted = await traffic.weighted(environmentId);
      await metadata.approveDeployments([
        ...pointers.flatMap(({ deploymentId, previousId }) => [deploymentId, ...(previousId === undefined ? [] : [previousId])]),
        ...weighted.map(({ deploymentId }) => deploymentId),
      ]);
    },

    async *watch(id, environmentId, signal) {
      await find(id, environmentId);
      yield* board.follow(() => find(id, environmentId), id, AbortSignal.any([signal, closing.signal]));
    },

    async validate(environment, branch, bytes) {
      const graph = decode(bytes);
      refuseVastGraph(graph);
      const diagnostics = await validateGraph(graph, environment, {
        env: options.env,
        home: options.home,
        integrations: (await options.secrets.variables(environment.id)).integrations,
        tables: options.tables,
        isProtected: await options.protection.isProtected(environment.id),
      });
      diagnostics.push(...groupFindings(graph, await options.groups(environment.id), environment.name));
      diagnostics.push(...((await options.advice?.(graph, environment.id)) ?? []));
      const live = scopes.get(environment.id, branch);
      const base = live ?? scopes.get(environment.id, "");
      const known = base === undefined ? undefined : running.peek(base)?.graph;
      const diff = await compareWithLive(metadata, environment.id, base, graph, decode, known);
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
    live: scopes.get,

    acquire(target, correlationId = "") {
      if (target.environment.suspendedAt !== undefined) throw suspended(target.environment);
      const id = target.deploymentId || routed(target, correlationId) || scopes.get(target.environment.id, target.branch);
      if (id === undefined) return nothingLive(target).then((failure) => Promise.reject(failure));
      const known = running.peek(id);
      const isNamed = target.deploymentId !== "";
      const isChecked = isNamed && (target.branch !== "" || states.isProtected(target.environment.id));
      if (known?.environmentId === target.environment.id && !isChecked) {
        return running.acquire(id, never);
      }
      return isNamed
        ? acquireById(id, target.environment.id, target.branch)
        : acquireServing({ id, environmentId: target.environment.id, branch: target.branch });
    },

    runtime: async (id, environmentId, source, signal, venv, more) =>
      builder.runtime(await runnable(id, environmentId), source, signal, venv, more),
    halted: (environmentId) => states.signal(environmentId),

    mirrorsOf({ environment, branch, deploymentId }, answeredBy, correlationId) {
      const route = branch === "" && deploymentId === "" ? scopes.route(environment.id) : undefined;
      if (!route || route.mirrors.length === 0) return NO_MIRRORS;
      const place = mirrorPlaceOf(correlationId === "" ? "" : `mirror:${correlationId}`);
      return route.mirrors
        .filter((one) => place < one.share && one.deploymentId !== answeredBy)
        .map((one) => () => acquireServing({ id: one.deploymentId, environmentId: environment.id, branch: "" }));
    },

    async close() {
      closing.abort(new Error("the server is stopping"));
      await Promise.all([live.stop(), variables.stop(), relay.stop(), states.stop(), settings.close()]);
      await running.close();
    },
  };
}

/** The failure of what would run a deployment that nobody approved. */
function notApproved({ id }: DeploymentRecord): Failure {
  return new Failure("failed_precondition", `Deployment ${id} was not approved, and its environment is protected: it runs nowhere.`, {
    hint: "`svc approval list` shows what waits for approval; `svc apply` asks for that of another deployment.",
  });
}

const NO_MIRRORS: readonly never[] = [];

/** The start of a deployment that runs already. */
const never = (): Promise<never> => Promise.reject(new Error("the deployment runs already"));

/** The last progress line of a deployment, or its state when there is none. */
function stateOf({ deployment, progress }: ProgressEvent): string {
  return progress || DeploymentStatus[deployment.status].toLowerCase();
}

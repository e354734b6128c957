/**
 * The build and the start of one deployment: its folder, its graph, its workers. Knows nothing of
 * which deployments are live.
 */

import { chmodSync, existsSync } from "node:fs";
import { readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join, posix } from "node:path";
import { toBinary } from "@bufbuild/protobuf";
import type { Diagnostic, Span } from "../../../gen/svc/v1/error_pb.ts";
import { type Graph, GraphSchema, type Resolver } from "../../../gen/svc/v1/graph_pb.ts";
import type { Clock } from "../../context/clock.ts";
import { makePrivateFolder } from "../../disk/private-file.ts";
import { unpackArchive } from "../../disk/unpack.ts";
import { DEFAULT_GROUP } from "../../domain/environment-config.ts";
import { isError } from "../../domain/finding.ts";
import type { GraphDecoder } from "../../domain/graph-bytes.ts";
import { resolversIn } from "../../domain/graph-diff.ts";
import { isInEnvironment } from "../../domain/in-environment.ts";
import { type EnvironmentGroups, groupFindings } from "../../domain/resource-groups.ts";
import { analyzedFiles } from "../../domain/source-file.ts";
import { ArchiveRefused } from "../../domain/tar/reader.ts";
import { hasStrictCheck } from "../../domain/validations.ts";
import { venvFindings } from "../../domain/venvs.ts";
import { type PythonToolchain, ToolchainError } from "../../python/toolchain.ts";
import { userCodeEnv } from "../../python/user-code-env.ts";
import { Failure, outOfSpace } from "../failure.ts";
import { newId } from "../identifier.ts";
import type { Bus } from "../jobs/bus.ts";
import { noteChange } from "../jobs/changes.ts";
import type { Log } from "../log.ts";
import type { LogRecorder } from "../logs/recorder.ts";
import { userLine } from "../logs/user-line.ts";
import type { MetricRecorder } from "../metrics/recorder.ts";
import type { Processes } from "../processes/processes.ts";
import type { StartContained } from "../processes/program.ts";
import { withoutWorkersBecause, withReplicas } from "../python/fixed-pools.ts";
import { leastLimit } from "../python/launch.ts";
import { createLazyPool } from "../python/lazy-pool.ts";
import type { Place, PlacedWorkers } from "../python/placed-pool.ts";
import { FUNCTION, type PythonPool } from "../python/pool.ts";
import type { ProjectRuntime } from "../python/process.ts";
import { createRenewablePool } from "../python/renewable-pool.ts";
import { workerMemoryLimit } from "../python/worker-memory.ts";
import type { VenvModules } from "../python/worker-pool.ts";
import type { KeptTiles, LiveDeployment } from "../query/live-deployment.ts";
import type { EnvironmentVariables, Secrets } from "../secrets/secrets.ts";
import { createRowSinks } from "../sinks/create-row-sinks.ts";
import { createRenewableSources } from "../sql/renewable-sources.ts";
import type { DeploymentRecord, VenvRecord } from "../stores/metadata/deployments.ts";
import type { GraphStore } from "../stores/metadata/graphs.ts";
import type { EnvironmentRecord, IdentityStore } from "../stores/metadata/identity.ts";
import type { MetadataStore } from "../stores/metadata/store.ts";
import type { FeatureIdentity, VersionStore } from "../stores/metadata/versions.ts";
import { ObjectMismatch, type ObjectStore } from "../stores/objects/store.ts";
import { verified } from "../stores/objects/verified.ts";
import type { OnlineStore } from "../stores/online/store.ts";
import type { JobErrorRecorder } from "../stores/telemetry/store.ts";
import { identifySeries } from "../tiles/series-ids.ts";
import type { Vectors } from "../vectors/create-vectors.ts";
import { longestStaleness } from "../writes/policy.ts";
import type { ValueSinks } from "../writes/value-sinks.ts";
import { checkSqlResolvers } from "./checks.ts";
import { identitiesOf as graphIdentities } from "./feature-keys.ts";
import { onlineScope } from "./live-scopes.ts";
import { meteredSources } from "./metered-sources.ts";
import type { Profiles } from "./profiles.ts";
import { createRenewal } from "./renewal.ts";
import type { StartedDeployment } from "./running.ts";
import { checkStreamStatements, type StatementExaminer } from "./stream-statements.ts";
import { recordedVenv } from "./venv-builds.ts";
import type { WorkerContainers } from "./worker-containers.ts";
import { groupsText, usualWorkers, type WorkerGroup, workersOf } from "./worker-groups.ts";

/** A deployment cannot be built or started, for a reason that its author can fix. */
export class BuildFailed extends Error {
  override readonly name = "BuildFailed";
  constructor(
    message: string,
    readonly diagnostics: readonly Diagnostic[] = [],
  ) {
    super(message);
  }
}

/** The services and folders that builds need. */
export interface BuilderOptions {
  readonly metadata: IdentityStore & GraphStore & VersionStore & Pick<MetadataStore, "imageBuilds" | "series">;
  /** Where changes of builds are noted. */
  readonly bus: Bus;
  readonly objects: ObjectStore;
  readonly online: Pick<OnlineStore, "read" | "put" | "dropScope">;
  /** The vectors of the online store. */
  readonly vectors: () => Promise<Pick<Vectors, "nearest">>;
  /** Examines streams that are statements. */
  readonly tables: () => Promise<StatementExaminer>;
  /** Tiles of kept windows. */
  readonly tiles: () => Promise<KeptTiles["store"]>;
  readonly logs: LogRecorder;
  readonly sinks: ValueSinks;
  /** What resolvers and sources of an environment are given. */
  readonly secrets: Pick<Secrets, "variables">;
  readonly profiles: Pick<Profiles, "add">;
  /** What decodes graphs; their definitions may be shared, and are never changed. */
  readonly decode: GraphDecoder;
  readonly clock: Clock;
  readonly log: Log;
  readonly processes: Pick<Processes, "began">;
  readonly metrics: MetricRecorder;
  /** Keeps errors of sinks; absent = they are not kept. */
  readonly recordError?: JobErrorRecorder | undefined;
  /** Absolute folder for unpacked sources. */
  readonly folder: string;
  /** Absolute folder of virtual environments and of the SDK. */
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** What an environment says of its resource groups, and of the containers of its code now. */
  readonly groups: (environmentId: string) => Promise<EnvironmentGroups>;
  readonly workerContainers: () => Promise<WorkerContainers>;
  /** As in `StartOptions`. */
  readonly workers?: number | undefined;
}

/** A listener of a build's steps, each described in a few words. */
export type Note = (text: string) => void;

/** The builder of deployments. */
export interface Builder {
  /**
   * Unpacks, analyzes and checks a deployment, and stores its graph; meanwhile its workers begin to
   * start, for `start` to take or `abandon` to end. With `withoutSecrets` no worker begins and
   * nothing is looked up in databases; the graph is then not complete enough to be started. Throws
   * BuildFailed.
   */
  build(deployment: DeploymentRecord, note: Note, signal: AbortSignal, how: { readonly withoutSecrets: boolean }): Promise<void>;
  /** Starts the workers of a built deployment. Throws BuildFailed. */
  start(deployment: DeploymentRecord, note: Note, signal: AbortSignal): Promise<StartedDeployment>;
  /**
   * What a process of a deployment's code is started with, apart from its workers: its source is
   * unpacked into a folder that there is not yet. Throws BuildFailed.
   * @param venv name of the venv in which it runs; default: none
   */
  runtime(
    deployment: DeploymentRecord,
    source: string,
    signal: AbortSignal,
    venv?: string,
    options?: RuntimeOptions,
  ): Promise<DeploymentRuntime>;
  /** Ends what a build has begun for a start that does not follow. */
  abandon(id: string): Promise<void>;
  /** The stored graph. Throws Failure failed_precondition when there is none. */
  graph(id: string): Promise<Graph>;
  /**
   * Turns a fault of the server into a failure of the deployment; the log keeps the details under
   * an id.
   */
  unexpected(deployment: DeploymentRecord, error: unknown): BuildFailed;
  /** Removes a deployment's folder, which is made again from the bundle when needed. */
  discard(id: string): Promise<void>;
  /** Removes the folders of all deployments but these. */
  tidy(keep: ReadonlySet<string>): Promise<void>;
}

/** Options of what a process is started with. */
export interface RuntimeOptions {
  /** Whether the variables of secrets and integrations are left out. */
  readonly withoutSecrets?: boolean;
}

/** What a process of a deployment's code is started with. */
export interface DeploymentRuntime extends ProjectRuntime {
  /** A text of the code without the values of secrets that it was given. */
  readonly plain: (text: string) => string;
  /** Starts programs where its processes run; absent = that is this machine. */
  readonly startContained?: StartContained;
}

/** What sources and workers are given. */
type Given = EnvironmentVariables & { readonly groups: EnvironmentGroups };

/** What a build has begun for the start that follows. */
interface Begun {
  readonly graph: Graph;
  readonly given: Given;
  readonly workers: StartingWorkers;
}

/** Workers that start, or have started. */
interface StartingWorkers {
  readonly pool: Promise<PythonPool>;
  /** Resolves when the first process has been started, or none will be. */
  readonly began: Promise<void>;
  /** Ends them at once. Never rejects. */
  end(): Promise<void>;
}

const DEFAULT_RESOLVER_TIMEOUT_MS = 10_000;
const MAX_WORKERS = 4;
/** Shortest value that is hidden in texts: shorter ones are words of their own. */
const SHORTEST_HIDDEN = 6;
const NO_WORKERS_ON_WINDOWS =
  "The embedded server does not run Python resolvers on Windows. Start it on Linux, on macOS or in WSL (`svc server start`), and deploy there: svc apply --api-host <address>.";

/** Workers of a deployment that answers the queries of its environment. */
export function servingWorkers({ workers }: Pick<BuilderOptions, "workers">): number {
  return workers ?? Math.min(availableParallelism(), MAX_WORKERS);
}

/** Makes the builder. */
export function createBuilder(options: BuilderOptions): Builder {
  const { metadata, objects, online, logs, sinks, secrets, profiles, decode, clock, log, processes, metrics, folder, home, env } = options;
  let toolchain: Promise<PythonToolchain> | undefined;
  const python = (): Promise<PythonToolchain> => {
    toolchain ??= import("../../python/create-toolchain.ts").then(({ createToolchain }) =>
      createToolchain({ home, env, decodeGraph: decode }),
    );
    return toolchain;
  };
  const folderOf = (id: string): string => join(folder, id);
  const sourceOf = (id: string): string => join(folderOf(id), "src");

  const environmentOf = async ({ id, environmentId }: DeploymentRecord): Promise<EnvironmentRecord> => {
    const environment = await metadata.environment(environmentId);
    if (!environment) throw new BuildFailed(`The environment of deployment ${id} was deleted.`);
    return environment;
  };

  const givenNow = async (environmentId: string): Promise<Given> => ({
    ...(await secrets.variables(environmentId)),
    groups: await options.groups(environmentId),
  });

  const unpack = async (deployment: DeploymentRecord): Promise<string> => {
    const source = sourceOf(deployment.id);
    if (existsSync(source)) return source;
    makePrivateFolder(folderOf(deployment.id));
    chmodSync(folder, 0o700);
    await unpackInto(source, deployment);
    return source;
  };

  const unpackInto = async (source: string, { layers, sourceSha256 }: DeploymentRecord): Promise<void> => {
    const bundle = await objects.get(sourceSha256);
    if (!bundle) throw new BuildFailed("The source bundle is no longer in the object store. Deploy again with `svc apply`.");
    try {
      const files = await unpackArchive(verified(bundle, sourceSha256), source);
      if (files.length === 0) throw new ArchiveRefused("the archive has no files");
      for (const { path, text } of layers) await writeFile(join(source, path), text, { mode: 0o600 });
    } catch (error) {
      if (error instanceof ArchiveRefused) throw new BuildFailed(`The source bundle was refused: ${error.message}.`);
      if (error instanceof ObjectMismatch)
        throw new BuildFailed(`The source bundle cannot be used: ${error.message}. Deploy again with \`svc apply\`.`);
      throw error;
    }
  };

  const requirementsText = async (stated: Pick<DeploymentRecord, "requirements">, source: string): Promise<string> => {
    if (stated.requirements === "") return "";
    const files = await listFiles(source);
    const name = requirementsFile(stated);
    if (!files.includes(name)) {
      throw new BuildFailed(
        `The requirements file '${stated.requirements}' is not in the source bundle. Check \`requirements\` in svc.yaml and the ignore files.`,
      );
    }
    return readFile(join(source, name), "utf8");
  };

  /** By deployment, from the end of its build to its start. */
  const begun = new Map<string, Begun>();
  const identitiesOf = (of: Graph, environmentId: string): Promise<ReadonlyMap<string, FeatureIdentity>> =>
    graphIdentities(metadata, environmentId, of, clock.now());

  const graph = async (id: string): Promise<Graph> => {
    const bytes = await metadata.graph(id);
    if (!bytes) throw new Failure("failed_precondition", `Deployment ${id} has no graph: it was not analyzed to the end.`);
    return decode(bytes);
  };

  const sourcesOf = async (of: Graph, source: string, { integrations }: EnvironmentVariables) => {
    const { createSqlSources } = await import("../sql/create-sources.ts");
    return createSqlSources({ declared: of.sources, env, integrations, sourceRoot: source, home });
  };

  const checkStatements = async (
    found: Graph,
    source: string,
    environment: EnvironmentRecord,
    variables: EnvironmentVariables,
    note: Note,
  ): Promise<void> => {
    note("checking statements against their databases");
    const sources = await sourcesOf(found, source, variables);
    try {
      refuseErrors("The server refuses the project", await checkSqlResolvers(found, { sources, environmentName: environment.name }));
    } finally {
      await sources.close();
    }
  };

  /** The interpreter of a deployment, or of one of its venvs; how it was made is recorded. */
  const interpreterOf = async (stated: StatedVenv, source: string, note: Note, signal: AbortSignal): Promise<string> => {
    const { environmentId, id: deploymentId, name, requirements, runtime } = stated;
    const text = await requirementsText({ requirements }, source);
    const records = { store: metadata.imageBuilds, changed: () => noteChange(options.bus, "deployments", environmentId) };
    return recordedVenv(records, { environmentId, deploymentId, venv: name, runtime }, signal, async (observer) =>
      (await python()).environmentPython({
        requirements: text,
        requirementsFile: requirementsFile({ requirements }),
        root: source,
        ...{ signal, observer, onProgress: note },
        ...(runtime === "" ? {} : { runtime }),
      }),
    );
  };

  /** What processes of this machine are started with, in the folder of the source. */
  const startedHere = async (
    stated: StatedVenv,
    source: string,
    { env: variables, plain }: EnvironmentVariables,
    note: Note,
    signal: AbortSignal,
  ): Promise<ProjectRuntime> => {
    if (process.platform === "win32") throw new BuildFailed(NO_WORKERS_ON_WINDOWS);
    const chain = await python();
    const interpreter = await interpreterOf(stated, source, note, signal);
    const memoryLimitBytes = workerMemoryLimit(env);
    const given = Object.entries({ ...userCodeEnv(env), ...plain, ...variables });
    return {
      python: interpreter,
      sdkRoot: await chain.sdkRoot(),
      sourceRoot: source,
      env: Object.fromEntries(given.filter((entry): entry is [string, string] => entry[1] !== undefined)),
      ...(memoryLimitBytes !== undefined && { memoryLimitBytes }),
    };
  };

  /** What processes of a deployment's code are started with, which may be containers. */
  const startedWith = async (
    stated: StatedVenv,
    source: string,
    given: EnvironmentVariables,
    { container, memoryLimitBytes, variables: ofGroup }: Pick<WorkerGroup, "container" | "memoryLimitBytes" | "variables">,
    note: Note,
    signal: AbortSignal,
  ): Promise<ProjectRuntime & Pick<DeploymentRuntime, "startContained">> => {
    if (container.image === "") {
      const started = await startedHere(stated, source, { ...given, env: { ...given.env, ...ofGroup } }, note, signal);
      const limit = leastLimit(started.memoryLimitBytes, memoryLimitBytes);
      return limit === undefined ? started : { ...started, memoryLimitBytes: limit };
    }
    const { environmentId, id: deploymentId, name: venv } = stated;
    const requirements = await requirementsText(stated, source);
    note(`preparing containers of ${container.image}`);
    const prepare = await options.workerContainers();
    const wish = { environmentId, deploymentId, venv, requirements, root: source, container, onLine: note };
    const runtime = await prepare(wish, signal).catch((error: unknown) => {
      throw error instanceof Failure ? new BuildFailed([error.message, error.detail.hint ?? ""].join(" ").trim()) : error;
    });
    const variables = Object.entries({ ...given.plain, ...given.env, ...ofGroup });
    return {
      ...runtime,
      sdkRoot: await (await python()).sdkRoot(),
      sourceRoot: source,
      env: Object.fromEntries(variables.filter((entry): entry is [string, string] => entry[1] !== undefined)),
    };
  };

  /**
   * Starts the workers of a deployment: those of a graph that is still being read import the
   * project meanwhile. With a graph that needs none, none is started.
   */
  const startPool = async (
    deployment: DeploymentRecord,
    environment: EnvironmentRecord,
    of: Graph | Promise<Graph>,
    source: string,
    given: Given,
    note: Note,
    signal: AbortSignal,
    began: () => void = () => undefined,
  ): Promise<PythonPool> => {
    const ending = new AbortController();
    const over = AbortSignal.any([signal, ending.signal]);
    const pools: Promise<PythonPool>[] = [];
    const begin = (workers: StartingPool): void => {
      const pool = startWorkers(deployment, environment, workers, source, given, note, over, began);
      pool.catch(() => undefined);
      pools.push(pool);
    };
    try {
      const own = { stated: ownVenv(deployment), group: DEFAULT_GROUP };
      if (of instanceof Promise) begin({ ...own, resolverFqns: of.then((found) => ownResolvers(found, environment)) });
      else if (needsOwnWorkers(of, environment)) begin({ ...own, resolverFqns: ownResolvers(of, environment) });
      else pools.push(Promise.resolve(withoutWorkers));
      const found = await of;
      const { places, workersAt } = placesOf(deployment, environment, found);
      for (const { place } of places) begin(workersAt(place));
      const [ownPool = withoutWorkers, ...others] = await Promise.all(pools);
      const quietly = (workers: StartingPool, until: AbortSignal) =>
        startWorkers(
          deployment,
          environment,
          workers,
          source,
          given,
          () => undefined,
          until,
          () => undefined,
        );
      const functions = functionPools(deployment, environment, found, quietly);
      const usual = usualWorkers(given.groups);
      for (const { stated, venv } of functions) if (venv) await startedWith(stated, source, given, usual, note, over);
      if (ownPool === withoutWorkers && others.length + functions.length === 0) return ownPool;
      const { createPlacedPool } = await import("../python/placed-pool.ts");
      const ofOwn = { place: { venv: "", group: DEFAULT_GROUP }, names: ownResolvers(found, environment), pool: ownPool };
      return createPlacedPool({
        own: ownPool,
        resolvers: [
          ...(ownPool === withoutWorkers ? [] : [ofOwn]),
          ...places.map(({ place, names }, at) => ({ place, names, pool: others[at] ?? ownPool })),
        ],
        functions,
        start: (place) => createLazyPool((until) => quietly(workersAt(place), until)),
      });
    } catch (error) {
      ending.abort();
      await Promise.all(pools.map((pool) => pool.then((workers) => workers.drain(0)).catch(() => undefined)));
      throw error;
    }
  };

  /** Workers of the environment's own requirements, or of a venv, in a resource group. */
  const startWorkers = async (
    deployment: DeploymentRecord,
    environment: EnvironmentRecord,
    { stated, venv, group: name, resolverFqns }: StartingPool,
    source: string,
    given: Given,
    note: Note,
    signal: AbortSignal,
    began: () => void,
  ): Promise<PythonPool> => {
    const { hidden } = given;
    if (resolverFqns instanceof Promise) resolverFqns.catch(() => undefined);
    const group = workersOf(given.groups, name);
    if ("problem" in group) return withoutWorkersBecause(group.problem);
    const started = await startedWith(stated, source, given, group, note, signal);
    const { createWorkerPool } = await import("../python/worker-pool.ts");
    const serves = deployment.branch === "" && !deployment.noPromote;
    const pool = await createWorkerPool({
      ...started,
      ...(!started.launch && { codeFile: await (await python()).compiledCode(started.python, deployment.projectName) }),
      size: serves ? (group.replicas ?? servingWorkers(options)) : 1,
      socketDir: join(folderOf(deployment.id), "sockets", newId("req", clock.now()).slice(-8)),
      clock,
      deploymentId: deployment.id,
      environmentName: environment.name,
      defaultTimeoutMs: DEFAULT_RESOLVER_TIMEOUT_MS,
      resolverFqns,
      ...(venv && { venv }),
      ...(deployment.profiling && { onProfile: (samples) => profiles.add(deployment.id, samples) }),
      observer: {
        began(process) {
          began();
          return processes.began({
            ...{ ...process, kind: "worker", environmentId: environment.id, deploymentId: deployment.id },
            ...{ resourceGroup: name, tag: deployment.tags[0] ?? "" },
          });
        },
      },
      signal,
      onLog: (line) =>
        logs.record(
          userLine(
            { ...line, text: withoutValues(line.text, hidden) },
            { environmentId: environment.id, deploymentId: deployment.id, branch: deployment.branch, resourceGroup: name },
          ),
        ),
    }).catch((error: unknown) => {
      throw hidingValues(error, hidden);
    });
    return group.replicas === undefined ? pool : withReplicas(pool, group.replicas);
  };

  /**
   * The tiles that a deployment reads; undefined = it keeps none, or is of a branch, which has
   * none.
   */
  const keptTiles = async ({ environmentId, branch }: DeploymentRecord, graph: Graph): Promise<KeptTiles | undefined> => {
    if (branch !== "") return undefined;
    const seriesIds = await identifySeries(metadata.series, environmentId, graph);
    return seriesIds.size === 0 ? undefined : { store: await options.tiles(), scope: onlineScope(environmentId, ""), seriesIds };
  };

  return {
    graph,

    async build(deployment, note, signal, { withoutSecrets }) {
      const environment = await environmentOf(deployment);
      await rm(folderOf(deployment.id), { recursive: true, force: true });
      note("unpacking the source");
      const source = await unpack(deployment);
      const requirements = await requirementsText(deployment, source);
      const chain = await python();
      await interpreterOf(ownVenv(deployment), source, note, signal).catch((error: unknown) => {
        if (!(error instanceof ToolchainError)) throw error;
        for (const line of error.log.split("\n")) if (line.trim() !== "") note(line);
        refuseErrors("The project has errors", error.diagnostics);
        throw error;
      });
      note("analyzing");
      const files = analyzedFiles(await listFiles(source));
      const groups = await options.groups(environment.id);
      const given = withoutSecrets ? undefined : { ...(await secrets.variables(environment.id)), groups };
      const begin = (of: Graph | Promise<Graph>): StartingWorkers | undefined =>
        given && starting(signal, (over, began) => startPool(deployment, environment, of, source, given, note, over, began));
      const analyzed = Promise.withResolvers<Graph>();
      analyzed.promise.catch(() => undefined);
      let workers: StartingWorkers | undefined;
      try {
        const { graph: found, bytes } = await asBuildFailure(note, () =>
          chain.analyze({
            root: source,
            files,
            requirements,
            requirementsFile: requirementsFile(deployment),
            project: deployment.projectName,
            environmentName: environment.name,
            signal,
            onProgress: note,
            async onKept() {
              workers = begin(analyzed.promise);
              await workers?.began;
            },
            ...(deployment.runtime === "" ? {} : { runtime: deployment.runtime }),
          }),
        );
        refuseErrors("The project has errors", [...found.diagnostics, ...venvFindings(found, deployment.venvs, environment.name)]);
        refuseErrors("The server refuses the project", [
          ...groupFindings(found, groups, environment.name),
          ...(await checkStreamStatements(found, environment.name, options.tables)),
        ]);
        analyzed.resolve(found);
        if (workers && !needsOwnWorkers(found, environment)) {
          await workers.end();
          workers = undefined;
        }
        workers ??= begin(found);
        if (given) await checkStatements(found, source, environment, given, note);
        await metadata.putGraph(deployment.id, found.resolvers.some(isStar) ? toBinary(GraphSchema, found) : bytes());
        await identitiesOf(found, environment.id);
        await metadata.resolverVersions(environment.id, resolversIn(found), { deploymentId: deployment.id, now: clock.now() });
        if (given && workers) begun.set(deployment.id, { graph: found, given, workers });
      } catch (error) {
        analyzed.reject(error);
        await workers?.end();
        throw error;
      }
    },

    async start(deployment, note, signal) {
      const environment = await environmentOf(deployment);
      const ahead = begun.get(deployment.id);
      const of = ahead?.graph ?? (await graph(deployment.id));
      const source = await unpack(deployment);
      note("starting workers");
      const given = await givenNow(environment.id);
      const isCurrent = ahead !== undefined && workersText(ahead.given) === workersText(given);
      if (!isCurrent) await ahead?.workers.end();
      if (given.unreadable > 0)
        log.warning("secrets that cannot be opened are kept from resolvers", { environment: environment.id, count: given.unreadable });
      const onError = (error: unknown): void =>
        log.warning("what was renewed did not stop cleanly", { deployment: deployment.id, error: String(error) });
      const begin = (renewed: Given, tell: Note, over: AbortSignal) => startPool(deployment, environment, of, source, renewed, tell, over);
      const stored = (identities: ReadonlyMap<string, FeatureIdentity>) => ({
        featureIds: new Map([...identities].map(([fqn, { id }]) => [fqn, id])),
        longestStaleness: longestStaleness(of, identities),
        sink: sinks.of({ id: deployment.id, environmentId: environment.id, branch: deployment.branch, graph: of, identities }),
      });
      const [workers, storedAtStart, kept, vectors] = await Promise.all([
        asBuildFailure(note, () => (isCurrent ? ahead.workers.pool : begin(given, note, signal))),
        identitiesOf(of, environment.id).then(stored),
        keptTiles(deployment, of),
        hasNearest(of) ? options.vectors() : undefined,
      ]);
      const pool = createRenewablePool(workers, onError);
      begun.delete(deployment.id);
      const sources = createRenewableSources(await sourcesOf(of, source, given), onError);
      const metered = meteredSources(sources, environment.id, metrics);
      const renewal = createRenewal(given, {
        read: () => givenNow(environment.id),
        text: workersText,
        async replaceWorkers(renewed, over) {
          pool.replace(await begin(renewed, () => undefined, over));
        },
        replaceSources: async (renewed) => sources.replace(await sourcesOf(of, source, renewed)),
        failed: () => log.error("workers were not renewed with changed settings; those before answer on", { deployment: deployment.id }),
      });
      const rowSinks = createRowSinks({
        deployment: { id: deployment.id, environmentId: environment.id, branch: deployment.branch, tag: deployment.tags[0] ?? "" },
        sinks: of.sinkResolvers.filter(({ environments }) => isInEnvironment(environments, environment.name)),
        ...{ pool, metrics, clock, log, recordError: options.recordError },
      });
      const withVersions = (versions: ReturnType<typeof stored>): LiveDeployment => ({
        id: deployment.id,
        tag: deployment.tags[0] ?? "",
        environmentId: environment.id,
        environmentName: environment.name,
        scope: onlineScope(environment.id, deployment.branch),
        graph: of,
        pool,
        sources: metered,
        online,
        ...(vectors && { vectors }),
        ...(kept && { tiles: kept }),
        ...(rowSinks && { sinks: rowSinks }),
        ...versions,
      });
      let live = withVersions(storedAtStart);
      return {
        deployment: live,
        async withVersionsInUse() {
          const identities = await identitiesOf(of, environment.id);
          if ([...identities].some(([fqn, { id }]) => live.featureIds.get(fqn) !== id)) live = withVersions(stored(identities));
          return live;
        },
        renew: renewal.renew,
        async stop(graceMs) {
          await renewal.stop();
          await rowSinks?.drain();
          await pool.drain(graceMs);
          await sources.close();
          await rm(folderOf(deployment.id), { recursive: true, force: true });
        },
      };
    },

    unexpected(deployment, error) {
      const full = outOfSpace(error, folder);
      if (full) return new BuildFailed(`${full.message} ${full.detail.hint}`);
      const id = newId("req", clock.now());
      log.error("building a deployment failed unexpectedly", {
        deployment: deployment.id,
        id,
        error: error instanceof Error ? (error.stack ?? error.message) : String(error),
      });
      return new BuildFailed(`The server failed while it built the deployment; its log has the details under ${id}.`);
    },

    async runtime(deployment, source, signal, venv = "", { withoutSecrets = false } = {}) {
      const environment = await environmentOf(deployment);
      const known = await secrets.variables(environment.id);
      const variables = withoutSecrets ? { ...known, env: {}, integrations: [] } : known;
      await unpackInto(source, deployment);
      const note: Note = () => undefined;
      const root = await realpath(source);
      const stated = venv === "" ? ownVenv(deployment) : statedVenv(deployment, venv);
      const { container } = await options.groups(environment.id);
      const started = { container, memoryLimitBytes: undefined, variables: {} };
      const runtime = await asBuildFailure(note, () => startedWith(stated, root, variables, started, note, signal));
      const names = { TARGET_ROOT: root, SVC_DEPLOYMENT_ID: deployment.id, SVC_ENVIRONMENT_NAME: environment.name };
      return { ...runtime, ownsSource: true, env: { ...runtime.env, ...names }, plain: (text) => withoutValues(text, variables.hidden) };
    },

    async abandon(id) {
      const { workers } = begun.get(id) ?? {};
      begun.delete(id);
      await workers?.end();
    },

    discard: (id) => rm(folderOf(id), { recursive: true, force: true }),

    async tidy(keep) {
      const names = await readdir(folder).catch(() => []);
      await Promise.all(names.filter((name) => !keep.has(name)).map((name) => rm(folderOf(name), { recursive: true, force: true })));
    },
  };
}

/** Workers that `start` begins; they end with the signal, or when they are told to. */
function starting(signal: AbortSignal, start: (over: AbortSignal, began: () => void) => Promise<PythonPool>): StartingWorkers {
  const ending = new AbortController();
  const began = Promise.withResolvers<void>();
  const pool = start(AbortSignal.any([signal, ending.signal]), began.resolve);
  pool.then(
    () => began.resolve(),
    () => began.resolve(),
  );
  return {
    pool,
    began: began.promise,
    async end() {
      ending.abort();
      await pool.then((workers) => workers.drain(0)).catch(() => undefined);
    },
  };
}

/** A text of the project's own code without the values of secrets. */
function withoutValues(text: string, values: readonly string[]): string {
  return values.filter(({ length }) => length >= SHORTEST_HIDDEN).reduce((rest, value) => rest.replaceAll(value, "***"), text);
}

/** The same for the error of workers that did not start. */
function hidingValues(error: unknown, values: readonly string[]): unknown {
  if (!(error instanceof ToolchainError)) return error;
  const diagnostics = error.diagnostics.map((found) => ({ ...found, message: withoutValues(found.message, values) }));
  return new ToolchainError(withoutValues(error.message, values), diagnostics, error.log);
}

/**
 * Runs `work` and turns ToolchainError into BuildFailed; the lines of the installer's log are noted
 * first.
 */
async function asBuildFailure<T>(note: Note, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ToolchainError)) throw error;
    for (const line of error.log.split("\n")) if (line.trim() !== "") note(line);
    throw new BuildFailed(error.message, error.diagnostics);
  }
}

/** Whether the database has completed a resolver, or would have. */
function isStar({ body }: Resolver): boolean {
  return body.case === "sql" && body.value.star;
}

function refuseErrors(heading: string, diagnostics: readonly Diagnostic[]): void {
  const errors = diagnostics.filter(isError);
  const [first] = errors;
  if (!first) return;
  const rest = errors.length > 1 ? `, and ${errors.length - 1} more` : "";
  throw new BuildFailed(`${heading}: Error[${first.code}] ${first.message}${rest}`, diagnostics);
}

async function listFiles(source: string): Promise<string[]> {
  const entries = await readdir(source, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(source.length + 1)
        .replaceAll("\\", "/"),
    );
}

/** Normalized path of the requirements file, relative to the source; empty = none. */
function requirementsFile({ requirements }: Pick<DeploymentRecord, "requirements">): string {
  return requirements && posix.normalize(requirements);
}

/** What workers are given, as text. */
function workersText({ env, groups, plain }: Given): string {
  return JSON.stringify([plain, env, groupsText(groups)]);
}

/** The pool of a deployment without Python resolvers: there is nothing to run. */
const withoutWorkers: PythonPool = {
  async call({ resolver }) {
    throw new Error(`resolver ${resolver} is not a Python resolver of this deployment`);
  },
  health: () => ({ workers: 0, degraded: false }),
  async drain() {},
};

/** The resolvers that workers of an environment run, of every venv. */
function pythonResolvers({ resolvers, sinkResolvers, streamResolvers }: Graph, { name }: EnvironmentRecord) {
  const computing = [...resolvers, ...streamResolvers].filter(({ body }) => body.case === "python");
  return [...computing, ...sinkResolvers].filter(({ environments }) => isInEnvironment(environments, name));
}

/** FQNs of those that run with the environment's own requirements, in no resource group. */
function ownResolvers(of: Graph, environment: EnvironmentRecord): readonly string[] {
  return pythonResolvers(of, environment).flatMap((one) => (isOwn(placeOf(one)) ? [one.fqn] : []));
}

/** Where a definition runs. */
function placeOf({ venv, ...one }: WorkerCode): Place {
  return { venv, group: ("resourceGroup" in one && one.resourceGroup) || DEFAULT_GROUP };
}

function isOwn({ group, venv }: Place): boolean {
  return venv === "" && group === DEFAULT_GROUP;
}

/**
 * The places, but that of the environment's own requirements in no group, in which resolvers of an
 * environment run, and the workers that start in a place: they can run all resolvers of its venv.
 */
function placesOf(deployment: DeploymentRecord, environment: EnvironmentRecord, graph: Graph) {
  const resolvers = pythonResolvers(graph, environment);
  const venvs = new Map(venvsOf(resolvers, graph, environment).map((used) => [used.venv.name, used]));
  const own = resolvers.flatMap(({ fqn, venv }) => (venv === "" ? [fqn] : []));
  const byPlace = Map.groupBy(resolvers, (one) => JSON.stringify(placeOf(one)));
  return {
    places: [...byPlace].flatMap(([key, defined]) => {
      const place = JSON.parse(key) as Place;
      return isOwn(place) ? [] : [{ place, names: defined.map(({ fqn }) => fqn) }];
    }),
    workersAt({ group, venv }: Place): StartingPool {
      if (venv === "") return { stated: ownVenv(deployment), group, resolverFqns: own };
      return { stated: statedVenv(deployment, venv), group, resolverFqns: [], ...venvs.get(venv) };
    },
  };
}

/** Whether there is anything that workers with an environment's own requirements do. */
function needsOwnWorkers(of: Graph, environment: EnvironmentRecord): boolean {
  return ownResolvers(of, environment).length > 0 || asksWorkers(of);
}

/** Whether workers are asked about uploaded values. */
function asksWorkers({ featureSets }: Graph): boolean {
  return featureSets.some(({ features }) => features.some(({ kind }) => kind.case === "scalar" && hasStrictCheck(kind.value)));
}

/** Whether a relation leads to the nearest rows. */
function hasNearest({ featureSets }: Graph): boolean {
  return featureSets.some(({ features }) => features.some(({ kind }) => kind.case === "hasMany" && kind.value.nearest !== undefined));
}

/** A venv and the resolvers that run there. */
interface UsedVenv {
  readonly venv: VenvModules;
  readonly resolverFqns: readonly string[];
}

/**
 * Workers that are started: by which requirements, of which venv (absent = none), in which resource
 * group, for what.
 */
interface StartingPool {
  readonly group: string;
  readonly stated: StatedVenv;
  readonly venv?: VenvModules;
  /** A promise while the graph is being read. */
  readonly resolverFqns: readonly string[] | Promise<readonly string[]>;
}

/** A definition whose code runs in workers. */
type WorkerCode = Pick<Resolver, "fqn" | "venv"> & { readonly resourceGroup?: string; readonly span?: Span | undefined };

/** The venvs in which some of an environment's definitions run. */
function venvsOf(of: readonly WorkerCode[], graph: Graph, environment: EnvironmentRecord): UsedVenv[] {
  const classModules = filesOf(graph.featureSets);
  const byVenv = [...Map.groupBy(of, ({ venv }) => venv)].filter(([name]) => name !== "");
  return byVenv.map(([name, defined]) => {
    const modules = filesOf([
      ...defined,
      ...graph.hooks.filter(({ environments, venvs }) => venvs.includes(name) && isInEnvironment(environments, environment.name)),
    ]);
    return {
      venv: { name, modules, classModules: classModules.filter((file) => !modules.includes(file)) },
      resolverFqns: defined.map(({ fqn }) => fqn),
    };
  });
}

/**
 * The workers of functions that callers run, apart from those of resolvers, so that a long call
 * never takes time from queries. They are started by the first call.
 */
function functionPools(
  deployment: DeploymentRecord,
  environment: EnvironmentRecord,
  graph: Graph,
  start: (workers: StartingPool, signal: AbortSignal) => Promise<PythonPool>,
): (StartingPool & PlacedWorkers)[] {
  const known = graph.computeFunctions.filter(({ environments }) => isInEnvironment(environments, environment.name));
  const code: WorkerCode[] = known.map(({ name, venv, span }) => ({ fqn: `${FUNCTION}${name}`, venv, span }));
  const own = code.flatMap(({ fqn, venv }) => (venv === "" ? [fqn] : []));
  const pools: StartingPool[] = [
    ...(own.length > 0 ? [{ stated: ownVenv(deployment), group: DEFAULT_GROUP, resolverFqns: own }] : []),
    ...venvsOf(code, graph, environment).map((used) => ({
      stated: statedVenv(deployment, used.venv.name),
      group: DEFAULT_GROUP,
      ...used,
    })),
  ];
  return pools.map((workers) => ({
    ...workers,
    names: workers.resolverFqns as readonly string[],
    pool: createLazyPool((signal) => start(workers, signal)),
  }));
}

/** Files in which definitions are, each once. */
function filesOf(definitions: readonly { readonly span?: Span | undefined }[]): string[] {
  return [...new Set(definitions.flatMap(({ span }) => (span ? [span.file] : [])))];
}

/** The requirements of a deployment or of one of its venvs, whose name it has; empty = its own. */
type StatedVenv = Pick<DeploymentRecord, "environmentId" | "id"> & VenvRecord;

/** A deployment's own requirements. */
function ownVenv({ environmentId, id, requirements, runtime }: DeploymentRecord): StatedVenv {
  return { environmentId, id, name: "", requirements, runtime };
}

/** The requirements of a venv. Throws BuildFailed. */
function statedVenv({ environmentId, id, runtime, venvs }: DeploymentRecord, name: string): StatedVenv {
  const venv = venvs.find((one) => one.name === name);
  if (venv) return { environmentId, id, ...venv, runtime: venv.runtime || runtime };
  const known = venvs.length > 0 ? `it has ${venvs.map((one) => one.name).join(", ")}` : "it has none";
  throw new BuildFailed(`The deployment has no venv '${name}': ${known}. Add it under \`venvs\` of svc.yaml and deploy again.`);
}

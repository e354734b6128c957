/**
 * The embedded server: `start(options)` is given all its dependencies and returns a running server.
 */

import { join } from "node:path";
import { once } from "../../domain/once.ts";
import { createBrowserSessions } from "../access/browser-sessions.ts";
import { createCallers } from "../access/callers.ts";
import { createClients } from "../access/clients.ts";
import { createEnvironments } from "../access/environments.ts";
import type { InitialCredentials } from "../access/first-tenant.ts";
import { createLoginSessions } from "../access/login-sessions.ts";
import type { OidcLogins, OidcParts } from "../access/oidc/logins.ts";
import type { OidcSettings } from "../access/oidc/settings.ts";
import { createOwner, OWNER_FILE } from "../access/owner.ts";
import { createTokens } from "../access/tokens.ts";
import { AfterAnswers } from "../after-answers.ts";
import { createAuditLog } from "../audit/audit-log.ts";
import { type Certificate, readCertificate } from "../certificate.ts";
import { StartError } from "../failure.ts";
import { type GatewayListener, type GatewayListenOptions, listenGateway } from "../gateway/listener.ts";
import type { ListenerFacts } from "../infrastructure/infrastructure.ts";
import { createLog, type Log } from "../log.ts";
import type { LogRecorder } from "../logs/recorder.ts";
import { recordedLog } from "../logs/server-lines.ts";
import { createHttpMeter } from "../metrics/http-meter.ts";
import { followStore } from "../nodes/follow.ts";
import { type Presence, startPresence } from "../nodes/presence.ts";
import { createReadiness } from "../nodes/readiness.ts";
import { type OtlpSettings, readOtlpSettings } from "../otlp/settings.ts";
import { workerMemoryLimit } from "../python/worker-memory.ts";
import type { NewRecord } from "../stores/logs/store.ts";
import { MAX_OBJECT_BYTES } from "../stores/objects/store.ts";
import type { UsageSettings } from "../usage/credits.ts";
import { type GrpcListenOptions, listenGrpc } from "../wire/grpc/listener.ts";
import { createBodyBudget } from "../wire/http/body-budget.ts";
import { isEncrypted } from "../wire/http/forwarded.ts";
import { createGuard, isLoopback, remoteHosts, remoteUrl } from "../wire/http/guard.ts";
import type { ReleaseMirror } from "../wire/http/releases.ts";
import { type Listener, listen } from "../wire/listener.ts";
import { createOpenStreams } from "../wire/open-streams.ts";
import type { Platform } from "../wire/platform.ts";
import { createRouter } from "../wire/router.ts";
import { type DataDirectory, holdDataDirectory } from "./data-directory.ts";
import { readLoginSettings } from "./login-settings.ts";
import type { StartOptions } from "./options.ts";
import { openParts } from "./parts.ts";
import { readServerFile, SERVER_FILE } from "./server-file.ts";
import { storePlaces } from "./store-drivers.ts";
import { readStoreSettings, type StoreSettings } from "./store-settings.ts";
import { readUsageSettings } from "./usage-settings.ts";

export type { InitialCredentials } from "../access/first-tenant.ts";
export { StartError, type StartErrorCode } from "../failure.ts";
export { readServerNote, type ServerNote } from "./data-directory.ts";
export type { SharedStores, StartOptions } from "./options.ts";

/** A running server. */
export interface Server {
  /** Its address for this machine, for example `http://127.0.0.1:8080`. */
  readonly url: string;
  /** Its address for other machines; undefined when they do not reach it. */
  readonly remoteUrl: string | undefined;
  /** The port that was given, or the free one that was found. */
  readonly port: number;
  /** Its address for gRPC, as programs on this machine reach it. */
  readonly grpcUrl: string;
  /** The address of its gateway to containers, as programs on this machine reach it. */
  readonly gatewayUrl: string;
  /** Set when this start created the data directory. */
  readonly initialCredentials?: InitialCredentials;
  /**
   * Resolves when the deployments that were live before run again. Queries need not wait for it.
   */
  readonly ready: Promise<void>;
  /** Drains, stops taking requests, lets running ones end, closes the stores. */
  stop(): Promise<void>;
}

const RELEASES_ONLY =
  "Only releases are open to other machines, here: /install.sh, /install.ps1, /changelog.md, /latest/<file> and /releases/<version>/<file>.";

/**
 * Milliseconds after which deployments are loaded unless a request needs them sooner, so that the
 * first answers do not wait for that.
 */
const WARM_UP_AFTER_MS = 25;
const TLS_HINT = "Name a certificate and its key with `--tls-cert` and `--tls-key`.";
/** Milliseconds until a failed load is tried again, for example on a full disk. */
const WARM_UP_RETRY_MS = 5_000;

/**
 * Starts a server. Parts for queries and deployments are loaded after the first answer.
 * @throws StartError when the server cannot start; nothing was changed then
 */
export async function start(options: StartOptions): Promise<Server> {
  const host = options.host ?? "127.0.0.1";
  if (!isLoopback(host) && !isRemote(options) && options.releases === undefined) {
    throw new StartError(
      "host_refused",
      `${host} can be reached from other machines, and nothing would encrypt tokens and data on the way.`,
      "Give the server a certificate with `--tls-cert` and `--tls-key`. Or bind 127.0.0.1, let a TLS proxy forward to it, and name the proxy's host with `--allowed-host`. " +
        "In a network that nobody else listens to, `--insecure-http` goes without. With --releases alone, other machines get the releases and nothing else.",
    );
  }
  if (isLoopback(host) && options.remote) {
    throw new StartError(
      "setting_invalid",
      `${host} is reached from this machine alone, so there is nothing to go without encryption.`,
      "Leave `--insecure-http` out, or name another address with `--host`.",
    );
  }
  const certificate = options.tls && readCertificate(options.tls, options.clock.now(), TLS_HINT);
  workerMemoryLimit(options.env);
  if (options.env.SVC_WORKER_ENV) (await import("../python/worker-env.ts")).refuseWrongWorkerEnv(options.env);
  if (options.env.SVC_CONTAINER_ENGINE) (await import("../engines/find-engine.ts")).engineAddress(options.env, "");
  if (options.env.SVC_HOST_PROGRAMS) (await import("../engines/engine-router.ts")).allowsHost(options.env);
  if (options.env.SVC_WEBHOOK_ALLOW) (await import("../webhooks/address-guard.ts")).readAllowedNetworks(options.env.SVC_WEBHOOK_ALLOW);
  const releases =
    options.releases === undefined ? undefined : (await import("../wire/http/releases.ts")).openReleaseMirror(options.releases);
  const file = readServerFile(join(options.dataDir, SERVER_FILE));
  const settings = readStoreSettings({ flags: options.stores ?? {}, env: options.env, file });
  const usage = readUsageSettings(file);
  const login = readLoginSettings(file, options.env);
  const exported = readOtlpSettings(options.env, options.clock.now());
  if (options.anew) refuseElsewhere(settings);
  const directory = holdDataDirectory(options.dataDir);
  try {
    return await startIn(directory, { host, releases, certificate, settings, usage, login, exported }, options);
  } catch (error) {
    directory.release();
    throw error;
  }
}

/**
 * Throws StartError when a store is outside the data directory: `--new` sets aside only what is
 * inside.
 */
function refuseElsewhere(settings: StoreSettings): void {
  const [name, setting] = Object.entries(settings)[0] ?? [];
  if (!setting) return;
  throw new StartError(
    "setting_invalid",
    `\`--new\` sets aside what is in the data directory, and the ${name} store is elsewhere: ${setting.setBy} says so.`,
    "Begin with another data directory (`--data-dir`) and other addresses of stores.",
  );
}

function factsOf({ url: address, port }: Pick<Listener, "url" | "port">): Omit<ListenerFacts, "kind"> {
  return { address, port, encrypted: address.startsWith("https:") };
}

/**
 * The listeners for gRPC, as those for HTTP: with a certificate one with TLS, and one of 127.0.0.1
 * without. A port that nobody asked for by number makes way for another program's.
 */
function openGrpc(common: Omit<GrpcListenOptions, "port">, { grpcPort, port }: StartOptions): Listener[] {
  const listeners = [atUsualPort((one) => listenGrpc({ ...common, port: one }), port + 1, grpcPort, port)];
  if (common.certificate) listeners.push(listenGrpc({ ...common, host: "127.0.0.1", port: 0, certificate: undefined }));
  return listeners;
}

/** The listeners of the gateway to containers, as those for gRPC. */
function openGateway(common: Omit<GatewayListenOptions, "port">, { gatewayPort, port }: StartOptions): GatewayListener[] {
  const listeners = [atUsualPort((one) => listenGateway({ ...common, port: one }), port + 2, gatewayPort, port)];
  if (common.certificate) listeners.push(listenGateway({ host: "127.0.0.1", port: 0 }));
  return listeners;
}

/**
 * A listener at the port that was asked for, else at its usual one beside that of HTTP, or at any
 * free one.
 */
function atUsualPort<L>(listen: (port: number) => L, usual: number, asked: number | undefined, httpPort: number): L {
  try {
    return listen(asked ?? (httpPort === 0 || usual > 65_535 ? 0 : usual));
  } catch (error) {
    if (asked !== undefined || !(error instanceof StartError) || error.code !== "port_in_use") throw error;
    return listen(0);
  }
}

/** The logins at an identity provider, which are loaded only where there is one. */
async function openLogins(parts: OidcParts): Promise<OidcLogins> {
  return (await import("../access/oidc/logins.ts")).createOidcLogins(parts);
}

/** Whether other machines may use the whole server. */
function isRemote({ remote, tls }: StartOptions): boolean {
  return remote === true || tls !== undefined;
}

/** The options that were checked before anything is changed. */
interface Checked {
  readonly host: string;
  readonly releases: ReleaseMirror | undefined;
  readonly certificate: Certificate | undefined;
  readonly settings: StoreSettings;
  readonly usage: UsageSettings;
  readonly login: OidcSettings | undefined;
  readonly exported: OtlpSettings | undefined;
}

async function startIn(
  directory: DataDirectory,
  { host, releases, certificate, settings, usage, login, exported }: Checked,
  options: StartOptions,
): Promise<Server> {
  const { clock, version } = options;
  const written: Log = createLog({ write: options.log, clock, ...(options.logLevel ? { level: options.logLevel } : {}) });
  /** Records lines once the parts are there; those of before wait for that. */
  const early: NewRecord[] = [];
  let recorder: LogRecorder = { record: (record) => void early.push(record) };
  const log = recordedLog(written, { record: (record) => recorder.record(record) }, () => clock.now());
  if (options.anew) log.info("the state of the data directory was set aside", { kept: directory.setAside(clock.now()) ?? null });
  const parts = await openParts({ directory, options, settings, exported, log });
  recorder = parts.logRecorder;
  for (const record of early) recorder.record(record);
  const { keys, metadata, objects, bus } = parts;
  /** Functions that undo the steps of the start, called in reverse order. */
  const ends: (() => unknown)[] = [parts.close];
  const close = async (): Promise<void> => {
    for (const end of ends.toReversed()) await end();
  };
  try {
    const tokens = createTokens({ keys: keys.tokens, clock });
    const initialCredentials = await parts.openTenant();
    if (keys.isNew && !initialCredentials)
      log.warning("server.key was missing: a new one was made, and tokens given out before are not taken");
    const now = clock.now();
    const [environment] = await metadata.environments();
    const teamId = environment?.teamId ?? "";
    const owner = createOwner(directory.file(OWNER_FILE), teamId, now);
    const clients = createClients({ metadata, bus, clock, log, owner: owner.client });
    ends.push(clients.close);
    const audit = createAuditLog({ store: metadata.audit, clock, log });
    ends.push(audit.close);
    const environments = createEnvironments(metadata);
    const followingEnvironments = followStore({ bus, topic: "environments", clock, log, read: environments.invalidate });
    ends.push(followingEnvironments.stop);
    const listeners = [listen(host, options.port, 2 * MAX_OBJECT_BYTES, certificate)];
    ends.push(owner.withdraw, () => Promise.all(listeners.map(({ drain }) => drain())));
    if (certificate) listeners.push(listen("127.0.0.1", 0, 2 * MAX_OBJECT_BYTES));
    const { port } = listeners[0] as Listener;
    const { url } = listeners.at(-1) as Listener;
    parts.listensAt(url);
    const allowedHosts = options.allowedHosts ?? [];
    const remoteNames = remoteHosts({ host, port, allowedHosts });
    const isOpen = isLoopback(host) || isRemote(options);
    const grpc = openGrpc({ host: isOpen ? host : "127.0.0.1", certificate, httpUrl: url, log }, options);
    ends.push(() => Promise.all(grpc.map(({ drain }) => drain())));
    const { port: grpcPort } = grpc[0] as Listener;
    const { url: grpcUrl } = grpc.at(-1) as Listener;
    const gateway = openGateway({ host: isOpen ? host : "127.0.0.1", certificate }, options);
    ends.push(() => Promise.all(gateway.map(({ drain }) => drain())));
    const { port: gatewayPort } = gateway[0] as GatewayListener;
    const { url: gatewayUrl } = gateway.at(-1) as GatewayListener;
    /** The address of a listener beside that of HTTP, as the sender of these headers reaches it. */
    const besideFor = (headers: Headers, local: string, otherPort: number): string => {
      const named = headers.get("host")?.toLowerCase() ?? "";
      if (!remoteNames.has(named)) return local;
      return `${certificate ? "https" : "http"}://${named.replace(/:\d+$/, "")}:${otherPort}`;
    };
    const readiness = createReadiness({
      clock,
      probes: {
        "metadata store": metadata.probe,
        "object store": objects.probe,
        "online store": async () => (await parts.online()).probe(),
      },
    });
    const http = createHttpMeter(parts.metrics);
    const bodies = createBodyBudget();
    const browserSessions = createBrowserSessions({ metadata, clients, bus, clock, log, port });
    const oidc =
      login && (await openLogins({ settings: login, metadata, clients, browserSessions, sealer: parts.sealer, clock, log, teamId }));
    const stops = new AbortController();
    const callers = createCallers({ tokens, clients, sessions: browserSessions, clock });
    const openStreams = createOpenStreams({ callers, clients, bus, clock });
    ends.push(openStreams.close);
    const platform: Platform = {
      clock,
      stopping: stops.signal,
      log,
      version,
      url,
      addressFor(headers) {
        const named = headers.get("host")?.toLowerCase() ?? "";
        return remoteNames.has(named) ? `${isEncrypted(headers) ? "https" : "http"}://${named}` : url;
      },
      grpcAddressFor: (headers) => besideFor(headers, grpcUrl, grpcPort),
      gatewayAddressFor: (headers) => besideFor(headers, gatewayUrl, gatewayPort),
      dataDir: directory.path,
      headless: options.headless === true,
      metricsOpen: options.metricsOpen === true,
      releases,
      keys,
      sealer: parts.sealer,
      collections: parts.collections,
      audit,
      tokens,
      clients,
      environments,
      projects: once(async () => (await import("../access/projects.ts")).createProjects({ metadata, environments, bus, clock })),
      configurations: parts.configurations,
      environmentLifecycle: once(async () => {
        const { createEnvironmentLifecycle } = await import("../environments/lifecycle.ts");
        return createEnvironmentLifecycle({ metadata, bus, clock, invalidate: environments.invalidate });
      }),
      callers,
      openStreams,
      recentChanges: parts.recentChanges,
      browserSessions,
      loginSessions: createLoginSessions({ metadata, clock }),
      oidc,
      readiness,
      bodies,
      metadata,
      node: parts.node,
      processes: parts.processes,
      usageSettings: usage,
      usage: once(async () => {
        const { createUsage } = await import("../usage/usage.ts");
        const { processes, queryCounts, storage } = parts;
        const labels = async () => (await parts.configurations()).labels();
        return createUsage({ metadata, clock, settings: usage, processes, queryCounts, storage, labels });
      }),
      queryCounts: parts.queryCounts,
      afterAnswers: new AfterAnswers((error) => log.error("what was recorded of a request is lost", { error: String(error) })),
      charts: once(async () => (await import("../charts/kept-charts.ts")).createKeptCharts(parts.collections)),
      support: once(async () => (await import("../support/support.ts")).createSupport({ ...parts.collections, objects })),
      components: parts.components,
      http,
      infrastructure: once(async () => {
        const { createInfrastructure } = await import("../infrastructure/infrastructure.ts");
        return createInfrastructure({
          components: parts.components,
          inFlight: http.inFlight,
          recorded: parts.metrics,
          version,
          dataDir: directory.path,
          stores: storePlaces(settings, directory.path),
          listeners: [
            ...listeners.map((one) => ({ ...factsOf(one), kind: "http" as const })),
            ...grpc.map((one) => ({ ...factsOf(one), kind: "grpc" as const })),
            ...gateway.map((one) => ({ ...factsOf(one), kind: "gateway" as const })),
          ],
          bodyBytes: () => bodies.held,
          online: parts.online,
          sinks: parts.sinks,
          telemetry: parts.telemetry,
          metrics: parts.metricStore,
          logs: parts.logs,
          topics: parts.topicStore,
          removedHistory: parts.historyRetention.removed,
          exported: parts.exported,
          metricsOpen: options.metricsOpen === true,
        });
      }),
      objects,
      online: parts.online,
      tiles: parts.tiles,
      telemetry: parts.telemetry,
      metricStore: parts.metricStore,
      metrics: parts.metrics,
      featureRecorder: parts.featureRecorder,
      metricReader: parts.metricReader,
      logs: parts.logs,
      logRecorder: parts.logRecorder,
      metricStreams: parts.metricStreams,
      deployments: parts.deployments,
      deletions: parts.deletions,
      datasets: parts.datasets,
      statements: parts.statements,
      topicStore: parts.topicStore,
      topicSources: parts.topicSources,
      webhooks: parts.webhooks,
      tables: parts.tables,
      offline: parts.offline,
      onlineAddress: parts.onlineAddress,
      secrets: parts.secrets,
      approvals: parts.approvals,
      jobQueue: parts.jobQueue,
      resolverRuns: parts.resolverRuns,
      tasks: parts.tasks,
      evaluations: parts.evaluations,
      functions: parts.functions,
      benchmarks: parts.benchmarks,
      shells: parts.shells,
      containers: parts.containers,
      images: parts.images,
      scalingGroups: parts.scalingGroups,
      notebooks: parts.notebooks,
      workflows: parts.workflows,
      scheduledQueries: parts.scheduledQueries,
      streams: parts.streams,
      aggregates: parts.aggregates,
      monitors: parts.monitors,
      offlineQueries: parts.offlineQueries,
      valueUploads: parts.valueUploads,
      connections: parts.connections,
      queries: once(async () => (await import("../wire/query/queries.ts")).createQueries(platform)),
    };
    const guard = createGuard({ host, port, grpcPort, allowedHosts, othersRefused: isOpen ? undefined : RELEASES_ONLY });
    const router = createRouter(platform, guard);
    for (const { serve } of [...listeners, ...grpc]) serve(router);
    const openGatewayParts = once(async () => {
      const { createGatewayParts } = await import("../gateway/create-gateway.ts");
      const names = new Set([...remoteNames].map((name) => name.replace(/:\d+$/, "")));
      return createGatewayParts({ ...platform, containers: parts.containers, scalingGroups: parts.scalingGroups, names });
    });
    for (const { serve } of gateway) serve(openGatewayParts);
    owner.announce(url);
    const { drainMs = 0 } = options;
    const startedAt = new Date(clock.now()).toISOString();
    directory.announce({ pid: process.pid, url, grpcUrl, gatewayUrl, version, startedAt, ...(drainMs > 0 && { drainMs }) });
    log.info("server started", {
      url,
      grpc_url: grpcUrl,
      gateway_url: gatewayUrl,
      data_directory: directory.path,
      version,
      pid: process.pid,
    });

    let stopping: Promise<void> | undefined;
    let presence: Presence | undefined;
    /** Begins what the server does by itself; a step only if it was not told to stop meanwhile. */
    const warmUp = async (): Promise<void> => {
      const unlessStopping = <T>(value: T): T => {
        stops.signal.throwIfAborted();
        return value;
      };
      if (!presence) {
        presence = startPresence({ nodes: metadata.nodes, id: parts.node(), url, version, clock, log });
        ends.push(presence.leave);
      }
      const [deployments, runner] = await Promise.all([parts.deployments(), parts.jobRunner(), parts.scheduler()]);
      await unlessStopping(await parts.webhooks()).startDelivering();
      await deployments.restored;
      await parts.streamRunner();
      await parts.resumeContainers();
      readiness.loaded();
      await unlessStopping(await parts.secrets()).beginResealing();
      await runner.idle();
    };
    const ready = (async () => {
      for (let pauseMs = WARM_UP_AFTER_MS; ; pauseMs = WARM_UP_RETRY_MS) {
        await clock.sleep(pauseMs, stops.signal).catch(() => undefined);
        if (stops.signal.aborted) return;
        try {
          return await warmUp();
        } catch (error) {
          if (!stops.signal.aborted) log.error("the deployments could not be restored", { error: String(error) });
        }
      }
    })();
    const stop = async (): Promise<void> => {
      stops.abort();
      readiness.drain();
      if (drainMs > 0) {
        log.info("server draining", { ms: drainMs });
        await Promise.all([parts.drain(), presence?.drain(), clock.sleep(drainMs)]);
      }
      log.info("server stopping");
      await close();
      directory.release();
    };
    return {
      url,
      remoteUrl: isRemote(options) ? remoteUrl({ host, port, allowedHosts, encrypted: certificate !== undefined }) : undefined,
      port,
      grpcUrl,
      gatewayUrl,
      ...(initialCredentials ? { initialCredentials } : {}),
      ready,
      stop() {
        stopping ??= stop();
        return stopping;
      },
    };
  } catch (error) {
    await close();
    throw parts.explain(error);
  }
}

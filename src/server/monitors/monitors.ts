/**
 * Monitors: bounds of metrics that what is live in main scopes should keep. All of them are
 * evaluated each minute, once among all nodes. Webhooks are told what they were not told yet: of a
 * monitor that fires, and of its end. Suspended environments and branches have none.
 */

import type { Graph, Monitor } from "../../../gen/svc/v1/graph_pb.ts";
import type { Clock } from "../../context/clock.ts";
import { didYouMean } from "../../domain/closest.ts";
import { formatDuration } from "../../domain/duration.ts";
import { errorText } from "../../domain/error-text.ts";
import { longestReplay, type Watch, watchOf } from "../../domain/metrics/monitor.ts";
import type { Deployments } from "../deployments/deployments.ts";
import { createLiveScopes } from "../deployments/live-scopes.ts";
import { Failure } from "../failure.ts";
import type { Bus } from "../jobs/bus.ts";
import { noteChange } from "../jobs/changes.ts";
import type { Log } from "../log.ts";
import type { MetricReader } from "../metrics/reader.ts";
import type { EnvironmentRecord } from "../stores/metadata/identity.ts";
import type { MonitorSilence, MonitorStanding } from "../stores/metadata/monitors.ts";
import type { MetadataStore } from "../stores/metadata/store.ts";
import type { Events } from "../webhooks/events.ts";
import { observe, type Replay, replay } from "./replay.ts";
import { type Observed, standingAfter } from "./standing.ts";

/** The services that monitors need. */
export interface MonitorsOptions {
  readonly metadata: Pick<MetadataStore, "environments" | "livePointers" | "monitors">;
  readonly deployments: Pick<Deployments, "graph" | "resolve" | "traffic">;
  readonly reader: () => Promise<Pick<MetricReader, "read">>;
  readonly events: () => Promise<Pick<Events, "monitorChanged">>;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
}

/** A monitor of the live deployment, as it stands. */
export interface MonitorView {
  readonly monitor: Monitor;
  readonly watch: Watch;
  /** Undefined = it was not evaluated yet. */
  readonly standing: MonitorStanding | undefined;
  /** Undefined = it is not silenced now. */
  readonly silence: MonitorSilence | undefined;
}

/** A silence as somebody asks for it. */
export interface SilenceWish {
  /** When it ends, epoch milliseconds. */
  readonly until: number;
  readonly clientId: string;
  readonly reason: string;
}

/** The capability. */
export interface Monitors {
  /** The monitors of an environment, by name. Rejects with Failure when nothing is live. */
  list(environment: EnvironmentRecord): Promise<MonitorView[]>;
  /**
   * What a monitor would have done in a time until now. Rejects with Failure not_found,
   * invalid_argument for a time that is longer than its values are kept, and as `evaluateMetrics`
   * does.
   */
  test(
    environment: EnvironmentRecord,
    name: string,
    sinceMs: number | undefined,
    signal?: AbortSignal,
  ): Promise<{ readonly view: MonitorView; readonly replay: Replay }>;
  /**
   * Has webhooks not be told of a monitor until a time, in place of a silence that there was.
   * Rejects with Failure not_found, and invalid_argument for a time that is past or far.
   */
  silence(environment: EnvironmentRecord, name: string, wish: SilenceWish): Promise<MonitorView>;
  /** Ends a silence. Rejects with Failure not_found, and failed_precondition when there is none. */
  endSilence(environment: EnvironmentRecord, name: string): Promise<MonitorView>;
  /**
   * Evaluates all monitors, and tells webhooks. What an attempt before this one did of the same
   * minute is not done again.
   */
  evaluate(signal: AbortSignal): Promise<void>;
}

const MINUTE_MS = 60_000;
/** Milliseconds after the end of a minute in which every node has stored what it recorded in it. */
const STORED_MS = 10_000;
/** How far a test looks back when it is not said. */
const USUAL_TEST_MS = 86_400_000;
const MAX_SILENCE_MS = 30 * 86_400_000;
/** Most characters of the reason for a silence. */
const MAX_REASON = 500;

/** Makes the capability. */
export function createMonitors({ metadata, deployments, reader, events, bus, clock, log }: MonitorsOptions): Monitors {
  const { monitors: store } = metadata;
  /** The monitors of deployments that are live, by id: a deployment never changes. */
  let known = new Map<string, readonly Monitor[]>();

  const readable = (monitor: Monitor): Watch | undefined => {
    try {
      return watchOf(monitor);
    } catch (error) {
      // Checked at the deployment, perhaps by a version whose table of metrics was another.
      log.debug("a monitor cannot be read", { monitor: monitor.name, error: errorText(error) });
      return undefined;
    }
  };

  const viewsOf = async (environment: EnvironmentRecord, { monitors }: Graph): Promise<MonitorView[]> => {
    const standings = new Map((await store.list(environment.id)).map((one) => [one.name, one]));
    const silences = silencesAt(await store.silences(environment.id), clock.now());
    return monitors.flatMap((monitor) => {
      const watch = readable(monitor);
      return watch
        ? [{ monitor, watch, standing: standings.get(monitor.name), silence: silences.get(keyOf(environment.id, monitor.name)) }]
        : [];
    });
  };

  const list = async (environment: EnvironmentRecord): Promise<MonitorView[]> => {
    const live = await deployments.resolve({ environment, branch: "", deploymentId: "" });
    return viewsOf(environment, await deployments.graph(live));
  };

  const find = async (environment: EnvironmentRecord, name: string): Promise<MonitorView> => {
    const views = await list(environment);
    const found = views.find(({ monitor }) => monitor.name === name);
    if (found) return found;
    const near = didYouMean(
      name,
      views.map(({ monitor }) => monitor.name),
    );
    throw new Failure("not_found", `There is no monitor '${name.slice(0, 200)}' in the deployment${near ? `; ${near}` : "."}`, {
      hint: "`svc monitors list` shows them.",
    });
  };

  /** Tells webhooks what they were not told yet, and notes it. */
  const tell = async (monitor: Monitor, watch: Watch, deploymentId: string, standing: MonitorStanding): Promise<void> => {
    const { environmentId, evaluatedAt, firedAt, name, toldAt } = standing;
    const { monitorChanged } = await events();
    const told = (type: "monitor.firing" | "monitor.resolved", of: number, at: number) =>
      monitorChanged({
        ...{ type, environmentId, webhooks: monitor.webhooks, at, key: `${environmentId}/${name}/${of}` },
        payload: payloadOf(type, monitor, watch, deploymentId, standing, of),
      });
    if (toldAt !== undefined) await told("monitor.resolved", toldAt, evaluatedAt);
    if (firedAt !== undefined) await told("monitor.firing", firedAt, firedAt);
    await store.put([{ ...standing, toldAt: firedAt }]);
  };

  const evaluateAll = async (
    environmentId: string,
    deploymentId: string,
    monitors: readonly Monitor[],
    signal: AbortSignal,
  ): Promise<void> => {
    const before = new Map((await store.list(environmentId)).map((one) => [one.name, one]));
    const names = monitors.map(({ name }) => name);
    if ([...before.keys()].some((name) => !names.includes(name))) await store.keepOnly(environmentId, names);
    if (monitors.length === 0) return;
    const metrics = await reader();
    const now = clock.now();
    const silences = silencesAt(await store.silences(environmentId), now);
    const at = Math.floor((now - STORED_MS) / MINUTE_MS) * MINUTE_MS;
    for (const monitor of monitors) {
      signal.throwIfAborted();
      const watch = readable(monitor);
      if (!watch) continue;
      const key = { environmentId, name: monitor.name };
      let standing = before.get(monitor.name);
      if (standing === undefined || standing.evaluatedAt < at) {
        const observed = await observe(metrics, environmentId, watch, at, now).catch((error: unknown): Observed => {
          if (!(error instanceof Failure)) throw error;
          log.info("a monitor has no value", { environment: environmentId, monitor: monitor.name, error: error.message });
          return { at, value: undefined, labels: {} };
        });
        standing = standingAfter(key, standing, watch, observed);
        await store.put([standing]);
        noteChange(bus, "monitors", environmentId);
      }
      if (standing.firedAt !== standing.toldAt && !silences.has(keyOf(environmentId, monitor.name)))
        await tell(monitor, watch, deploymentId, standing);
    }
  };

  return {
    list,

    async test(environment, name, sinceMs, signal) {
      const view = await find(environment, name);
      const longest = longestReplay(view.watch.periodMs);
      const given = sinceMs ?? Math.min(longest, Math.max(USUAL_TEST_MS, 4 * view.watch.periodMs));
      if (!(given > view.watch.periodMs))
        throw new Failure(
          "invalid_argument",
          `A value of the monitor is of ${formatDuration(view.watch.periodMs)}, and the test is of no longer time.`,
        );
      if (given > longest)
        throw new Failure(
          "invalid_argument",
          `The values of the monitor are known for ${formatDuration(longest)}: records of the time before are kept by longer periods.`,
          { hint: `Take --since ${formatDuration(longest)} or less.` },
        );
      const key = { environmentId: environment.id, name: view.monitor.name };
      return { view, replay: await replay(await reader(), key, view.watch, { sinceMs: given, now: clock.now() - STORED_MS, signal }) };
    },

    async silence(environment, name, { until, clientId, reason }) {
      const { monitor, ...view } = await find(environment, name);
      const createdAt = clock.now();
      if (until <= createdAt)
        throw new Failure("invalid_argument", "The silence would be over already.", { hint: "Give a time to come, such as --for 2h." });
      if (until - createdAt > MAX_SILENCE_MS)
        throw new Failure("invalid_argument", `A silence is of at most ${formatDuration(MAX_SILENCE_MS)}.`, {
          hint: "A monitor that nobody wants to hear of is better taken out of the project.",
        });
      if (reason.length > MAX_REASON) throw new Failure("invalid_argument", `The reason is longer than ${MAX_REASON} characters.`);
      const silence: MonitorSilence = { environmentId: environment.id, name: monitor.name, until, createdAt, clientId, reason };
      await store.silence(silence);
      noteChange(bus, "monitors", environment.id);
      return { monitor, ...view, silence };
    },

    async endSilence(environment, name) {
      const view = await find(environment, name);
      const ended = await store.endSilence(environment.id, view.monitor.name);
      if (!ended || !view.silence)
        throw new Failure("failed_precondition", `The monitor '${view.monitor.name}' is not silenced.`, {
          hint: "`svc monitors list` shows which are.",
        });
      noteChange(bus, "monitors", environment.id);
      return { ...view, silence: undefined };
    },

    async evaluate(signal) {
      const scopes = createLiveScopes(await metadata.livePointers(), await deployments.traffic.all());
      const read = new Map<string, readonly Monitor[]>();
      for (const { id, suspendedAt } of await metadata.environments()) {
        const live = scopes.get(id, "");
        if (live === undefined) continue;
        try {
          const monitors = known.get(live) ?? (await deployments.graph(live)).monitors;
          read.set(live, monitors);
          if (suspendedAt === undefined) await evaluateAll(id, live, monitors, signal);
        } catch (error) {
          signal.throwIfAborted();
          log.warning("the monitors of an environment could not be evaluated", { environment: id, error: errorText(error) });
        }
      }
      known = read;
    },
  };
}

const keyOf = (environmentId: string, name: string): string => `${environmentId}/${name}`;

/** The silences that are not over, by environment and name. */
function silencesAt(silences: readonly MonitorSilence[], now: number): ReadonlyMap<string, MonitorSilence> {
  return new Map(silences.filter(({ until }) => until > now).map((one) => [keyOf(one.environmentId, one.name), one]));
}

/** What the events say, as the proto's comment on `MonitorService` describes it. */
function payloadOf(
  type: "monitor.firing" | "monitor.resolved",
  monitor: Monitor,
  watch: Watch,
  deploymentId: string,
  { evaluatedAt, labels, value }: MonitorStanding,
  firedAt: number,
): object {
  return {
    monitor: monitor.name,
    ...{ severity: monitor.severity, owner: monitor.owner, description: monitor.description, deployment_id: deploymentId },
    ...{ query: monitor.expression, above: monitor.above || null, below: monitor.below || null, unit: watch.unit },
    ...{ value: value ?? null, labels, fired_at: new Date(firedAt).toISOString() },
    ...(type === "monitor.resolved" && { resolved_at: new Date(evaluatedAt).toISOString() }),
  };
}

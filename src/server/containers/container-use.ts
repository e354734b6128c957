/**
 * What containers and sandboxes of this node use, measured at the end of each period of metrics:
 * the latest measure is kept for who asks, and all are recorded.
 */

import type { MetricRecorder } from "../metrics/recorder.ts";
import type { StoredContainer } from "./container-records.ts";
import type { Containers } from "./containers.ts";

/** What a container used when it was last measured. */
export interface ContainerUse {
  readonly memoryBytes: number;
  /** Processors, on average since the measure before; undefined at the first one. */
  readonly processors: number | undefined;
}

/** The latest measures. */
export interface ContainerUses {
  /** Of a container; undefined when it does not run on this node, or was not measured yet. */
  of(id: string): ContainerUse | undefined;
}

/** What is measured. */
interface Measured {
  readonly kind: "container" | "sandbox";
  readonly all: Pick<Containers, "list" | "engineId" | "use">;
}

interface Measure extends ContainerUse {
  readonly at: number;
  readonly cpuSeconds: number;
}

/** Containers that the engine is asked about at once. */
const AT_ONCE = 8;

/** Has containers measured. */
export function measureContainers(parts: {
  readonly measured: readonly Measured[];
  readonly metrics: MetricRecorder;
  /** Names of scaling groups by their ids. */
  readonly groupNames: () => Promise<ReadonlyMap<string, string>>;
  /** Milliseconds; default: of a clock that nobody sets. */
  readonly now?: () => number;
}): ContainerUses {
  const { measured, metrics, groupNames, now = () => performance.now() } = parts;
  let latest: ReadonlyMap<string, Measure> = new Map();
  let isMeasuring = false;

  const measureOne = async ({ kind, all }: Measured, stored: StoredContainer, group: string): Promise<readonly [string, Measure][]> => {
    const used = await all.use(stored.id).catch(() => undefined);
    if (!used) return [];
    const before = latest.get(stored.id);
    const at = now();
    const passed = before === undefined ? 0 : (at - before.at) / 1000;
    const spent = used.cpuSeconds - (before?.cpuSeconds ?? 0);
    const processors = passed > 0 && spent >= 0 ? spent / passed : undefined;
    const labels = { container: stored.name, kind, group };
    metrics.gauge("container.memory", stored.environmentId, labels).set(used.memoryBytes);
    if (processors !== undefined) metrics.gauge("container.cpu", stored.environmentId, labels).set(processors);
    return [[stored.id, { ...used, at, processors }]];
  };

  const measure = async (): Promise<void> => {
    const running = (
      await Promise.all(
        measured.map(async (one) =>
          (await one.all.list()).filter(({ id }) => one.all.engineId(id) !== undefined).map((stored) => ({ one, stored })),
        ),
      )
    ).flat();
    const names: ReadonlyMap<string, string> = running.length === 0 ? new Map() : await groupNames();
    const found: (readonly [string, Measure])[] = [];
    for (let at = 0; at < running.length; at += AT_ONCE) {
      const some = running.slice(at, at + AT_ONCE);
      found.push(...(await Promise.all(some.map(({ one, stored }) => measureOne(one, stored, names.get(stored.group) ?? "")))).flat());
    }
    latest = new Map(found);
  };

  metrics.sample(async () => {
    if (isMeasuring) return;
    isMeasuring = true;
    await measure().finally(() => {
      isMeasuring = false;
    });
  });
  return { of: (id) => latest.get(id) };
}

/**
 * The export of what this server records to a collector. Records are gathered here and sent by a
 * thread, in batches; when they come faster than the collector takes them, the excess is dropped
 * and counted. Nothing waits for it but the end of the server, for a bounded time.
 */

import { errorText } from "../../domain/error-text.ts";
import { isOfApplications, SERVER_SCOPE } from "../../domain/metrics/metric.ts";
import type { Log } from "../log.ts";
import { environmentLabels } from "../metrics/exposition.ts";
import type { MetricRecording } from "../metrics/recorder.ts";
import type { RecordedSeries } from "../metrics/series.ts";
import type { NewRecord } from "../stores/logs/store.ts";
import type { SpanRecord } from "../stores/telemetry/store.ts";
import { Thread } from "../thread/rpc.ts";
import type { ExportCalls, ExportSettings } from "./export-worker.ts";
import type { Sent } from "./send.ts";
import { type MetricPoint, metricPoint } from "./sent-metrics.ts";
import type { OtlpEncoding, OtlpSettings, Signal } from "./settings.ts";

/** How the export of a signal stands. */
export interface SignalStanding {
  /** The collector's host and port; the rest of its address may be a secret. */
  readonly collector: string;
  /** `protobuf` or `json`. */
  readonly encoding: OtlpEncoding;
  /** Records that were dropped since the start. */
  readonly dropped: number;
  /** Why the last batch was not taken as a whole; empty = it was, or none was sent. */
  readonly problem: string;
  /** When the collector took something last, epoch milliseconds; undefined = never. */
  readonly takenAt: number | undefined;
}

/** The export. */
export interface OtlpExporter {
  /** The signals that are exported, by name. */
  standing(): Readonly<Partial<Record<Signal, SignalStanding>>>;
  /** Sends spans of this server; those that applications sent are left out. Never waits. */
  spans(spans: readonly SpanRecord[]): void;
  /**
   * Sends a line of this server. Those that applications sent are left out, and so are requests,
   * which metrics count. Never waits.
   */
  line(line: NewRecord): void;
  /** Sends what still waits, without repeating what fails, and ends. */
  close(): Promise<void>;
}

/** What the export needs. */
export interface ExporterParts {
  readonly settings: OtlpSettings;
  readonly version: string;
  /** Id of this node. */
  readonly node: () => string;
  readonly metrics: MetricRecording;
  /** Names of environments by their ids. */
  readonly environmentNames: () => Promise<ReadonlyMap<string, string>>;
  readonly now: () => number;
  readonly log: Log;
  /** Records that wait, of each signal, at most; default 4,096. */
  readonly maxWaiting?: number;
}

/** Records of a batch, and the time that one waits for others. */
const BATCH = 512;
const GATHER_MS = 5_000;
const MAX_WAITING = 4_096;
/** Time in which what waits is sent at the end. */
const CLOSE_MS = 5_000;

/** Begins the export. */
export function createOtlpExporter(parts: ExporterParts): OtlpExporter {
  const { environmentNames, log, metrics, now, settings } = parts;
  const thread = new Thread<ExportCalls, ExportSettings>({
    entry: "otlp/export-worker.ts",
    get settings() {
      const resource = { "service.version": parts.version, "service.instance.id": parts.node(), ...settings.resource };
      return { ...settings, resource, version: parts.version };
    },
  });
  const standings: Partial<Record<Signal, SignalStanding>> = {};
  for (const [signal, { encoding, url }] of Object.entries(settings.signals))
    standings[signal as Signal] = { collector: new URL(url).origin, encoding, dropped: 0, problem: "", takenAt: undefined };
  const ended = (signal: Signal) => {
    let isFailing = false;
    const dropped = metrics.counter("telemetry.dropped", SERVER_SCOPE, { signal: `otlp_${signal}` });
    return (sent: Sent): void => {
      if (sent.dropped > 0) dropped.add(sent.dropped);
      const before = standings[signal];
      if (before)
        standings[signal] = {
          ...before,
          dropped: before.dropped + sent.dropped,
          problem: sent.reason,
          takenAt: sent.isTaken ? now() : before.takenAt,
        };
      const isBad = sent.reason !== "" || sent.dropped > 0;
      const wasFailing = isFailing;
      isFailing = isBad;
      if (isBad && !wasFailing)
        log.warning(sent.isTaken ? "the collector did not take everything" : "telemetry could not be exported", {
          ...{ signal, dropped: sent.dropped, reason: sent.reason },
        });
      else if (!isBad && wasFailing) log.info("telemetry is exported again", { signal });
    };
  };
  const lane = <R>(signal: Signal, call: (records: readonly R[]) => Promise<Sent>): Lane<R> | undefined =>
    settings.signals[signal] && new Lane(call, ended(signal), parts.maxWaiting ?? MAX_WAITING);
  const spans = lane<SpanRecord>("traces", (records) => thread.call("traces", [records]));
  const lines = lane<NewRecord>("logs", (records) => thread.call("logs", [records]));
  const metricsEnded = ended("metrics");

  /** When each series began: it was not there when metrics were last looked at. */
  const begun = new WeakMap<RecordedSeries, number>();
  let lookedAt = now();
  const snapshot = async (): Promise<MetricPoint[]> => {
    const names = await environmentNames();
    const at = now();
    const own = metrics.series().filter(({ metric }) => !isOfApplications(metric));
    const points = own.flatMap((series) => {
      if (!begun.has(series)) begun.set(series, lookedAt);
      const labels = { ...environmentLabels(series.environmentId, (id) => names.get(id) ?? ""), ...series.labels };
      return metricPoint(series, labels, begun.get(series) ?? lookedAt, at) ?? [];
    });
    lookedAt = at;
    return points;
  };
  const exportMetrics = async (): Promise<void> => {
    try {
      const points = await snapshot();
      for (let from = 0; from < points.length; from += BATCH)
        metricsEnded(await thread.call("metrics", [points.slice(from, from + BATCH)]));
    } catch (error) {
      metricsEnded({ isTaken: false, dropped: 0, reason: errorText(error) });
    }
  };
  /** The export of metrics that is under way; the next one waits for its own turn. */
  let exporting: Promise<void> | undefined;
  const tick = (): void => {
    exporting ??= exportMetrics().finally(() => {
      exporting = undefined;
    });
  };
  const ticking = settings.signals.metrics && setInterval(tick, settings.metricIntervalMs);
  ticking?.unref();

  return {
    standing: () => ({ ...standings }),
    spans(records) {
      spans?.add(records.filter(({ kind }) => kind !== "app"));
    },
    line(line) {
      if (line.component !== "app" && line.component !== "gateway") lines?.add([line]);
    },
    async close() {
      clearInterval(ticking);
      await thread.call("hurry", [CLOSE_MS]).catch(() => undefined);
      await Promise.all([spans?.close(), lines?.close(), exporting?.then(() => undefined)]);
      if (ticking) await exportMetrics();
      await thread.close().catch(() => undefined);
    },
  };
}

/** The records of a signal, which are sent batch after batch. */
class Lane<R> {
  #waiting: R[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #sending: Promise<void> | undefined;
  #isClosing = false;

  constructor(
    private readonly call: (records: readonly R[]) => Promise<Sent>,
    private readonly ended: (sent: Sent) => void,
    private readonly maxWaiting: number,
  ) {}

  add(records: readonly R[]): void {
    if (this.#isClosing) return;
    const room = Math.max(this.maxWaiting - this.#waiting.length, 0);
    this.#waiting.push(...records.slice(0, room));
    const dropped = records.length - room;
    if (dropped > 0) this.ended({ isTaken: false, dropped, reason: "too many records wait to be sent" });
    if (this.#waiting.length >= BATCH) this.#begin();
    else if (this.#waiting.length > 0 && !this.#sending) this.#wait();
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    this.#begin();
    await this.#sending;
  }

  #wait(): void {
    this.#timer ??= setTimeout(() => this.#begin(), GATHER_MS);
    this.#timer.unref();
  }

  #begin(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#sending ??= this.#send().finally(() => {
      this.#sending = undefined;
      if (this.#waiting.length > 0) this.#wait();
    });
  }

  /** Sends what waits: whole batches, and at the end the rest. */
  async #send(): Promise<void> {
    do {
      const batch = this.#waiting.splice(0, BATCH);
      if (batch.length === 0) return;
      const lost = (error: unknown): Sent => ({ isTaken: false, dropped: batch.length, reason: errorText(error) });
      this.ended(await this.call(batch).catch(lost));
    } while (this.#waiting.length >= BATCH || this.#isClosing);
  }
}

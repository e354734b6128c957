/**
 * What is recorded of a deployment's resolvers and features while the engine answers. Calls are
 * recorded; what answers say is counted by plan and recorded every ten seconds; values and ages
 * are sampled.
 */

import { ErrorCode } from "../../../gen/svc/v1/error_pb.ts";
import { PrimitiveType } from "../../../gen/svc/v1/value_pb.ts";
import type { FeatureValue } from "../../domain/value.ts";
import type { FeatureRecorder, RecordedFeature, SketchKind } from "../metrics/feature-recorder.ts";
import type { Counter, Histogram, MetricRecorder } from "../metrics/recorder.ts";
import type { ModelUsage } from "../python/pool.ts";
import { branchOf } from "../stores/online/scope.ts";
import type { ResolverInfo, ScalarInfo } from "./graph/index-types.ts";
import type { LiveDeployment } from "./live-deployment.ts";
import type { Row, SlotId } from "./plan/ids.ts";
import type { Plan, PlanOp, PlanOutput } from "./plan/plan.ts";
import { CellOrigin, CellState } from "./run/cells.ts";
import type { Run } from "./run/run.ts";

/** What an engine's calls of resolvers are for, as their label has it. */
export type MeteredOperation = "online" | "offline" | "run";

/** Where an engine records. */
export interface Metering {
  readonly metrics: MetricRecorder;
  readonly operation: MeteredOperation;
  /** Absent = no statistics of features are recorded. */
  readonly features?: FeatureRecorder;
}

/** Rows of an answer that are sampled. */
const SAMPLED_ROWS = 8;
/** Answers of a plan that are sampled until fewer are: then every other one of those. */
const SAMPLES = 20;

/** Types of which values are sketched. */
const SKETCHED: ReadonlyMap<PrimitiveType, SketchKind> = new Map([
  [PrimitiveType.INT64, "number"],
  [PrimitiveType.FLOAT64, "number"],
  [PrimitiveType.STRING, "values"],
  [PrimitiveType.BOOL, "values"],
]);

interface ResolverSeries {
  readonly count: Counter;
  readonly latency: Histogram;
  readonly rows: Counter;
}

/** What a kept window was computed of. */
export type WindowSource = "tiles" | "rows" | "both";

/** Kept windows of some rows of a feature, as they were computed. */
export interface ComputedWindows {
  /** Number of windows by what they were computed of. */
  readonly sources: Readonly<Record<WindowSource, number>>;
  /** Tiles and rows that went into them. */
  readonly tiles: number;
  readonly rows: number;
}

interface WindowSeries {
  readonly sources: readonly (readonly [source: WindowSource, counter: Counter])[];
  readonly tiles: Counter;
  readonly rows: Counter;
}

interface FeatureSeries {
  readonly requests: Counter;
  readonly hits: Counter;
  readonly nulls: Counter;
  readonly errors: Counter;
  readonly age: Histogram;
  /** Statistics of the environment's own values; those of branches are not kept. */
  readonly stats: RecordedFeature | undefined;
}

/**
 * What answers of one plan said of its outputs since that was recorded. It is counted here and
 * recorded every ten seconds, so that a query pays for a few additions.
 */
class AnswerTally {
  /** Rows that were answered. */
  rows = 0;
  /** By position among the plan's outputs. */
  readonly hits: Float64Array;
  readonly nulls: Float64Array;
  readonly errors: Float64Array;
  /** One in so many answers is sampled, and how many come before the next one. */
  #every = 1;
  #before = 0;
  #sampled = 0;

  constructor(readonly features: readonly FeatureSeries[]) {
    this.hits = new Float64Array(features.length);
    this.nulls = new Float64Array(features.length);
    this.errors = new Float64Array(features.length);
  }

  /**
   * Whether this answer is sampled. What sampling costs grows with the logarithm of the answers.
   */
  isSampled(): boolean {
    if (this.#before-- > 0) return false;
    if (++this.#sampled % SAMPLES === 0) this.#every *= 2;
    this.#before = this.#every - 1;
    return true;
  }

  /** Records what was counted, and begins anew. */
  record(): void {
    const { rows, hits, nulls, errors } = this;
    for (const [at, series] of this.features.entries()) {
      const [hit, empty, failed] = [hits[at] as number, nulls[at] as number, errors[at] as number];
      series.requests.add(rows);
      if (hit > 0) series.hits.add(hit);
      if (empty > 0) series.nulls.add(empty);
      if (failed > 0) series.errors.add(failed);
      series.stats?.count(rows, empty, failed);
    }
    this.rows = 0;
    for (const counts of [hits, nulls, errors]) counts.fill(0);
    this.#every = Math.max(1, this.#every / 2);
    this.#before = Math.min(this.#before, this.#every - 1);
    this.#sampled = 0;
  }
}

/** The meter of one deployment. */
export class DeploymentMeter {
  readonly #resolvers = new Map<ResolverInfo, ResolverSeries>();
  readonly #features = new Map<ScalarInfo, FeatureSeries>();
  readonly #windows = new Map<ScalarInfo, WindowSeries>();
  readonly #answers = new WeakMap<Plan, AnswerTally>();
  /** Tallies of answers that were not recorded yet. */
  #tallied: AnswerTally[] = [];
  readonly metrics: MetricRecorder;
  readonly operation: MeteredOperation;
  /** FQNs of features whose values are never sampled. */
  #personal: ReadonlySet<string> | undefined;
  readonly #deployment: string;
  readonly #branch: string;

  constructor(
    readonly metering: Metering,
    readonly deployment: LiveDeployment,
  ) {
    this.metrics = metering.metrics;
    this.operation = metering.operation;
    this.#deployment = deployment.tag || deployment.id;
    this.#branch = branchOf(deployment.scope);
  }

  /** Whether calls of an op are recorded: joins and expressions are no resolvers. */
  isMetered({ kind, resolver }: PlanOp): boolean {
    return resolver !== undefined && kind !== "expression" && kind !== "join";
  }

  /** Records a call of a resolver for some rows, whose results were taken. */
  called({ cells, context }: Run, op: PlanOp, rows: readonly Row[], ms: number): void {
    const resolver = op.resolver as ResolverInfo;
    const series = this.#seriesOf(resolver);
    series.count.add();
    series.latency.observe(ms / 1000, context.observer ? context.traceId : "");
    let failed = 0;
    let code: ErrorCode | undefined;
    for (let index = 0; index < rows.length; index++) {
      const row = rows[index] as Row;
      for (let position = 0; position < op.outputs.length; position++) {
        const cell = cells.at(op.outputs[position] as SlotId, row);
        if (cells.state(cell) !== CellState.FAILED) continue;
        code ??= cells.failure(cell)?.code;
        failed++;
        break;
      }
    }
    if (failed < rows.length) series.rows.add(rows.length - failed);
    if (failed === 0) return;
    const labels = { ...this.#labelsOf(resolver), code: ErrorCode[code ?? ErrorCode.UNSPECIFIED] };
    this.metrics.counter("resolver.errors", this.deployment.environmentId, labels).add();
  }

  /** Counts what a call of a resolver asked of a model. */
  asked({ fqn }: ResolverInfo, { model, requests, failures, inputTokens, outputTokens }: ModelUsage): void {
    const { environmentId } = this.deployment;
    const labels = { resolver: fqn, model, operation: this.operation, branch: this.#branch };
    const count = (name: "model.requests" | "model.errors", value: number) => {
      if (value > 0) this.metrics.counter(name, environmentId, labels).add(value);
    };
    count("model.requests", requests);
    count("model.errors", failures);
    for (const [kind, tokens] of [
      ["input", inputTokens],
      ["output", outputTokens],
    ] as const)
      if (tokens > 0) this.metrics.counter("model.tokens", environmentId, { ...labels, kind }).add(tokens);
  }

  /** Counts kept windows of a feature that were computed. */
  windowed(feature: ScalarInfo, { rows, sources, tiles }: ComputedWindows): void {
    const series = this.#seriesOfWindow(feature);
    for (const [source, counter] of series.sources) if (sources[source] > 0) counter.add(sources[source]);
    if (tiles > 0) series.tiles.add(tiles);
    if (rows > 0) series.rows.add(rows);
  }

  /** Counts a value that breaks a rule and is answered all the same. */
  checked(feature: ScalarInfo, value: FeatureValue): void {
    if (value !== null && feature.softRules?.(value) !== undefined) this.broke(feature.fqn, 1);
  }

  /** Counts values of a feature that broke a rule and are answered all the same. */
  broke(feature: string, values: number): void {
    this.metrics.counter("feature.validation_failures", this.deployment.environmentId, { feature, branch: this.#branch }).add(values);
  }

  /** Counts the given values of a run that break a rule. */
  #checkGiven({ plan, cells, rows }: Run): void {
    for (const id of plan.givenSlots) {
      const { feature } = plan.slot(id);
      if (!feature.softRules) continue;
      for (let row = 0 as Row; row < rows; row++) this.checked(feature, cells.value(cells.at(id, row)));
    }
  }

  /**
   * Counts the features of an answer; those of jobs and of copies of queries were asked for by
   * nobody.
   */
  answered(run: Run): void {
    if (this.operation !== "online" || this.deployment.isMirror) return;
    this.#checkGiven(run);
    const { plan, cells, rows } = run;
    const tally = this.#tallyOf(plan);
    const { hits, nulls, errors } = tally;
    if (tally.rows === 0) this.#begin(tally);
    tally.rows += rows;
    for (let at = 0; at < plan.outputs.length; at++) {
      const { feature, slot } = plan.outputs[at] as PlanOutput;
      if (slot === undefined) {
        errors[at] = (errors[at] as number) + rows;
        continue;
      }
      for (let row = 0 as Row; row < rows; row++) {
        const cell = cells.at(slot, row);
        const state = cells.state(cell);
        if (cells.origin(cell) === CellOrigin.STORED) hits[at] = (hits[at] as number) + 1;
        if (state === CellState.FAILED) errors[at] = (errors[at] as number) + 1;
        else if (state === CellState.ABSENT || (cells.value(cell) === null && !feature.rowsOf)) nulls[at] = (nulls[at] as number) + 1;
      }
    }
    if (tally.isSampled()) this.#sample(run, tally.features);
  }

  /** Has a tally recorded when the metrics are collected next. */
  #begin(tally: AnswerTally): void {
    if (this.#tallied.push(tally) > 1) return;
    this.metrics.collectLater(() => {
      const tallied = this.#tallied;
      this.#tallied = [];
      for (const one of tallied) one.record();
    });
  }

  /** Records the ages of what the store served, and values, of some of an answer's rows. */
  #sample({ plan, cells, rows, context }: Run, features: readonly FeatureSeries[]): void {
    const step = Math.max(1, Math.floor(rows / SAMPLED_ROWS));
    for (const [at, { slot }] of plan.outputs.entries()) {
      if (slot === undefined) continue;
      const { age, stats } = features[at] as FeatureSeries;
      for (let row = 0 as Row; row < rows; row = (row + step) as Row) {
        const cell = cells.at(slot, row);
        if (cells.origin(cell) === CellOrigin.STORED) {
          const seconds = Math.max(0, context.now.ms - cells.observed(cell)) / 1000;
          age.observe(seconds);
          stats?.ages.record(seconds);
        }
        const value = cells.value(cell);
        if (cells.isOk(cell) && value !== null) stats?.sample(value);
      }
    }
  }

  #tallyOf(plan: Plan): AnswerTally {
    let tally = this.#answers.get(plan);
    if (!tally) {
      tally = new AnswerTally(plan.outputs.map(({ feature }) => this.#seriesOfFeature(feature)));
      this.#answers.set(plan, tally);
    }
    return tally;
  }

  #labelsOf({ fqn }: ResolverInfo) {
    return { resolver: fqn, deployment: this.#deployment, branch: this.#branch, operation: this.operation };
  }

  #seriesOf(resolver: ResolverInfo): ResolverSeries {
    let series = this.#resolvers.get(resolver);
    if (!series) {
      const { environmentId } = this.deployment;
      const labels = this.#labelsOf(resolver);
      series = {
        count: this.metrics.counter("resolver.count", environmentId, labels),
        latency: this.metrics.histogram("resolver.latency", environmentId, labels),
        rows: this.metrics.counter("resolver.rows", environmentId, labels),
      };
      this.#resolvers.set(resolver, series);
    }
    return series;
  }

  /** The kind of a feature's sketch; keys and personal values have none. */
  #sketchOf({ dtype, fqn, primary }: ScalarInfo): SketchKind {
    this.#personal ??= new Set(
      this.deployment.graph.featureSets.flatMap(({ features }) =>
        features.filter(({ tags }) => tags.includes("pii")).map((one) => one.fqn),
      ),
    );
    if (primary || this.#personal.has(fqn) || dtype.kind.case !== "primitive") return undefined;
    return SKETCHED.get(dtype.kind.value);
  }

  #seriesOfWindow(feature: ScalarInfo): WindowSeries {
    let series = this.#windows.get(feature);
    if (!series) {
      const { environmentId } = this.deployment;
      const labels = { feature: feature.fqn, branch: this.#branch };
      const counterOf = (source: WindowSource) =>
        [source, this.metrics.counter("aggregate.windows", environmentId, { ...labels, source })] as const;
      series = {
        sources: [counterOf("tiles"), counterOf("rows"), counterOf("both")],
        tiles: this.metrics.counter("aggregate.tiles", environmentId, labels),
        rows: this.metrics.counter("aggregate.rows", environmentId, labels),
      };
      this.#windows.set(feature, series);
    }
    return series;
  }

  #seriesOfFeature(feature: ScalarInfo): FeatureSeries {
    let series = this.#features.get(feature);
    if (!series) {
      const { fqn } = feature;
      const { environmentId } = this.deployment;
      const labels = { feature: fqn, branch: this.#branch };
      series = {
        requests: this.metrics.counter("feature.request_count", environmentId, labels),
        hits: this.metrics.counter("feature.hit", environmentId, labels),
        nulls: this.metrics.counter("feature.null", environmentId, labels),
        errors: this.metrics.counter("feature.errors", environmentId, labels),
        age: this.metrics.histogram("feature.age", environmentId, labels),
        stats: this.#branch === "" ? this.metering.features?.feature(environmentId, fqn, this.#sketchOf(feature)) : undefined,
      };
      this.#features.set(feature, series);
    }
    return series;
  }
}

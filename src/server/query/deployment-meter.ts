/**
 * What is recorded of a deployment's resolvers and features while the engine answers. Records are
 * made by call and by column of an answer; the values themselves are sampled.
 */

import { ErrorCode } from "../../../gen/svc/v1/error_pb.ts";
import { PrimitiveType } from "../../../gen/svc/v1/value_pb.ts";
import type { FeatureRecorder, RecordedFeature, SketchKind } from "../metrics/feature-recorder.ts";
import type { Counter, Histogram, MetricRecorder } from "../metrics/recorder.ts";
import { branchOf } from "../stores/online/scope.ts";
import type { ResolverInfo, ScalarInfo } from "./graph/index-types.ts";
import type { LiveDeployment } from "./live-deployment.ts";
import type { Row, SlotId } from "./plan/ids.ts";
import type { PlanOp, PlanOutput } from "./plan/plan.ts";
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

/** Ages that are recorded of a column of an answer. */
const AGES = 8;

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

interface FeatureSeries {
  readonly requests: Counter;
  readonly hits: Counter;
  readonly nulls: Counter;
  readonly errors: Counter;
  readonly age: Histogram;
  /** Statistics of the environment's own values; those of branches are not kept. */
  readonly stats: RecordedFeature | undefined;
}

/** The meter of one deployment. */
export class DeploymentMeter {
  readonly #resolvers = new Map<ResolverInfo, ResolverSeries>();
  readonly #features = new Map<ScalarInfo, FeatureSeries>();
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
    let series = this.#resolvers.get(resolver);
    if (!series) {
      series = this.#seriesOf(resolver);
      this.#resolvers.set(resolver, series);
    }
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

  /**
   * Records the features of an answer; those of jobs and of copies of queries were asked for by
   * nobody.
   */
  answered({ plan, cells, rows, context }: Run): void {
    if (this.operation !== "online" || this.deployment.isMirror) return;
    const now = context.now.ms;
    const step = Math.max(1, Math.floor(rows / AGES));
    for (let at = 0; at < plan.outputs.length; at++) {
      const { feature, slot } = plan.outputs[at] as PlanOutput;
      let series = this.#features.get(feature);
      if (!series) {
        series = this.#featureSeries(feature);
        this.#features.set(feature, series);
      }
      series.requests.add(rows);
      if (slot === undefined) {
        series.errors.add(rows);
        continue;
      }
      const { stats } = series;
      let hits = 0;
      let nulls = 0;
      let errors = 0;
      for (let row = 0 as Row; row < rows; row++) {
        const cell = cells.at(slot, row);
        const state = cells.state(cell);
        if (state === CellState.FAILED) errors++;
        else if (state === CellState.ABSENT || (cells.value(cell) === null && !feature.rowsOf)) nulls++;
        else if (row % step === 0 && stats?.wantsSample && cells.value(cell) !== null) stats.sample(cells.value(cell));
        if (cells.origin(cell) !== CellOrigin.STORED) continue;
        hits++;
        if (row % step !== 0) continue;
        const age = Math.max(0, now - cells.observed(cell)) / 1000;
        series.age.observe(age);
        stats?.ages.record(age);
      }
      if (stats) {
        stats.count += rows;
        stats.nulls += nulls;
        stats.errors += errors;
      }
      if (hits > 0) series.hits.add(hits);
      if (nulls > 0) series.nulls.add(nulls);
      if (errors > 0) series.errors.add(errors);
    }
  }

  #labelsOf({ fqn }: ResolverInfo) {
    return { resolver: fqn, deployment: this.#deployment, branch: this.#branch, operation: this.operation };
  }

  #seriesOf(resolver: ResolverInfo): ResolverSeries {
    const { environmentId } = this.deployment;
    const labels = this.#labelsOf(resolver);
    return {
      count: this.metrics.counter("resolver.count", environmentId, labels),
      latency: this.metrics.histogram("resolver.latency", environmentId, labels),
      rows: this.metrics.counter("resolver.rows", environmentId, labels),
    };
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

  #featureSeries(feature: ScalarInfo): FeatureSeries {
    const { fqn } = feature;
    const { environmentId } = this.deployment;
    const labels = { feature: fqn, branch: this.#branch };
    return {
      requests: this.metrics.counter("feature.request_count", environmentId, labels),
      hits: this.metrics.counter("feature.hit", environmentId, labels),
      nulls: this.metrics.counter("feature.null", environmentId, labels),
      errors: this.metrics.counter("feature.errors", environmentId, labels),
      age: this.metrics.histogram("feature.age", environmentId, labels),
      stats: this.#branch === "" ? this.metering.features?.feature(environmentId, fqn, this.#sketchOf(feature)) : undefined,
    };
  }
}

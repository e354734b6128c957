/** Matching of rows that a Python resolver returned with the rows that an op runs for. */

import { ErrorCode } from "../../../../gen/svc/v1/error_pb.ts";
import type { FeatureValue } from "../../../domain/value.ts";
import type { ResultValue } from "../../python/pool.ts";
import type { ResolverInfo } from "../graph/index-types.ts";
import type { Row } from "../plan/ids.ts";
import type { PlanFrame, PlanOp, PlanSlot } from "../plan/plan.ts";
import { accept, failed, hiddenBy, keylessRow, lookedFor, missingRow, observedTime } from "../run/outcome.ts";
import type { OpResults, Outcome, Run } from "../run/run.ts";
import type { Scan, ScanIndex } from "./scan.ts";

/** The rows found for a row of the run. */
interface Found {
  readonly key: FeatureValue[];
  /** Positions of the key's rows that are visible at the row's time. */
  readonly matches: readonly number[];
  /** The position of a row that is not visible yet, when there is no visible one. */
  readonly hidden: number | undefined;
  readonly row: Row;
}

/** Looks up rows by the keys of an op. */
export class RowLookup {
  readonly #frame: PlanFrame;
  readonly #resolver: ResolverInfo;
  readonly #index: ScanIndex;
  readonly #times: readonly ResultValue[] | undefined;
  readonly #found: readonly Found[];

  /** @param keyOf the values of `op.keys` for a row of the run */
  constructor(
    readonly run: Run,
    readonly op: PlanOp,
    rows: readonly Row[],
    readonly scan: Scan,
    keyOf: (row: Row) => FeatureValue[],
  ) {
    this.#frame = run.plan.frame(op.frame);
    this.#resolver = op.resolver as ResolverInfo;
    this.#index = scan.indexOf(op.keys);
    const { featureTime } = this.#frame.namespace;
    this.#times = featureTime && scan.columns.get(featureTime);
    this.#found = rows.map((row) => this.#find(row, keyOf(row)));
  }

  /** The number of rows of the run for which exactly one row was found. */
  get single(): number {
    return this.#found.filter(({ matches }) => matches.length === 1).length;
  }

  /** The values, and whether each row exists. */
  results(): OpResults {
    return {
      outcomes: this.op.outputs.map((id) => {
        const slot = this.run.plan.slot(id);
        return this.#found.map((found) => this.#outcome(slot, found));
      }),
      observedAt: this.#found.map(({ matches: [only] }) => (only === undefined ? undefined : this.#observed(only))),
      found: this.#found.map(({ key, matches }) =>
        matches.length === 0 && this.#index.broken
          ? keylessRow(this.#frame.path, this.#resolver, lookedFor(this.op.keys, key), this.#index.broken)
          : matches.length > 0,
      ),
    };
  }

  #find(row: Row, key: FeatureValue[]): Found {
    const all = this.#index.find(key);
    const nowMs = this.run.timeOf(row).ms;
    const matches = all.filter((one) => (this.#observed(one) ?? nowMs) <= nowMs);
    return { key, matches, hidden: matches.length === 0 ? all[0] : undefined, row };
  }

  #observed(position: number): number | undefined {
    return observedTime(this.#times?.[position]);
  }

  #outcome(slot: PlanSlot, { key, matches, hidden, row }: Found): Outcome {
    const [only] = matches;
    const resolver = this.#resolver;
    if (only !== undefined && matches.length === 1)
      return accept(slot, this.scan.columns.get(slot.feature)?.[only], slot.feature.strict, this.#frame, resolver);
    const looked = lookedFor(this.op.keys, key);
    const by = hidden === undefined ? looked : hiddenBy(looked, this.#times?.[hidden], this.run.timeOf(row).text);
    if (only !== undefined) {
      const message = `${resolver.fqn} gave ${matches.length} rows, expected at most one, with ${by}`;
      return failed({ code: ErrorCode.RESOLVER_FAILED, message, path: slot.path, resolver: resolver.fqn });
    }
    if (this.#index.broken) return failed(keylessRow(slot.path, resolver, by, this.#index.broken));
    return missingRow(slot, this.#frame, { resolver, by, mustExist: resolver.total, isRowSource: this.op.isRowSource });
  }
}

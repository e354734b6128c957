/** Results that serve several steps of one query. */

import type { SqlResult } from "../../sql/source.ts";
import type { Filled } from "../../tiles/coverage.ts";
import type { ResolverInfo } from "../graph/index-types.ts";
import { LruMap } from "../lru.ts";
import type { Scan } from "../ops/scan.ts";
import type { Awaitable } from "./awaitable.ts";

/** Scans that are kept of those that are run for each time of a query's rows. */
const MAX_TIMED = 64;

/**
 * Results that the steps of a query fetched, for other steps that need the same. It lives as long
 * as the query's context: runs of child rows share it, other queries never see it.
 */
export class RunCaches {
  #scans: Map<ResolverInfo, Promise<Scan>> | undefined;
  #timedScans: LruMap<Promise<Scan>> | undefined;
  #statements: Map<string, Promise<SqlResult>> | undefined;

  /** What was filled of series when the query first asked, by the series' key. */
  readonly filled = new Map<string, Awaitable<Filled | undefined>>();

  /** Rows of resolvers that run once for the query. */
  get scans(): Map<ResolverInfo, Promise<Scan>> {
    this.#scans ??= new Map();
    return this.#scans;
  }

  /**
   * Rows of resolvers that run once for each time, by resolver and time; the oldest are forgotten.
   */
  get timedScans(): LruMap<Promise<Scan>> {
    this.#timedScans ??= new LruMap(MAX_TIMED);
    return this.#timedScans;
  }

  /** Results of statements by source, text and parameters. */
  get statements(): Map<string, Promise<SqlResult>> {
    this.#statements ??= new Map();
    return this.#statements;
  }
}

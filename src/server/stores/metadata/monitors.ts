/**
 * Monitors as they stand: what their last evaluation found, and who silenced them. Every method is
 * one atomic step. Times are epoch milliseconds.
 */

/** The state of a monitor: `pending` = the bound is broken, not yet for long enough. */
export type MonitorState = "ok" | "pending" | "firing" | "no_data";

/** What is known of a monitor since its last evaluation. */
export interface MonitorStanding {
  readonly environmentId: string;
  /** Its name, unique in the environment. */
  readonly name: string;
  readonly state: MonitorState;
  /** Since when it has the state. */
  readonly since: number;
  /** The value that was compared; undefined = there was none. */
  readonly value: number | undefined;
  /** Labels of the series that the value is of. */
  readonly labels: Readonly<Record<string, string>>;
  /** End of the period that the value is of. */
  readonly evaluatedAt: number;
  /** Since when every value broke the bound; undefined = the last one did not. */
  readonly brokenSince: number | undefined;
  /** When it fired, as long as the bound was not seen kept since; undefined = it does not fire. */
  readonly firedAt: number | undefined;
  /**
   * `firedAt` of the firing that webhooks were told of and whose end they were not; undefined =
   * none.
   */
  readonly toldAt: number | undefined;
}

/** A time in which webhooks are not told of a monitor. */
export interface MonitorSilence {
  readonly environmentId: string;
  readonly name: string;
  readonly until: number;
  readonly createdAt: number;
  /** Id of the client that asked for it. */
  readonly clientId: string;
  /** Why; may be empty. */
  readonly reason: string;
}

/** The monitors of all environments. */
export interface MonitorStore {
  /** Those of an environment by name, or of all. */
  list(environmentId?: string): Promise<MonitorStanding[]>;
  /** Writes monitors as they stand now, in place of what was there. */
  put(standings: readonly MonitorStanding[]): Promise<void>;
  /** Forgets the monitors of an environment, and their silences, but for those of the names. */
  keepOnly(environmentId: string, names: readonly string[]): Promise<void>;
  /** The silences of an environment, or of all, those that are over too. */
  silences(environmentId?: string): Promise<MonitorSilence[]>;
  /** Silences a monitor, in place of a silence that there was. */
  silence(silence: MonitorSilence): Promise<void>;
  /** Ends the silence of a monitor and returns it; undefined when there was none. */
  endSilence(environmentId: string, name: string): Promise<MonitorSilence | undefined>;
}

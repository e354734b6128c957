/** Calls of the process that owns the history, and that process's life. */

import { deserialize, serialize } from "bun:jsc";
import { startDatabase } from "../../../tables/duckdb/start-database.ts";
import { TableError } from "../../../tables/engine.ts";
import type { ChildEnded, ChildLimits, ChildProcess } from "../../../thread/child-process.ts";
import { type OfflineErrorCode, OfflineStoreError } from "../store.ts";
import type { History, HistorySettings } from "./history.ts";

/** The methods that are called. */
export type HistoryMethods = Pick<
  History,
  | "facts"
  | "adopted"
  | "move"
  | "deleteKeys"
  | "dropVersion"
  | "hours"
  | "trim"
  | "compact"
  | "sample"
  | "scanKeys"
  | "scan"
  | "latest"
  | "sampleTable"
  | "exportHistory"
  | "exportKeys"
  | "interrupt"
>;

/** The calls of a history. */
export interface HistoryLink {
  /** Calls a method. Rejects with OfflineStoreError; `unusable` where the engine cannot run. */
  call<M extends keyof HistoryMethods>(method: M, ...args: Parameters<HistoryMethods[M]>): Promise<Awaited<ReturnType<HistoryMethods[M]>>>;
  /** Ends the process. */
  close(): Promise<void>;
}

/**
 * What the process serves. Arguments and results are structured clones: every value is exact.
 */
export interface PackedHistory {
  call(method: string, args: Uint8Array): Promise<Uint8Array>;
}

/** A value as bytes. */
export function packed(value: unknown): Uint8Array {
  return serialize(value, { binaryType: "nodebuffer" });
}

/** The value of bytes. */
export function unpacked(bytes: Uint8Array): unknown {
  return deserialize(new Uint8Array(bytes).buffer);
}

/** How the process is started. */
export interface HistoryStart {
  /** Called before each start. */
  readonly settings: () => HistorySettings;
  readonly limits: ChildLimits;
  /** Working directory. */
  readonly folder: string;
  /** Milliseconds without a call after which it ends. */
  readonly idleMs: number;
  readonly onStart?: (pid: number) => void;
  readonly onEnd?: (ended: ChildEnded) => void;
}

/** The hidden verb of the process. */
const HISTORY_VERB = "__history";

/** The calls of a process, which is started when something is called. */
export function startHistory({ settings, limits, folder, idleMs, onStart, onEnd }: HistoryStart): HistoryLink {
  type Child = ChildProcess<PackedHistory, HistorySettings>;
  let child: Child | undefined;
  let ending: Promise<void> = Promise.resolve();
  let calls = 0;
  let timer: Timer | undefined;
  let isClosed = false;
  const end = (): void => {
    const idle = child;
    child = undefined;
    if (idle) ending = ending.then(() => idle.close());
  };
  const started = async (): Promise<Child> => {
    await ending;
    if (isClosed) throw new OfflineStoreError("failed", "the offline store is closed");
    child ??= startDatabase<PackedHistory, HistorySettings>({
      name: "the offline store's history",
      verb: HISTORY_VERB,
      settings: settings(),
      limits,
      folder,
      ...(onStart && { onStart }),
      ...(onEnd && { onEnd }),
    });
    return child;
  };
  return {
    async call(method, ...args) {
      clearTimeout(timer);
      calls++;
      try {
        const answer = await (await started()).call("call", method, packed(args));
        return unpacked(answer) as never;
      } catch (error) {
        throw historyFailure(error);
      } finally {
        calls--;
        if (calls === 0) {
          timer = setTimeout(end, idleMs);
          timer.unref();
        }
      }
    },
    async close() {
      isClosed = true;
      clearTimeout(timer);
      end();
      await ending;
    },
  };
}

const CODES: ReadonlySet<unknown> = new Set<OfflineErrorCode>(["damaged", "unusable", "refused", "failed"]);

/** The store's error for one of the process. */
export function historyFailure(error: unknown): OfflineStoreError {
  if (error instanceof OfflineStoreError) return error;
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof TableError) {
    const codes = { unavailable: "unusable", refused: "refused", damaged: "damaged", exhausted: "failed", failed: "failed" } as const;
    return new OfflineStoreError(codes[error.code], message);
  }
  const code = (error as { readonly code?: unknown } | undefined)?.code;
  return new OfflineStoreError(CODES.has(code) ? (code as OfflineErrorCode) : "failed", message);
}

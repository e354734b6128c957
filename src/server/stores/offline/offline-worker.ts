/** Worker thread of the offline store: one writes, one reads, each with a connection of its own. A thread answers in the order it is asked. */

import { toOfflineError } from "./damage.ts";
import { OfflineReader } from "./reader.ts";
import type { OfflineErrorCode } from "./store.ts";
import { OfflineWriter } from "./writer.ts";

declare const self: Worker & { close(): void };

/** What each thread can be asked. */
export interface OfflineThreads {
  readonly write: OfflineWriter;
  readonly read: OfflineReader;
}

/** A question: the method of the thread's half, and its arguments. `open` only opens the file, `close` ends the thread. */
export interface OfflineRequest {
  readonly id: number;
  readonly half: keyof OfflineThreads;
  readonly path: string;
  readonly programVersion: string;
  readonly method: string;
  readonly args: readonly unknown[];
}

/** Its answer. */
export type OfflineAnswer =
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly failed: { readonly code: OfflineErrorCode; readonly message: string } };

let opened: OfflineWriter | OfflineReader | undefined;

self.onmessage = ({ data }: MessageEvent<OfflineRequest>): void => {
  const { id, half, path, programVersion, method, args } = data;
  try {
    if (method === "close") {
      opened?.close();
      self.postMessage({ id, result: undefined } satisfies OfflineAnswer);
      self.close();
      return;
    }
    opened ??= half === "write" ? new OfflineWriter(path, programVersion) : new OfflineReader(path);
    const methods = opened as unknown as Record<string, (...args: readonly unknown[]) => unknown>;
    const result = method === "open" ? undefined : methods[method]?.(...args);
    self.postMessage({ id, result } satisfies OfflineAnswer);
  } catch (error) {
    const { code, message } = toOfflineError(path, error);
    self.postMessage({ id, failed: { code, message } } satisfies OfflineAnswer);
  }
};

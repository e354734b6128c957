import type { ComponentChildren } from "preact";
import type { Loaded } from "../api/load.ts";
import { Failed } from "./failed.tsx";
import { Skeleton } from "./skeleton.tsx";

interface LoadingParts<T> {
  readonly of: Loaded<T>;
  /** Lines of the skeleton. */
  readonly lines?: number;
  readonly children: (data: T) => ComponentChildren;
}

/**
 * What an answer shows: a skeleton until it is there, the failure with the way to try again, and
 * the answer, which stays with a word about it when asking anew failed.
 */
export function Loading<T>({ of, lines, children }: LoadingParts<T>) {
  const { data, error, reload } = of;
  return (
    <>
      {error && <Failed error={error} onRetry={reload} />}
      {data === undefined ? !error && <Skeleton lines={lines ?? 3} /> : children(data)}
    </>
  );
}

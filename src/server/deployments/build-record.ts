/** The record of a build while it goes on: its phases, and lines of its log as they come. */

import type { ImageBuildPhase, ImageBuildStore } from "../stores/metadata/image-builds.ts";

/** Most lines of a log that are kept. */
const MAX_LINES = 1_000;
/** Longest line, in characters. */
const MAX_LINE = 2_000;
const MAX_ERROR = 4_000;
/** Milliseconds in which lines are gathered. */
const GATHER_MS = 200;

/** A build that has begun in the store. */
export interface BuildRecord {
  /** Notes that the builder works. */
  running(): void;
  /** Adds a line to its log. */
  line(text: string): void;
  /** Ends it; resolves once all is stored. @param error why, of one that fails */
  end(phase: Exclude<ImageBuildPhase, "pending" | "running">, error?: string): Promise<void>;
}

/**
 * Makes the record of a build that has begun.
 * @param changed told that what is stored of it has changed
 */
export function buildRecord(store: ImageBuildStore, environmentId: string, name: string, changed: () => void): BuildRecord {
  let lines: string[] = [];
  let writing: Promise<unknown> = Promise.resolve();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    const gathered = lines;
    lines = [];
    if (gathered.length > 0) writing = writing.then(() => store.addLines(environmentId, name, gathered, MAX_LINES)).then(changed);
  };
  return {
    running() {
      writing = writing.then(() => store.move(environmentId, name, "running")).then(changed);
    },
    line(text) {
      lines.push(text.slice(0, MAX_LINE));
      timer ??= setTimeout(flush, GATHER_MS);
    },
    async end(phase, error = "") {
      flush();
      await writing;
      await store.move(environmentId, name, phase, error.slice(0, MAX_ERROR));
      changed();
    },
  };
}

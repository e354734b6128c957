/** Samples of what resolvers are doing, as workers send them. */

import type { Message } from "./frames.ts";

/** Milliseconds between two samples of a worker, on average: `INTERVAL` of the worker. */
export const SAMPLE_INTERVAL_MS = 5;

/** A stack with the times that it was seen. */
export interface SampledStack {
  /** FQN. */
  readonly resolver: string;
  /** Functions from the resolver inwards. */
  readonly frames: readonly string[];
  readonly samples: number;
}

/** Samples of some time. */
export interface ProfileSamples {
  readonly stacks: readonly SampledStack[];
  /** Samples that are in no stack, because there were too many different ones. */
  readonly dropped: number;
}

/** Samples of a while, added up by their stacks. */
export class SampleSum {
  readonly #stacks = new Map<string, SampledStack>();
  #dropped = 0;

  /** @param most different stacks; samples of others are counted only */
  constructor(private readonly most: number) {}

  /** Samples that are in no stack. */
  get dropped(): number {
    return this.#dropped;
  }

  add({ stacks, dropped }: ProfileSamples): void {
    this.#dropped += dropped;
    for (const stack of stacks) {
      const key = JSON.stringify([stack.resolver, ...stack.frames]);
      const before = this.#stacks.get(key);
      if (!before && this.#stacks.size >= this.most) this.#dropped += stack.samples;
      else this.#stacks.set(key, { ...stack, samples: stack.samples + (before?.samples ?? 0) });
    }
  }

  /** By samples, most first. */
  stacks(): SampledStack[] {
    return [...this.#stacks.values()].sort((one, other) => other.samples - one.samples);
  }
}

/** Most stacks of a message, functions of a stack, and characters of a text. */
const MAX_STACKS = 1_000;
const MAX_FRAMES = 64;
const MAX_TEXT = 400;

/**
 * The samples of a PROFILE frame. A worker runs the project's code, so what does not have the form
 * of samples is left out.
 */
export function readProfile({ stacks, dropped }: Message): ProfileSamples {
  return {
    stacks: Array.isArray(stacks) ? stacks.slice(0, MAX_STACKS).flatMap(readStack) : [],
    dropped: isCount(dropped) ? dropped : 0,
  };
}

function readStack(given: unknown): SampledStack[] {
  const [resolver, frames, samples]: unknown[] = Array.isArray(given) ? given : [];
  if (!isText(resolver) || !isCount(samples) || !Array.isArray(frames) || frames.length === 0 || !frames.every(isText)) return [];
  return [{ resolver, frames: frames.slice(0, MAX_FRAMES), samples }];
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.length <= MAX_TEXT;
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

/** Following what runs on the server to its end. */

import { WatchTopic } from "../../gen/svc/v1/watch_pb.ts";
import type { Context } from "../context/context.ts";
import { followHints } from "./hints.ts";

/** What is followed, and how people are told of it. */
export interface Followed<T> {
  /** What the server is doing, such as `Answering`. */
  readonly title: string;
  /** What is said when the command is interrupted: that it goes on, and how it is shown. */
  readonly goesOn: string;
  /** Asks how it stands. */
  readonly ask: () => Promise<T | undefined>;
  readonly hasEnded: (standing: T) => boolean;
  readonly hasFailed: (standing: T) => boolean;
  /**
   * How far it is, in a few words.
   * @param elapsedMs since it is followed
   */
  readonly progressText: (standing: T, elapsedMs: number) => string;
}

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;

/**
 * What was begun, once it has ended: asked for when a hint comes, and after growing pauses. When
 * the command is interrupted it goes on, and the user is told so.
 */
export async function followToEnd<T>(context: Context, begun: T, followed: Followed<T>): Promise<T> {
  const { clock, progress, signal } = context;
  const { title, goesOn, ask, hasEnded, hasFailed, progressText } = followed;
  if (hasEnded(begun)) return begun;
  const started = clock.now();
  const onInterrupt = (): void => progress.note(`\n${goesOn}`);
  signal.addEventListener("abort", onInterrupt, { once: true });
  const hints = followHints(context, [WatchTopic.RUNS]);
  try {
    return await progress.step(
      title,
      async (say) => {
        let standing = begun;
        for (let pause = FIRST_PAUSE_MS; !hasEnded(standing); pause = Math.min(pause * 1.5, LONGEST_PAUSE_MS)) {
          await hints.next(pause);
          standing = (await ask()) ?? standing;
          say(progressText(standing, clock.now() - started));
        }
        return standing;
      },
      hasFailed,
    );
  } finally {
    hints.close();
    signal.removeEventListener("abort", onInterrupt);
  }
}

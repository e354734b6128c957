import type { Tone } from "./status.tsx";

/** How something ended, or how it stands. */
export interface Outcome {
  readonly key: string;
  readonly tone: Tone;
  /** In words, with its time. */
  readonly text: string;
}

const STEP = 5;
const HEIGHT = 20;
/** Heights of bars: what is wrong is told by its length too. */
const HEIGHTS: Readonly<Record<Tone, number>> = { good: 20, warn: 13, bad: 7, busy: 3, dim: 3 };

/** The last outcomes as bars, the newest at the right, with the number of good ones. */
export function OutcomeBars({ label, outcomes }: { readonly label: string; readonly outcomes: readonly Outcome[] }) {
  const good = outcomes.filter(({ tone }) => tone === "good").length;
  const words = outcomes.length === 0 ? "none yet" : `${good} of ${outcomes.length} good`;
  return (
    <span class="outcomes">
      {outcomes.length > 0 && (
        <svg role="img" aria-label={`${label}: ${words}`} width={outcomes.length * STEP} height={HEIGHT}>
          {outcomes.map(({ key, text, tone }, at) => (
            <rect key={key} class={tone} x={at * STEP} y={HEIGHT - HEIGHTS[tone]} width={STEP - 2} height={HEIGHTS[tone]}>
              <title>{text}</title>
            </rect>
          ))}
        </svg>
      )}
      <span class="dim">{words}</span>
    </span>
  );
}

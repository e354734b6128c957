import type { ComponentChildren } from "preact";

/** What a state means to its reader. */
export type Tone = "good" | "warn" | "bad" | "busy" | "dim";

/** Each tone has a shape of its own, so that none is told by its colour alone. */
const SHAPES: Readonly<Record<Tone, string>> = {
  good: "M6 1a5 5 0 1 0 0 10A5 5 0 0 0 6 1Z",
  warn: "M6 1 11.5 11H.5Z",
  bad: "M1.5 1.5h9v9h-9Z",
  busy: "M6 1a5 5 0 1 0 5 5H6Z",
  dim: "M1 5h10v2H1Z",
};

/** A state: its word, with a shape and a colour. */
export function Status({ tone, children }: { readonly tone: Tone; readonly children: ComponentChildren }) {
  return (
    <span class={`status ${tone}`}>
      <svg viewBox="0 0 12 12" width="10" height="10" aria-hidden="true">
        <path d={SHAPES[tone]} fill="currentColor" />
      </svg>
      {children}
    </span>
  );
}

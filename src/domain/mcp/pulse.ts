/** Signs of life of calls that take long. */

/** Milliseconds between two of them. */
const PULSE_MS = 5_000;

/** Calls a function again and again until what it returns is called. */
export function pulse(beat: () => void): () => void {
  const timer = setInterval(beat, PULSE_MS);
  return () => clearInterval(timer);
}

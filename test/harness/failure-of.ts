/** Failures of capabilities, as tests look at them. */

import { Failure } from "../../src/server/failure.ts";

/** The failure that a call rejects with. Rejects when it resolves, or rejects with anything else. */
export async function failureOf(call: Promise<unknown>): Promise<Failure> {
  const error: unknown = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof Failure) return error;
  throw new Error(`no refusal: ${String(error)}`);
}

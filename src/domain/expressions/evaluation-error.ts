/**
 * Why a row of an expression has no value: `division by zero`, `integer overflow in add`. It is the
 * error of that row and of no other.
 */
export class EvaluationError extends Error {
  override readonly name = "EvaluationError";
}

/**
 * The error of one row of an expression, such as `division by zero` or `integer overflow in add`;
 * other rows are not affected.
 */
export class EvaluationError extends Error {
  override readonly name = "EvaluationError";
}

/** Functions that callers run, in words. */

import type { ComputeFunction } from "../../gen/svc/v1/graph_pb.ts";
import { typeName } from "./value.ts";

/** Milliseconds that a call may take when its function says nothing. */
export const FUNCTION_TIMEOUT_MS = 60_000;

/** A function as code writes it: `fee(amount: float, country: str = ...) -> float`. */
export function signatureText({ batch, name, parameters, result, resultNullable }: ComputeFunction): string {
  const type = (dtype: ComputeFunction["result"], nullable: boolean): string => {
    const one = `${typeName(dtype)}${nullable ? " | None" : ""}`;
    return batch ? `list[${one}]` : one;
  };
  const given = parameters.map((one) => `${one.name}: ${type(one.dtype, one.nullable)}${one.hasDefault ? " = ..." : ""}`);
  return `${name}(${given.join(", ")}) -> ${type(result, resultNullable)}`;
}

/** The functions of a deployment that callers run, as their versions are told apart. */

import { create, toBinary } from "@bufbuild/protobuf";
import { type ComputeFunction, ComputeFunctionSchema, type Graph } from "../../../gen/svc/v1/graph_pb.ts";
import type { DeployedFunction } from "../stores/metadata/functions.ts";

/** Those of a graph. */
export function deployedFunctions({ computeFunctions }: Graph): DeployedFunction[] {
  return computeFunctions.map((one) => ({
    name: one.name,
    fingerprint: fingerprint(one),
    definition: toBinary(ComputeFunctionSchema, one),
  }));
}

/** What changes with the text of a function and with the types of its parameters and its result. */
function fingerprint({ batch, parameters, result, resultNullable, sourceSha256 }: ComputeFunction): string {
  const own = create(ComputeFunctionSchema, { batch, parameters, resultNullable, sourceSha256, ...(result && { result }) });
  return new Bun.CryptoHasher("sha256").update(toBinary(ComputeFunctionSchema, own)).digest("hex");
}

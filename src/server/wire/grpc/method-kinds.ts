/**
 * Whether a method answers with one message or with several, which a call of gRPC does not say
 * itself.
 */

import { methodsOf } from "../../../contract/contract.ts";
import { SERVICES } from "../../../contract/services.ts";

/**
 * `unary` = one message each way; `server_streaming` = several come back; `duplex` = several each
 * way, as they come.
 */
export type MethodKind = "unary" | "server_streaming" | "duplex";

/** gRPC's own methods that are not unary. */
const STANDARD: Readonly<Record<string, MethodKind>> = {
  "/grpc.health.v1.Health/Watch": "server_streaming",
  "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo": "duplex",
  "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": "duplex",
};

/** The kinds of all methods that are not unary, by path. */
export function otherThanUnary(): ReadonlyMap<string, MethodKind> {
  const streams = Object.values(SERVICES).flatMap(({ typeName }) =>
    methodsOf(typeName)
      .filter(({ methodKind }) => methodKind === "server_streaming")
      .map(({ name }) => [`/${typeName}/${name}`, "server_streaming"] as const),
  );
  return new Map<string, MethodKind>([...Object.entries(STANDARD), ...streams]);
}

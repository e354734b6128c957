/**
 * Programs in Go that `.ci/install` builds: grpcurl, a client of gRPC; grpc-go, which is
 * `grpc-go/main.go`; h2spec, a test of servers of HTTP/2; and actionlint, a judge of workflows.
 */

import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { lacks } from "./needs.ts";

type GoProgram = "actionlint" | "grpcurl" | "grpc-go" | "h2spec";

/** Path of a program. */
export function goProgram(name: GoProgram): string {
  return join(process.env.SVC_TEST_GO ?? join(homedir(), ".cache/svc-test/go"), name);
}

/** Whether a program is absent, which the process then says. */
export function lacksGoProgram(name: GoProgram): boolean {
  return lacks(name, existsSync(goProgram(name)));
}

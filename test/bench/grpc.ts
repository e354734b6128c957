/** Online queries over gRPC against the same over Connect. */

import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { QueryRequestSchema, QueryResponseSchema } from "../../gen/svc/v1/query_pb.ts";
import { ValueSchema } from "../../gen/svc/v1/value_pb.ts";
import type { Sandbox } from "../harness/sandbox.ts";
import { encodeBodies, send, serve } from "./client.ts";
import { interleave, type Line, median, milliseconds } from "./figures.ts";
import { queryProject, STORED_FEATURES } from "./generate-project.ts";
import type { Latencies } from "./load.ts";

const ROWS = 1_000;
const CONCURRENCIES = [1, 16] as const;
const REQUESTS = { 1: 3_000, 16: 12_000 } as const;
const PATH = "/svc.v1.QueryService/Query";
const WAYS = ["Connect", "gRPC"] as const;

/** Twenty stored features. Connect's requests have a connection each, those of gRPC one for all. */
export async function measureGrpc(sandbox: Sandbox, rounds: number): Promise<readonly Line[]> {
  const { authorization, host, port } = await serve(sandbox, queryProject());
  const { grpc_api_server: grpc } = await sandbox.json<{ grpc_api_server: { value: string } }>(["config"]);
  const bodies = encodeBodies(Array.from({ length: ROWS }, (_, index) => message(index + 1)));
  const common = { path: PATH, bodies };
  const connectHeaders = { authorization, "content-type": "application/proto", "connect-protocol-version": "1" };
  const connect = { host, port, ...common, headers: connectHeaders };
  const overGrpc = { host, port: Number(new URL(grpc.value).port), ...common, headers: { authorization } };
  const sends = {
    Connect: (requests: number, concurrency: number) => send({ ...connect, requests, concurrency }),
    gRPC: (requests: number, concurrency: number) => send({ ...overGrpc, requests, concurrency }, "grpc-load.ts"),
  };
  for (const way of WAYS) checkAnswer(way, await sends[way](ROWS * 2, 4));

  const subjects: Record<string, () => Promise<Latencies>> = {};
  for (const concurrency of CONCURRENCIES)
    for (const way of WAYS) subjects[`c=${concurrency} ${way}`] = () => sends[way](REQUESTS[concurrency], concurrency);
  const measured = await interleave(rounds, subjects);
  return CONCURRENCIES.flatMap((concurrency) => {
    const of = (way: string, figure: "p50" | "p99" | "perSecond") =>
      median((measured[`c=${concurrency} ${way}`] ?? []).map((latencies) => latencies[figure]));
    return WAYS.flatMap((way): Line[] => {
      const ratio = (figure: "p50" | "p99" | "perSecond") =>
        way === "Connect" ? {} : { ratio: of(way, figure) / of("Connect", figure), anchor: "of Connect" };
      const name = `c=${String(concurrency).padEnd(2)} ${way}`;
      return [
        { what: `${name}, p50`, value: milliseconds(of(way, "p50")), ...ratio("p50") },
        { what: `${name}, p99`, value: milliseconds(of(way, "p99")), ...ratio("p99") },
        { what: `${name}, rate`, value: `${Math.round(of(way, "perSecond"))}/s`, ...ratio("perSecond") },
      ];
    });
  });
}

/** What is measured must be an answer: twenty values and no errors. */
function checkAnswer(way: string, { sample }: Latencies): void {
  const answer = fromBinary(QueryResponseSchema, Buffer.from(sample, "base64"));
  if (answer.data.length !== STORED_FEATURES.length || answer.errors.length > 0) throw new Error(`${way} gave no answer`);
}

function message(id: number): Uint8Array {
  const value = create(ValueSchema, { kind: { case: "int64Value", value: BigInt(id) } });
  const outputs = STORED_FEATURES.map((name) => `profile.${name}`);
  return toBinary(
    QueryRequestSchema,
    create(QueryRequestSchema, { inputs: [{ feature: "profile.id", value: { case: "typed", value } }], outputs }),
  );
}

import { expect, test } from "bun:test";
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { type QueryRequest, QueryRequestSchema, QueryResponseSchema } from "../../../../gen/svc/v1/query_pb.ts";
import { fromProtoValue } from "../../../../src/domain/proto-value.ts";
import { QueryRefused } from "../../../../src/server/query/refusal.ts";
import type { QueryRecord } from "../../../../src/server/query-log/recorder.ts";
import type { QueryScope } from "../../../../src/server/wire/query/endpoint.ts";
import { readQueryRun } from "../../../../src/server/wire/query/logged-run.ts";
import { createQueryCalls } from "../../../../src/server/wire/services/query.ts";
import { featureClass, graph, python } from "../../query/graphs.ts";
import { World } from "../../query/worlds.ts";

/** A recorded query with the deployment that it ran on. */
type DeploymentQuery = QueryRecord & { readonly deploymentId: string; readonly errorCount: number };

function calls() {
  const world = new World(graph([featureClass("user", { id: "int", name: "str" })], [python("m.name", ["user.id"], ["user.name"])]), {
    python: { "m.name": ([id]) => `name ${id}` },
  });
  const scopes: QueryScope[] = [];
  const records: DeploymentQuery[] = [];
  const leases = { open: 0 };
  const answer = createQueryCalls<string>({
    engine: world.engine,
    clock: world.clock,
    resolveDeployment: (scope, auth) => {
      expect(auth).toBe("caller");
      scopes.push(scope);
      leases.open++;
      return { deployment: world.deployment, release: () => void leases.open-- };
    },
    recordQuery: ({ id }, record, { failures }) => void records.push({ ...record, deploymentId: id, errorCount: failures.length }),
    isTracing: () => true,
    recordSpans: () => undefined,
    keepStages: async () => true,
    pageOf: (queryId, environmentId) => `http://localhost/environments/${environmentId}/query-runs/${queryId}`,
  });
  const query = async (init: MessageInitShape<typeof QueryRequestSchema>, headers: Record<string, string> = {}) => {
    const message: QueryRequest = create(QueryRequestSchema, init);
    const received = toBinary(QueryRequestSchema, message);
    const { signal } = new AbortController();
    return fromBinary(QueryResponseSchema, await answer({ message, received, headers: new Headers(headers), auth: "caller", signal }));
  };
  return { query, scopes, records, leases };
}

test("answers with the page of the run, and logs what was received and sent", async () => {
  const { query, scopes, records, leases } = calls();
  const asked = { inputs: [{ feature: "user.id", value: { case: "text" as const, value: "3" } }], outputs: ["name"], correlationId: "c" };
  const response = await query(asked, { "svc-environment": "dev", "svc-branch": "b", "svc-deployment": "dpl_9" });
  expect(response.data.map((field) => field.value && fromProtoValue(field.value))).toEqual(["name 3"]);
  expect(response.meta?.url).toBe(`http://localhost/environments/env_1/query-runs/${response.meta?.queryId}`);
  expect(scopes).toEqual([{ project: "", environment: "dev", branch: "b", deployment: "dpl_9" }]);
  expect(records).toMatchObject([
    { queryId: response.meta?.queryId as string, deploymentId: "dpl_1", encoding: "proto", correlationId: "c", errorCount: 0 },
  ]);
  const run = readQueryRun(records[0] as DeploymentQuery);
  expect(run.request).toEqual(create(QueryRequestSchema, asked));
  expect(run.response?.data[0]?.meta).toMatchObject({ chosenResolverFqn: "m.name", cacheHit: false });
  expect(run.response?.meta).toEqual(response.meta);
  expect(leases.open).toBe(0);
});

test("the deployment may be named in the request, but not otherwise than in the header", async () => {
  const { query, scopes } = calls();
  const asked = { inputs: [{ feature: "user.id", value: { case: "raw" as const, value: "3" } }], deploymentId: "dpl_7" };
  await query(asked, { "svc-deployment": "dpl_7" });
  expect(scopes[0]?.deployment).toBe("dpl_7");
  await expect(query(asked, { "svc-deployment": "dpl_9" })).rejects.toMatchObject({ kind: "invalid_argument" });
});

test("a refused query is thrown as such, recorded, and gives its deployment back", async () => {
  const { query, records, leases } = calls();
  const refused = await query({ inputs: [{ feature: "user.id", value: { case: "text", value: "x" } }] }).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(QueryRefused);
  expect(records).toMatchObject([{ error: 'user.id: expected int, got str "x"', errorCount: 1 }]);
  expect(records[0]?.response).toBeUndefined();
  expect(leases.open).toBe(0);
});

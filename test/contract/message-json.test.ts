/** The one rule by which messages become the documents of `--json`. */

import { describe, expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { ApiClientSchema, CreateEntryResponseSchema } from "../../gen/svc/v1/auth_pb.ts";
import {
  BranchSchema,
  CreateUploadRequestSchema,
  DeploymentSchema,
  DeploymentStatus,
  ListBranchesResponseSchema,
  ListDeploymentsResponseSchema,
} from "../../gen/svc/v1/deployment_pb.ts";
import { FeatureSchema, ScalarFeatureSchema } from "../../gen/svc/v1/graph_pb.ts";
import { HealthCheckSchema, HealthCheckStatus } from "../../gen/svc/v1/health_pb.ts";
import { QueryResponseSchema } from "../../gen/svc/v1/query_pb.ts";
import { type MemberOf, messageJson } from "../../src/contract/message-json.ts";
import { msToDuration, msToTimestamp } from "../../src/domain/proto-time.ts";
import { toProtoValue } from "../../src/domain/proto-value.ts";
import { jsonLine } from "../../src/output/json.ts";

describe("a message as JSON", () => {
  test("has the contract's names, in the contract's order, and times in UTC with microseconds", () => {
    const branches = [create(BranchSchema, { name: "try", deploys: 2, lastDeployedAt: msToTimestamp(1_714_564_800_250.5) })];
    expect(Object.entries(messageJson(create(ListBranchesResponseSchema, { branches })))).toEqual([
      ["branches", [{ name: "try", deploys: 2, last_deployed_at: "2024-05-01T12:00:00.250500Z", latest_deployment_id: "" }]],
    ]);
  });

  test("says null for what is not set", () => {
    expect(messageJson(create(ApiClientSchema))).toMatchObject({
      created_at: null,
      last_used_at: null,
      name: "",
      permissions: [],
      current: false,
    });
  });

  test("spells enums in lower case without their prefix, one that is not stated as null, one of a newer server as its number", () => {
    const status = (status: HealthCheckStatus) => messageJson(create(HealthCheckSchema, { status })).status;
    expect(status(HealthCheckStatus.NOT_CONFIGURED)).toBe("not_configured");
    expect(status(HealthCheckStatus.UNSPECIFIED)).toBeNull();
    expect(status(99 as HealthCheckStatus)).toBe(99);
    expect(messageJson(create(DeploymentSchema, { status: DeploymentStatus.LIVE })).status).toBe("live");
  });

  test("keeps 64-bit integers exact", () => {
    const line = (sizeBytes: bigint) => jsonLine(messageJson(create(CreateUploadRequestSchema, { sizeBytes })));
    expect(line(2n ** 53n - 1n)).toBe('{"sha256":"","size_bytes":9007199254740991}');
    expect(line(2n ** 53n + 1n)).toBe('{"sha256":"","size_bytes":"9007199254740993"}');
  });

  test("writes maps, lists, lengths of time and features' values as users do", () => {
    expect(messageJson(create(DeploymentSchema, { metadata: { a: "1" }, tags: ["x", "y"] }))).toMatchObject({
      metadata: { a: "1" },
      tags: ["x", "y"],
    });
    expect(messageJson(create(FeatureSchema, { maxStaleness: msToDuration(5_400_000) })).max_staleness).toBe("1h30m");
    expect(messageJson(create(ScalarFeatureSchema, { defaultValue: toProtoValue([1, "a"]) })).default_value).toEqual([1, "a"]);
  });

  test("has of a oneof the case that is set, under its own name", () => {
    const scalar = messageJson(create(FeatureSchema, { kind: { case: "hasOne", value: { foreignNamespace: "card" } } }));
    expect(scalar).toMatchObject({ has_one: { foreign_namespace: "card" } });
    expect(Object.keys(scalar)).not.toContain("scalar");
    expect(Object.keys(messageJson(create(FeatureSchema)))).not.toContain("kind");
  });

  test("calls the next page's token next_cursor, and leaves it out at the end", () => {
    expect(messageJson(create(ListDeploymentsResponseSchema, { nextPageToken: "t" }))).toEqual({ deployments: [], next_cursor: "t" });
    expect(messageJson(create(ListDeploymentsResponseSchema))).toEqual({ deployments: [] });
  });

  test("leaves secrets out, unless an exception gives them", () => {
    const answer = create(CreateEntryResponseSchema, { code: "c", url: "https://svc.example/enter#code=c" });
    expect(messageJson(answer)).toEqual({ expires_at: null });
    expect(messageJson(answer, { url: { key: "address" } })).toEqual({ expires_at: null });
    expect(messageJson(answer, { url: ({ url }) => url })).toEqual({ url: answer.url, expires_at: null });
  });

  test("has nothing that stands beside the members", () => {
    expect(messageJson({ ...create(BranchSchema, { name: "a" }), extra: 1 })).not.toHaveProperty("extra");
    expect(messageJson(create(QueryResponseSchema))).not.toHaveProperty("$typeName");
  });
});

describe("an exception", () => {
  const branch = create(BranchSchema, { name: "try", deploys: 2 });

  test("leaves a member out, writes it empty as null, under another key, or as another value", () => {
    expect(messageJson(branch, { deploys: false, latestDeploymentId: null })).toEqual({
      name: "try",
      last_deployed_at: null,
      latest_deployment_id: null,
    });
    expect(messageJson(branch, { name: null, deploys: { key: "count" } })).toMatchObject({ name: "try", count: 2 });
    expect(messageJson(branch, { deploys: ({ deploys }) => `${deploys}x` })).toMatchObject({ deploys: "2x" });
    const shown: MemberOf<typeof branch>[] = ["name", "deploys", "lastDeployedAt", "latestDeploymentId"];
    for (const name of shown) expect(Object.keys(messageJson(branch, { [name]: false }))).toHaveLength(3);
  });

  test("of a oneof stands for all of its cases", () => {
    const feature = create(FeatureSchema, { kind: { case: "hasOne", value: {} } });
    expect(messageJson(feature, { kind: false })).not.toHaveProperty("has_one");
    expect(messageJson(feature, { kind: ({ kind }) => kind.case })).toMatchObject({ kind: "hasOne" });
  });
});

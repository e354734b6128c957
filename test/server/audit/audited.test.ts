import { beforeAll, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { create, type DescFile, type DescMessage, type DescMethod, getOption } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { Permission, permission } from "../../../gen/svc/v1/options_pb.ts";
import { CreateServiceTokenRequestSchema, ServiceTokenService } from "../../../gen/svc/v1/service_token_pb.ts";
import { aboutOf, auditedFields, isAudited } from "../../../src/server/audit/audited.ts";

const GEN = join(import.meta.dir, "../../../gen/svc/v1");
const methods: DescMethod[] = [];

beforeAll(async () => {
  for (const name of readdirSync(GEN)) {
    const module = (await import(join(GEN, name))) as Record<string, DescFile>;
    for (const service of module[`file_svc_v1_${name.replace("_pb.ts", "")}`]?.services ?? []) methods.push(...service.methods);
  }
});

test("every method that changes something has rows, but queries, and each is a single call", () => {
  expect(methods.length).toBeGreaterThan(35);
  for (const method of methods) {
    const isReading = method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
    const stated = getOption(method, permission);
    const has = stated === Permission.SECRETS_READ || (!isReading && method.parent.name !== "QueryService");
    expect([method.name, isAudited(method)]).toEqual([method.name, has]);
    if (has) expect([method.name, method.methodKind]).toEqual([method.name, "unary"]);
  }
});

test("no field with a secret is told, and of methods for secrets nothing but ids", () => {
  const secretNames = (type: DescMessage, above = "", depth = 3): string[] =>
    type.fields.flatMap((field) => {
      const path = above + field.name;
      if (field.proto.options?.debugRedact) return [path];
      return field.message && depth > 0 ? secretNames(field.message, `${path}.`, depth - 1) : [];
    });
  let secrets = 0;
  for (const method of methods) {
    const told = auditedFields(method);
    const hidden = secretNames(method.input);
    secrets += hidden.length;
    expect(told.filter((path) => hidden.some((secret) => path === secret || path.startsWith(`${secret}.`)))).toEqual([]);
    const needed = getOption(method, permission);
    if (needed === Permission.SECRETS_READ || needed === Permission.SECRETS_WRITE)
      expect([method.name, told.filter((path) => !/(^|[._])ids?$/.test(path))]).toEqual([method.name, []]);
  }
  expect(secrets).toBeGreaterThan(1);
});

test("what is told is bounded, and what is not set is left out", () => {
  const { createServiceToken } = ServiceTokenService.method;
  const request = create(CreateServiceTokenRequestSchema, { name: "x".repeat(10_000), permissions: Array(500).fill("p".repeat(1_000)) });
  const about = aboutOf(createServiceToken.input, request, auditedFields(createServiceToken));
  expect(Object.keys(about)).toEqual(["name", "permissions"]);
  expect(about.name).toBe("x".repeat(200));
  expect(JSON.stringify(about).length).toBeLessThan(6_000);
});

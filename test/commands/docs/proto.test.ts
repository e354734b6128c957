import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { tempFolder } from "../../client/test-context.ts";
import { runCommand } from "../platform.ts";

const PROTO = join(import.meta.dir, "../../../proto");

test("lists the files, prints one, and writes all of them as they are", async () => {
  const listed = (await runCommand("docs/proto", [])).stdout.trimEnd().split("\n");
  expect(listed).toEqual(expect.arrayContaining(["grpc/health/v1/health.proto", "svc/v1/query.proto"]));
  const text = readFileSync(join(PROTO, "svc/v1/query.proto"), "utf8");
  expect((await runCommand("docs/proto", ["svc/v1/query.proto"])).stdout.trimEnd()).toBe(text.trimEnd());
  const folder = tempFolder("svc-proto-");
  await runCommand("docs/proto", ["--out", folder]);
  const written = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
  expect(written.length).toBe(listed.length);
  expect(readFileSync(join(folder, "svc/v1/query.proto"), "utf8")).toBe(text);
});

test("a name that is none gets those near it", async () => {
  const { exitCode, stderr } = await runCommand("docs/proto", ["svc/v1/qery.proto"]);
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining("svc/v1/query.proto")]);
});

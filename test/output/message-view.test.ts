/** Views of messages: what people see is named, and JSON has the rest. */

import { expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { type ApiClient, ApiClientSchema, type ListClientsResponse, ListClientsResponseSchema } from "../../gen/svc/v1/auth_pb.ts";
import type { HealthCheck } from "../../gen/svc/v1/health_pb.ts";
import { HealthCheckSchema, HealthCheckStatus } from "../../gen/svc/v1/health_pb.ts";
import { msToTimestamp } from "../../src/domain/proto-time.ts";
import { messageFields, messageTable } from "../../src/output/message-view.ts";
import { render } from "../../src/output/render.ts";
import { age } from "../../src/output/time.ts";
import type { View } from "../../src/output/view.ts";
import { testIo } from "../harness/context.ts";

const client = create(ApiClientSchema, {
  id: "client_1",
  name: "a\u001b[31m",
  createdAt: msToTimestamp(1_714_564_800_999),
  permissions: ["read", "query"],
  current: true,
});

async function shown<Data>(data: Data, view: View<Data>, json = false): Promise<string> {
  const { io, stdout, stderr } = testIo();
  await render(data, view, io, { json, color: "never" });
  return stdout() + stderr();
}

const table = messageTable<ListClientsResponse>("clients", {
  id: "ID",
  name: "Name",
  createdAt: "Since",
  lastUsedAt: "Used",
  permissions: { header: "May", json: ({ permissions }) => permissions.length },
  current: "This",
});

test("a table has the named fields: times to the second, lists behind commas, a mark for yes, nothing for what is not set", async () => {
  expect(await shown(create(ListClientsResponseSchema, { clients: [client] }), table)).toBe(
    "ID        Name       Since                 Used  May          This\n" +
      "client_1  a\\x1b[31m  2024-05-01T12:00:00Z  -     read, query  ✓\n",
  );
  expect(await shown(create(ListClientsResponseSchema), table)).toEndWith("No clients found.\n");
});

test("the JSON of a table has all fields of its rows, and the exceptions that stand at its columns", async () => {
  expect(JSON.parse(await shown(create(ListClientsResponseSchema, { clients: [client] }), table, true))).toEqual({
    clients: [
      {
        id: "client_1",
        name: client.name,
        created_at: "2024-05-01T12:00:00.999000Z",
        last_used_at: null,
        permissions: 2,
        current: true,
        parent_id: "",
        is_person: false,
        expires_at: null,
      },
    ],
  });
});

test("one message is shown by lines, which control characters cannot break", async () => {
  const fields = messageFields<ApiClient>({ id: "ID", name: "Name", permissions: { header: "Permissions", json: false } });
  expect(await shown(client, fields)).toBe("ID:          client_1\nName:        a\\x1b[31m\nPermissions: read, query\n");
  const names = ["id", "name", "created_at", "last_used_at", "current", "parent_id", "is_person", "expires_at"];
  expect(Object.keys(JSON.parse(await shown(client, fields, true)))).toEqual(names);
});

test("a field may be written otherwise, and marked", async () => {
  const check = create(HealthCheckSchema, { name: "DB", status: HealthCheckStatus.FAILING });
  const status = messageFields<HealthCheck>({ status: { header: "Status", cell: ({ name }, { isTTY }) => `${name} fails, ${isTTY}` } });
  expect(await shown(check, status)).toBe("Status: DB fails, false\n");
  expect(JSON.parse(await shown(check, status, true)).status).toBe("failing");
});

test("ages have their largest whole unit", () => {
  const now = 1_714_564_800_000;
  const ages = [0, 59, 60, 3_599, 3_600, 86_399, 86_400, 20 * 86_400, -5].map((seconds) =>
    age(msToTimestamp(now - seconds * 1000), { now }),
  );
  expect(ages).toEqual(["0s ago", "59s ago", "1m ago", "59m ago", "1h ago", "23h ago", "1d ago", "20d ago", "0s ago"]);
  expect(age(undefined, { now })).toBe("");
});

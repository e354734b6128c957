/** The audit log of a server that is killed: no call that was answered lacks its row. */

import { expect, test } from "bun:test";
import { exchange } from "../../harness/browser-session.ts";
import { TempFolder } from "../../harness/running-server.ts";
import { spawnServer } from "../../harness/spawned-server.ts";

test("after kill -9 the chain verifies, and every call that was answered has its row", async () => {
  using folder = new TempFolder();
  let server = await spawnServer(folder.path);
  const { credentials } = server;
  const answered: string[] = [];
  const rpc = async (method: string, token: string, body: object): Promise<Response> =>
    fetch(`${server.url}/svc.v1.${method}`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
      body: JSON.stringify(body),
    });
  for (let round = 0; round < 3; round++) {
    const token = await exchange(server.url, credentials.clientId, credentials.clientSecret);
    const call = async (n: number): Promise<void> => {
      const sent = await rpc("AuthService/DeleteClient", token, { id: `client_${round}_${n}` }).catch(() => undefined);
      if (sent?.status === 404) answered.push(`client_${round}_${n}`);
    };
    const calls = Array.from({ length: 300 }, (_, n) => call(n));
    await Promise.race(calls);
    await server.kill();
    await Promise.all(calls);
    server = await spawnServer(folder.path, credentials);
  }
  const token = await exchange(server.url, credentials.clientId, credentials.clientSecret);
  const verified = (await (await rpc("AuditService/VerifyAuditLog", token, {})).json()) as Record<string, unknown>;
  expect(verified).not.toHaveProperty("brokenReason");
  const told = new Set<string>();
  for (let pageToken: string | undefined = ""; pageToken !== undefined; ) {
    const request = { endpoint: "DeleteClient", pageSize: 500, pageToken };
    const page = (await (await rpc("AuditService/ListAuditLogs", token, request)).json()) as {
      logs?: { about: { id: string } }[];
      nextPageToken?: string;
    };
    for (const { about } of page.logs ?? []) told.add(about.id);
    pageToken = page.nextPageToken;
  }
  expect(answered.length).toBeGreaterThan(0);
  expect(answered.filter((id) => !told.has(id))).toEqual([]);
  await server.kill();
}, 300_000);

import { expect, test } from "bun:test";
import { ConnectError } from "@connectrpc/connect";
import { SqlFormat, SqlService } from "../../../gen/svc/v1/sql_pb.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";

test("a statement that takes longer than it may is refused with the time that it was given", async () => {
  using folder = new TempFolder();
  await using server = await TestServer.start(folder.path);
  const statement = "select count(*) from range(100000000000)";
  const asked = Array.fromAsync(server.client(SqlService).runSql({ statement, format: SqlFormat.JSON, timeoutMs: 1_500n }));
  const refusal = ConnectError.from(await asked.catch((error: unknown) => error));
  expect(refusal.message).toBe("[resource_exhausted] The statement took longer than 1.5 s, and was stopped.");
});

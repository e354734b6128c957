/** A delivery to a webhook that waits to be tried again, as the outbox of a server has it. */

import { join } from "node:path";
import { WebhookService } from "../../gen/svc/v1/webhook_pb.ts";
import { openOutbox } from "../../src/server/stores/metadata/sqlite-outbox.ts";
import { deliveryJob } from "../../src/server/webhooks/delivery.ts";
import type { TestServer } from "../harness/running-server.ts";

/** Id of the delivery. */
export const TOLD = "job_told";

/** Puts a delivery with a failed answer, in which there is markup, into the outbox of a server. */
export async function keepDelivery(server: TestServer, folder: string): Promise<void> {
  const { environmentId } = server.credentials;
  const { webhooks } = await server.client(WebhookService).listWebhooks({});
  const to = { id: webhooks[0]?.id ?? "", environmentId, url: webhooks[0]?.url ?? "" };
  const payload = JSON.stringify({ query_id: "q" });
  const told = deliveryJob(to, { subscription: "query.run", payload, at: Date.now(), key: "q" }, Date.now());
  const outbox = openOutbox({ path: join(folder, "data/meta.outbox.db"), programVersion: "v0.0.0-test" }, Date.now);
  await outbox.enqueue({ ...told, id: TOLD, delayMs: 86_400_000 });
  const body = JSON.stringify({ reason: "<img src=x onerror=owned()>", of: "x".repeat(200) });
  await outbox.keepAnswer(told.kind, told.idempotencyKey ?? "", { status: 500, body, isCut: true, at: Date.now() });
  outbox.close();
}

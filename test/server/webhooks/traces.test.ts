/** Deliveries in traces: the receiver is told the span that it is called by. */

import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { QueryService, TraceSpanKind } from "../../../gen/svc/v1/query_pb.ts";
import { TraceService } from "../../../gen/svc/v1/trace_pb.ts";
import { WebhookService } from "../../../gen/svc/v1/webhook_pb.ts";
import { eventually } from "../../harness/eventually.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { deploy, expectLive, GREETING } from "../deployments/deploying.ts";
import { type Receiver, startReceiver } from "./receiver.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const CALLER = "b7ad6b7169203331";
let folder: TempFolder;
let server: TestServer;
let receiver: Receiver;
let token: string;

beforeAll(async () => {
  folder = new TempFolder();
  receiver = startReceiver();
  server = await TestServer.start(folder.path, {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, SVC_WEBHOOK_ALLOW: "127.0.0.1/32" },
  });
  await server.server.ready;
  token = await server.token();
  expectLive(await deploy(server, GREETING));
  await server.client(WebhookService).createWebhook({ name: "w", url: receiver.url, subscriptions: ["query.run"] });
}, 300_000);
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  receiver.stop();
  folder[Symbol.dispose]();
});
beforeEach(() => {
  receiver.received.length = 0;
});

/** Runs a query, and waits for the header of its event. */
async function told(headers: Record<string, string>): Promise<string | undefined> {
  const answer = await fetch(`${server.url}/v1/query/online`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json", baggage: "customer=hidden", ...headers },
    body: JSON.stringify({ inputs: { "user.id": 1 }, outputs: ["user.greeting"] }),
  });
  expect(answer.status).toBe(200);
  await eventually(() => receiver.received.length === 1, "the event arrives");
  expect(receiver.received[0]?.headers.baggage).toBeUndefined();
  return receiver.received[0]?.headers.traceparent;
}
const deliveriesOf = async (traceId: string) => {
  const { spans } = await server.client(TraceService).getTrace({ trace: { case: "traceId", value: traceId } });
  return { spans, delivery: spans.find(({ kind }) => kind === TraceSpanKind.DELIVERY) };
};

test("an event of a traced query is a span of its trace, which its receiver goes on from, and so is the next attempt", async () => {
  receiver.answer(() => new Response(null, { status: 500 }));
  const [, traceId, spanId, flags] = (await told({ traceparent: `00-${TRACE}-${CALLER}-01` }))?.split("-") ?? [];
  expect([traceId, flags]).toEqual([TRACE, "01"]);
  await eventually(async () => (await deliveriesOf(TRACE)).delivery !== undefined, "its span is kept");
  const { delivery, spans } = await deliveriesOf(TRACE);
  const query = spans.find(({ kind, parentSpanId }) => kind === TraceSpanKind.GATEWAY && parentSpanId === CALLER);
  expect(delivery).toMatchObject({
    ...{ spanId, parentSpanId: query?.spanId, queryId: query?.queryId, name: "deliver query.run", error: "the receiver answered 500" },
    attributes: {
      ...{ "svc.webhook.event": "query.run", "http.request.method": "POST", "http.response.status_code": "500" },
      "server.address": "127.0.0.1",
    },
  });
  const ofQuery = await server.client(QueryService).getTrace({ trace: { case: "queryId", value: query?.queryId ?? "" } });
  expect(ofQuery.spans.map(({ name }) => name)).toContain("deliver query.run");
  receiver.answer(() => new Response());
});

test("a caller's trace that is not sampled is passed on as it is", async () => {
  const traceparent = `00-${TRACE.replace("0af", "1af")}-${CALLER}-00`;
  expect(await told({ traceparent })).toBe(traceparent);
});

test("without a trace there is no header", async () => {
  expect(await told({})).toBeUndefined();
});

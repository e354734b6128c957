/** A server that answers at once, or a gateway in front of one. Prints its port. Argument: the port that is passed to. */

import { TestGateway } from "../server/gateway/gateway-harness.ts";

const [behind] = process.argv.slice(2);
if (behind === undefined) {
  const { port } = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("ok") });
  console.log(port);
} else {
  const gateway = new TestGateway();
  gateway.route("bare", Number(behind));
  console.log(gateway.port);
}

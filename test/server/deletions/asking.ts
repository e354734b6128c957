/** Queries of a server, as a caller without an SDK asks them. */

/** Of when a query asks, and in which branch. */
export interface Asked {
  readonly now?: string;
  readonly branch?: string;
}

/** The answer to a query. Rejects with the server's message. */
export async function ask(
  server: { url: string; token(): Promise<string> },
  inputs: object,
  outputs: readonly string[],
  asked: Asked = {},
) {
  const response = await fetch(`${server.url}/v1/query/online`, {
    method: "POST",
    headers: {
      ...{ "content-type": "application/json", authorization: `Bearer ${await server.token()}` },
      ...(asked.branch === undefined ? {} : { "svc-branch": asked.branch }),
    },
    body: JSON.stringify({ inputs, outputs, include_meta: true, ...(asked.now === undefined ? {} : { now: asked.now }) }),
  });
  const body = (await response.json()) as { data?: { field: string; value: unknown }[]; meta?: { query_id: string }; message?: string };
  if (!body.data) throw new Error(body.message);
  return body;
}

/** A table of apache-arrow, asked with the TypeScript client: prints what `arrow.test.ts` expects. */

import { Table, tableFromIPC, tableToIPC, vectorFromArray } from "apache-arrow";
import { arrowFacts, QueryError, SvcClient } from "svc-client";

const client = new SvcClient();
const ask = async (ids, query) => {
  const users = new Table({ "user.id": vectorFromArray(BigInt64Array.from(ids)) });
  users.schema.metadata.set("svc.query", client.arrowQuery(query));
  return tableFromIPC(await client.queryBulkArrow(tableToIPC(users, "stream")));
};

const few = await ask([13n, 2n ** 53n + 1n], {
  outputs: ["user.id", "user.name", "user.fragile", "user.asked_at"],
  now: "2024-05-01T12:00:00Z",
});
const { errors, meta } = arrowFacts(few.schema.metadata);
const many = await ask(
  Array.from({ length: 5000 }, (_, at) => BigInt(at)),
  { outputs: ["user.score"] },
);
const refused = await ask([1n], { outputs: ["user.nam"] }).catch((error) => error instanceof QueryError && error.errors[0].message);
console.log(
  JSON.stringify({
    ids: [...few.getChild("user.id")].map(String),
    names: [...few.getChild("user.name")],
    fragile: [...few.getChild("user.fragile")].map((value) => value && String(value)),
    time: String(few.getChild("user.asked_at").data[0].values[0]),
    errors: errors.map(({ code, row }) => `${code} ${row}`),
    types: meta.types["user.id"],
    sum: [...many.getChild("user.score")].reduce((sum, value) => sum + value, 0),
    refused,
  }),
);

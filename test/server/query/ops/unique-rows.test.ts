import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { RowCount } from "../../../../gen/svc/v1/graph_pb.ts";
import type { FeatureValue } from "../../../../src/domain/value.ts";
import { QueryRefused } from "../../../../src/server/query/refusal.ts";
import { CallFailed } from "../../../../src/server/query/run/outcome.ts";
import { seeded } from "../../../harness/seed.ts";
import { featureClass, graph, python, type ResolverOptions, sql } from "../graphs.ts";
import { failureOf, MemorySource, World } from "../worlds.ts";

type Given = Readonly<Record<string, FeatureValue>>;

const TXN = featureClass("txn", { id: "int", user_id: "int?", day: "str?", mail: "str?" });
const USER = featureClass("user", {
  id: "int",
  txns: { many: "txn", on: [["id", "user_id"]] },
});
const OUTPUTS = ["txn.id", "txn.user_id", "txn.day", "txn.mail"];
const PROMISE: ResolverOptions = { uniqueOn: ["txn.user_id", "txn.day"] };

/** The first two rows that a plain loop finds alike, from 1; undefined = no two are. */
function alike(rows: readonly Given[], names: readonly string[]): readonly [number, number] | undefined {
  for (const [later, row] of rows.entries())
    for (let before = 0; before < later; before++)
      if (names.every((name) => row[name] !== null && rows[before]?.[name] === row[name])) return [before + 1, later + 1];
  return undefined;
}

/** A world whose Python function without arguments returns some rows. */
function scanned(rows: readonly Given[], options = PROMISE): World {
  const resolver = python("m.txns", [], OUTPUTS, { rows: true, ...options });
  return new World(graph([TXN, USER], [resolver]), { python: { "m.txns": () => rows } });
}

/** The same rows in a table that a SQL file reads. */
function queried(rows: readonly Given[], options: ResolverOptions & { readonly count?: RowCount } = PROMISE, where = ""): World {
  const source = new MemorySource("db", "create table txns (id integer, user_id integer, day text, mail text)");
  const insert = source.db.prepare("insert into txns values (?, ?, ?, ?)");
  for (const row of rows) insert.run(...OUTPUTS.map((name) => row[name] as never));
  const columns = { "txn.id": "id", "txn.user_id": "user_id", "txn.day": "day", "txn.mail": "mail" };
  return new World(graph([TXN, USER], [sql("txns", `select id, user_id, day, mail from txns${where}`, columns, options)]), {
    sources: [source],
  });
}

const row = (id: number, user: number | null, day: string | null, mail: string | null = null): Given => ({
  ...{ "txn.id": id, "txn.user_id": user, "txn.day": day, "txn.mail": mail },
});
const SAID = 'rows 1 and 3 have the same txn.user_id (7) and txn.day ("mon"), and unique_on says that no two rows do';
const TWICE = [row(1, 7, "mon"), row(2, 7, "tue"), row(3, 7, "mon")];

describe("two rows of a Python function that are alike", () => {
  test("are its error, which names the columns, the values and both rows", async () => {
    const answer = await scanned(TWICE).ask({ "txn.id": 2 }, ["txn.day"]);
    expect(failureOf(answer, "txn.day")).toEqual({ code: "RESOLVER_FAILED", message: `m.txns: ${SAID}` });
  });

  test("fail the rows of a relation as well, by the call that returned them", async () => {
    const made = graph([TXN, USER], [python("m.txns", ["user.id"], OUTPUTS, { relation: "user.txns", ...PROMISE })]);
    const one = new World(made, { python: { "m.txns": ([id]) => (id === 1 ? TWICE : TWICE.slice(1)) } });
    expect(failureOf(await one.ask({ "user.id": 1 }, ["user.txns"]), "user.txns").message).toBe(`m.txns: ${SAID}`);
    const sound = await one.ask({ "user.id": 2 }, ["user.txns"]);
    expect(sound.fields[0]?.failure).toBeUndefined();
    expect(sound.fields[0]?.value).toHaveLength(2);
  });

  test("fail every row of a table", async () => {
    const table = python("m.txns", [{ table: ["txn.id"] }], ["txn.id", "txn.day"], { rows: true, uniqueOn: ["txn.day"] });
    const one = new World(graph([TXN], [table]), {
      python: { "m.txns": () => [row(1, null, "mon"), row(2, null, "mon")].map(({ "txn.user_id": _, "txn.mail": __, ...kept }) => kept) },
    });
    const message = 'm.txns: rows 1 and 2 have the same txn.day ("mon"), and unique_on says that no two rows do';
    expect(failureOf(await one.ask({ "txn.id": 1 }, ["txn.day"]), "txn.day").message).toBe(message);
  });

  test("end a run by itself", async () => {
    const one = scanned(TWICE);
    const signal = new AbortController().signal;
    const into = { online: true, offline: true };
    const run = one.engine.runResolver(one.deployment, { resolver: "m.txns", now: one.now, into, signal } as never);
    const error = await run.ownKeys().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(CallFailed);
    expect((error as CallFailed).message).toBe(`m.txns: ${SAID}`);
    expect((error as CallFailed).exception?.kind).toBe("RepeatedRows");
  });

  test("are found as a loop over the rows finds them", async () => {
    const given = fc.array(fc.tuple(fc.option(fc.integer({ min: 1, max: 4 })), fc.option(fc.constantFrom("mon", "tue", "MON", ""))), {
      maxLength: 12,
    });
    await fc.assert(
      fc.asyncProperty(given, async (pairs) => {
        const rows = pairs.map(([user, day], at) => row(at + 1, user, day));
        const expected = alike(rows, ["txn.user_id", "txn.day"]);
        for (const one of [scanned(rows), queried(rows)]) {
          const signal = new AbortController().signal;
          const into = { online: false, offline: false };
          const resolver = one.graph.resolvers[0]?.fqn ?? "";
          const run = one.engine.runResolver(one.deployment, { resolver, now: one.now, into, signal } as never);
          const said = await run.ownKeys().then(
            () => undefined,
            (error: Error) => /rows (\d+) and (\d+) have/.exec(error.message)?.slice(1).map(Number),
          );
          expect(said).toEqual(expected && [...expected]);
        }
      }),
      seeded(100),
    );
  });
});

describe("two rows of a statement that are alike", () => {
  test("are its error where it is asked by key", async () => {
    const one = queried(TWICE, { uniqueOn: ["txn.user_id"] });
    const twice = await one.ask({ "user.id": 7 }, ["user.txns"]);
    expect(failureOf(twice, "user.txns").message).toBe(
      "txns: rows 1 and 2 have the same txn.user_id (7), and unique_on says that no two rows do",
    );
    expect((await queried(TWICE, { uniqueOn: ["txn.id"] }).ask({ "user.id": 7 }, ["user.txns"])).fields[0]?.value).toHaveLength(3);
  });

  test("are its error though nobody asks for the column", async () => {
    const one = queried([row(1, 7, "mon"), row(1, 7, "mon")], { uniqueOn: ["txn.mail", "txn.day"] }, "");
    const answer = await one.ask({ "txn.id": 1 }, ["txn.user_id"]);
    // Rows with null in a column of unique_on are not compared: the key alone tells that there are two.
    expect(failureOf(answer, "txn.user_id").message).toContain("2 rows, expected at most one");
    const said = await queried([row(1, 7, "mon"), row(1, 7, "mon")], { uniqueOn: ["txn.day"] }).ask({ "txn.id": 1 }, ["txn.user_id"]);
    expect(failureOf(said, "txn.user_id").message).toBe(
      'txns: rows 1 and 2 have the same txn.day ("mon"), and unique_on says that no two rows do',
    );
  });

  test("are the error of the arguments that gave them", async () => {
    const options = { uniqueOn: ["txn.day"], count: RowCount.ALL };
    const one = queried([...TWICE, row(4, 8, "mon")], options, " where user_id = ${txn.user_id}");
    expect(failureOf(await one.ask({ "user.id": 7 }, ["user.txns"]), "user.txns").message).toContain("rows 1 and 3 have the same txn.day");
    expect((await one.ask({ "user.id": 8 }, ["user.txns"])).fields[0]?.value).toHaveLength(1);
  });

  test("end a run by itself, in an incremental one those that are read", async () => {
    const one = queried(TWICE);
    const signal = new AbortController().signal;
    const into = { online: true, offline: true };
    const run = one.engine.runResolver(one.deployment, { resolver: "txns", now: one.now, into, signal } as never);
    const error = await run.newKeys().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(QueryRefused);
    expect((error as Error).message).toContain(`txns: ${SAID}`);
  });
});

test("a value tagged pii is not shown", async () => {
  const made = scanned([row(1, 1, null, "a@example.com"), row(2, 2, null, "a@example.com")], { uniqueOn: ["txn.mail"] });
  const mail = made.graph.featureSets[0]?.features.find(({ name }) => name === "mail");
  mail?.tags.push("pii");
  const { message } = failureOf(await made.ask({ "txn.id": 1 }, ["txn.day"]), "txn.day");
  expect(message).toBe("m.txns: rows 1 and 2 have the same txn.mail (pii, not shown), and unique_on says that no two rows do");
});

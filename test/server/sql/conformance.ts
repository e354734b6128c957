/** What every kind of source must do, whatever its database. */

import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { SqlError, type SqlSource } from "../../../src/server/sql/source.ts";
import type { SourceUnderTest, StartedSource } from "./drivers.ts";

async function failure(run: Promise<unknown>): Promise<SqlError> {
  const error = await run.then(
    () => undefined,
    (reason) => reason,
  );
  expect(error).toBeInstanceOf(SqlError);
  return error as SqlError;
}

/** Runs the suite against a kind of source. */
export function sourceConformance(kind: SourceUnderTest): void {
  describe.skipIf(kind.isAbsent)(`source: ${kind.name}`, () => {
    let database: StartedSource;
    let source: SqlSource;
    const opened: SqlSource[] = [];
    const open = (settings: Record<string, string> = {}): SqlSource => {
      const made = database.open(settings);
      opened.push(made);
      return made;
    };
    /** A statement in which `?` stands for each parameter. */
    const ask = (statement: string, parameters: Parameters<SqlSource["query"]>[1] = [], signal?: AbortSignal) => {
      let position = 0;
      return source.query(
        statement.replaceAll("?", () => source.placeholder(++position)),
        parameters,
        signal,
      );
    };

    beforeAll(async () => {
      database = await kind.start();
      await database.run("create table person (id bigint primary key, name varchar(40), score double precision)");
      await database.run("insert into person values (1, 'Ann', 1.5), (2, null, null), (3, '''; --', -0.5)");
    }, 300_000);
    afterAll(() => database?.stop());
    afterEach(async () => {
      for (const one of opened.splice(0)) await one.close();
    });

    test("gives rows and columns in the statement's order, the same each time", async () => {
      source = open();
      for (let run = 0; run < 3; run++) {
        const { columns, rows } = await ask("select id, name, score from person where id >= ? order by id desc", [1]);
        expect(columns).toEqual(["id", "name", "score"].map(kind.folded));
        expect(rows).toEqual([
          [3, "'; --", -0.5],
          [2, null, null],
          [1, "Ann", 1.5],
        ]);
      }
      expect((await ask("select id, name from person where id = ?", [99])).rows).toEqual([]);
      expect((await ask("select id from person order by id;")).rows).toEqual([[1], [2], [3]]);
    });

    test("parameters are bound, and none is read as SQL", async () => {
      source = open();
      expect((await ask("select id from person where name = ?", ["'; --"])).rows).toEqual([[3]]);
      expect((await ask("select id from person where id in (?, ?) order by id", [1, 2n])).rows).toEqual([[1], [2]]);
      expect((await ask("select count(*) as n from person where name = ?", [null])).rows).toEqual([[0]]);
    });

    test("a float placeholder keeps whole floats from integer division", async () => {
      source = open();
      expect((await source.query(`select ${source.placeholder(1, "float")} / 2 as half`, [5])).rows).toEqual([[2.5]]);
    });

    test("a quoted identifier is one name, whatever is in it", async () => {
      source = open();
      const name = "od\"d`n'a -- me";
      expect((await source.query(`select id as ${source.quote(name)} from person where id = 1`, [])).columns).toEqual([name]);
    });

    test("describes a statement without running it", async () => {
      source = open();
      const statement = `select id, name as called, ${kind.slow} as waited from person where id = ${source.placeholder(1)} -- '?'`;
      expect(await source.describe(statement)).toEqual(["id", "called", "waited"].map(kind.folded));
    });

    test("says what types columns have", async () => {
      source = open();
      const types = await source.columnTypes("select id, score, name as called from person");
      expect([...types]).toEqual([
        [kind.folded("id"), kind.columnTypes.id],
        [kind.folded("score"), kind.columnTypes.score],
        [kind.folded("called"), kind.columnTypes.name],
      ]);
    });

    test("an error carries the database's words and its place in UTF-16 units, run or described", async () => {
      source = open();
      const text = "select 'é\u{1f600}' as e, nope from person";
      for (const error of [await failure(source.query(text, [])), await failure(source.describe(text))]) {
        expect(error.message).toContain("nope");
        expect([error.offset, error.fault]).toEqual([text.indexOf("nope"), "statement"]);
      }
      expect((await failure(source.query("select * from missing", []))).message).toContain("missing");
    });

    test("a traced statement says the same and fails the same; a server sees its span", async () => {
      source = open();
      const spans = Array.from(
        { length: 150 },
        (_, at) => `00-0af7651916cd43dd8448eb211c80319c-${(at + 1).toString(16).padStart(16, "0")}-01`,
      );
      const where = `where id = ${source.placeholder(1)} order by id`;
      const statements = [`select id, score from person ${where}; `, `select id, score from person ${where} -- a note`];
      for (const statement of statements)
        for (const answer of await Promise.all(spans.map((span, at) => source.query(statement, [(at % 3) + 1], undefined, span))))
          expect(answer.columns).toEqual(["id", "score"].map(kind.folded));
      const [, seen] = await Promise.all(spans.slice(0, 2).map((span) => source.query(kind.ownText, [], undefined, span)));
      const text = String(seen?.rows[0]?.[0]);
      const comment = `/*traceparent='${spans[1]}'*/`;
      expect(kind.isServer ? text.endsWith(comment) : !text.includes("traceparent")).toBe(true);
      expect(String((await source.query(kind.ownText, [])).rows[0]?.[0])).not.toContain("traceparent");
      const faulty = "select 'é\u{1f600}' as e, nope from person";
      const error = await failure(source.query(faulty, [], undefined, spans[0]));
      expect([error.offset, error.message.includes("traceparent")]).toEqual([faulty.indexOf("nope"), false]);
    });

    test("is read only and runs one statement at a time", async () => {
      source = open();
      await failure(source.query("delete from person", []));
      await failure(source.query("insert into person (id) values (9)", []));
      await failure(source.query("select 1 as a) as q; delete from person; select * from (select 1 as a", []));
      await source.query("select 1 as a; delete from person", []).catch((error) => expect(error).toBeInstanceOf(SqlError));
      expect((await ask("select count(*) as n from person")).rows).toEqual([[3]]);
    });

    test("sees what others write", async () => {
      source = open();
      await database.run("insert into person (id) values (50)");
      expect((await ask("select id from person where id = ?", [50])).rows).toEqual([[50]]);
      await database.run("delete from person where id = 50");
      expect((await ask("select id from person where id = ?", [50])).rows).toEqual([]);
    });

    test("a statement can be given up, before it runs and while it does, and others run on", async () => {
      source = open();
      const early = await ask("select id from person", [], AbortSignal.abort(new Error("too late"))).catch((error) => error);
      expect(early).toMatchObject({ message: "too late" });
      const controller = new AbortController();
      const slow = ask(`select ${kind.slow} as waited`, [], controller.signal).catch((error) => error);
      expect((await ask("select id from person where id = ?", [1])).rows).toEqual([[1]]);
      controller.abort(new Error("given up"));
      expect(await slow).toMatchObject({ message: "given up" });
      expect((await ask("select id from person where id = ?", [2])).rows).toEqual([[2]]);
    });

    test("many statements at once have their answers", async () => {
      source = open();
      const answers = await Promise.all(
        Array.from({ length: 30 }, (_, n) => ask("select id, name from person where id = ?", [(n % 3) + 1])),
      );
      expect(answers.map(({ rows }) => rows[0]?.[0])).toEqual(Array.from({ length: 30 }, (_, n) => (n % 3) + 1));
    });

    test("a source that was closed refuses what comes", async () => {
      source = open();
      await source.test();
      await source.close();
      expect((await failure(ask("select id from person"))).message).toContain("closed");
    });

    test("a source that cannot be reached says which one, and no secret", async () => {
      source = open(kind.unreachable);
      const error = await failure(source.test());
      expect(error.message).toContain("source 'db'");
      expect(`${error.message}${error.stack}${Bun.inspect(error)}`).not.toContain("hunter22");
    });

    if (!kind.isServer) return;
    test("reads on after the server was away", async () => {
      source = open();
      for (let round = 0; round < 2; round++) {
        expect((await ask("select id from person where id = ?", [1])).rows).toEqual([[1]]);
        await database.restart?.();
      }
      const answers = await Promise.all(Array.from({ length: 8 }, () => ask("select id from person where id = ?", [2])));
      for (const { rows } of answers) expect(rows).toEqual([[2]]);
    }, 300_000);
  });
}

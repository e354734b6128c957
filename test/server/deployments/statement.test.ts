import { describe, expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { ResolverSchema, SourceKind, SqlQuerySchema } from "../../../gen/svc/v1/graph_pb.ts";
import { prepareStatement, spanInBody } from "../../../src/server/deployments/statement.ts";

/** A query with the placeholders of a body. */
function queryOf(body: string, bodyLine = 4) {
  const parameters = [...body.matchAll(/\$\{[^}]*\}/g)].map((match) => ({
    path: match[0].slice(2, -1),
    offset: match.index,
    length: match[0].length,
  }));
  return create(SqlQuerySchema, { body, bodyLine, parameters });
}
const resolver = create(ResolverSchema, { span: { file: "sql/a.svc.sql", line: 1, column: 1, endLine: 1, endColumn: 5 } });

const DOLLARS = { kind: SourceKind.POSTGRESQL, placeholder: (n: number) => `$${n}` };
const MARKS = { kind: SourceKind.MYSQL, placeholder: (_n: number) => "?" };
const LONG = { kind: SourceKind.SQLITE, placeholder: (n: number) => `:a_rather_long_parameter_${n}` };

describe("statements", () => {
  test("have the database's placeholders, and no semicolon at the end", () => {
    const query = queryOf("select a from t where b = ${user.id} and c < ${now} or d = ${user.id} ; -- end\n");
    expect(prepareStatement(query, DOLLARS).text).toBe("select a from t where b = $1 and c < $2 or d = $3");
    expect(prepareStatement(query, MARKS).text).toBe("select a from t where b = ? and c < ? or d = ?");
  });

  test("every place in them leads back to the same text in the body", () => {
    const body = "select x,\n  ${user.a} as ünï𝒳, y\nfrom t where z = ${user.very.long.name} and wrong = 1";
    const query = queryOf(body);
    for (const source of [DOLLARS, MARKS, LONG]) {
      const statement = prepareStatement(query, source);
      for (const word of ["select", "ünï", "y\nfrom", "wrong"]) {
        expect(statement.bodyOffset(statement.text.indexOf(word))).toBe(body.indexOf(word));
      }
      expect(body.slice(statement.bodyOffset(statement.text.lastIndexOf(source.placeholder(2))))).toStartWith("${user.very.long.name}");
    }
  });

  test("places count lines of the file, and columns in code points", () => {
    const query = queryOf("select '𝒳𝒳', wrong_column,\n  other(1)");
    const at = (word: string) => spanInBody(resolver, query, query.body.indexOf(word));
    expect(at("wrong_column")).toMatchObject({ file: "sql/a.svc.sql", line: 4, column: 14, endLine: 4, endColumn: 26 });
    expect(at("other")).toMatchObject({ line: 5, column: 3, endColumn: 8 });
    expect(at("(1)")).toMatchObject({ line: 5, column: 8, endColumn: 9 });
    expect(spanInBody(resolver, query, query.body.length)).toMatchObject({ line: 5, column: 11, endColumn: 12 });
  });
});

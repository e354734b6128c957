/** What a person's statement uses, from its syntax tree as the engine's own parser gives it. */

/** A table in a statement. */
export interface TableMention {
  /** Parts of its name as they are written, from the catalog down. */
  readonly name: readonly string[];
  /** Offset in the statement, in bytes; undefined where the parser does not tell. */
  readonly at: number | undefined;
}

/** What is wrong with a statement, and where. */
export interface StatementRefusal {
  readonly message: string;
  readonly at: number | undefined;
}

/** The tables of a statement, or why it is none that may be asked. */
export type StatementNames = { readonly tables: readonly TableMention[] } | { readonly refusal: StatementRefusal };

/** Table functions that read nothing but their arguments. */
const TABLE_FUNCTIONS: ReadonlySet<string> = new Set([
  "unnest",
  "range",
  "generate_series",
  "repeat",
  "json_each",
  "json_tree",
  "generate_subscripts",
]);

/** Functions that tell of the process, or do something beside computing a value. */
const FUNCTIONS: ReadonlySet<string> = new Set([
  "current_setting",
  "getenv",
  "getvariable",
  "write_log",
  "current_query",
  "nextval",
  "currval",
]);

/** Where the parser has no offset. */
const NOWHERE = 2 ** 63;

type Node = Readonly<Record<string, unknown>>;

/** The tables that a statement names. `tree` is what `json_serialize_sql` says of it. */
export function statementNames(tree: string): StatementNames {
  const parsed = JSON.parse(tree) as {
    readonly error: boolean;
    readonly error_message?: string;
    readonly position?: string;
    readonly statements?: readonly Node[];
  };
  if (parsed.error) {
    const isOther = parsed.error_message?.startsWith("Only SELECT statements") === true;
    const message = isOther ? "only a select statement can be asked" : (parsed.error_message ?? "it cannot be parsed");
    return { refusal: { message, at: parsed.position === undefined ? undefined : Number(parsed.position) } };
  }
  const statements = parsed.statements ?? [];
  if (statements.length !== 1)
    return {
      refusal: { message: statements.length === 0 ? "there is no statement" : "only one statement can be asked at a time", at: undefined },
    };
  const tables: TableMention[] = [];
  const own = new Set<string>();
  let refusal: StatementRefusal | undefined;
  const refuse = (message: string, node: Node): void => {
    refusal ??= { message, at: offsetOf(node) };
  };
  const visit = (node: Node): void => {
    switch (node.type) {
      case "BASE_TABLE":
        tables.push({
          name: [node.catalog_name, node.schema_name, node.table_name].map(String).filter((part) => part !== ""),
          at: offsetOf(node),
        });
        break;
      case "TABLE_FUNCTION": {
        const name = String((node.function as Node | undefined)?.function_name);
        if (!TABLE_FUNCTIONS.has(name)) refuse(`${name} cannot be used: a statement reads the tables of its environment alone`, node);
        break;
      }
      case "SHOW_REF":
        refuse("only a select statement can be asked; `svc catalog schemas --show-tables` shows what there is", node);
        break;
    }
    if (node.class === "FUNCTION" && FUNCTIONS.has(String(node.function_name))) refuse(`${node.function_name} cannot be used here`, node);
    if (node.class === "PARAMETER") refuse("a statement has no parameters", node);
  };
  const pending: unknown[] = [statements[0]];
  while (pending.length > 0) {
    const value = pending.pop();
    if (Array.isArray(value)) pending.push(...value);
    else if (value !== null && typeof value === "object") {
      const node = value as Node;
      visit(node);
      for (const [name, field] of Object.entries(node)) {
        if (name === "cte_map")
          for (const { key } of (field as { readonly map: readonly { readonly key: string }[] }).map) own.add(key.toLowerCase());
        pending.push(field);
      }
    }
  }
  if (refusal) return { refusal };
  const isOwn = ({ name }: TableMention) => name.length === 1 && own.has(String(name[0]).toLowerCase());
  return { tables: tables.filter((table) => !isOwn(table)).sort((one, other) => (one.at ?? 0) - (other.at ?? 0)) };
}

function offsetOf(node: Node): number | undefined {
  const at = Number(node.query_location);
  return at < NOWHERE ? at : undefined;
}

/** The line of a statement at an offset in bytes, from 1, and its text. */
export function lineAt(statement: string, at: number): { readonly line: number; readonly text: string } {
  const before = Buffer.from(statement).subarray(0, at).toString().split("\n").length;
  return { line: before, text: statement.split("\n")[before - 1] ?? "" };
}

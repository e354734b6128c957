/** A project whose features are computed at each query. */

/** Accounts of the shop. */
export const ACCOUNTS = 50;
/** Resolvers between the top of the diamond and its bottom: ten with those two. */
export const SIDES = 8;

const SIDE_NAMES = Array.from({ length: SIDES }, (_, index) => `side_${index}`);

/**
 * `diamond.py`: a resolver that eight need, which one needs; their bodies loop, so that nothing but
 * Python can run them. `sums.py`: the same in arithmetic. `shop.py`: a sum over the rows that a SQL
 * file gives.
 */
export function computeProject(): Record<string, string> {
  return {
    "diamond.py": diamond("Node", (terms) => ["total = 0.0", `for term in (${terms.join(", ")}):`, "    total += term", "return total"]),
    "sums.py": diamond("Sum", (terms) => [`return ${["0.0", ...terms].join(" + ")}`]),
    "shop.py": [
      '"""An account and its transactions."""',
      "",
      "from svc import SQLiteSource",
      "from svc.features import DataFrame, _, features, has_many",
      "",
      'shop = SQLiteSource(name="shop")',
      "",
      "",
      "@features",
      "class Account:",
      "    id: int",
      '    txns: "DataFrame[Txn]" = has_many(lambda: Txn.account_id == Account.id)',
      "    total: float = _.txns[_.amount].sum()",
      "",
      "",
      "@features",
      "class Txn:",
      "    id: int",
      "    account_id: Account.id",
      "    amount: float",
      "",
    ].join("\n"),
    "txn.svc.sql": "-- resolves: Txn\n-- source: shop\nselect id, account_id, amount from txn\n",
  };
}

/**
 * Ten resolvers: one at the top, eight beside each other, one at the bottom. `body` has the lines
 * that sum some terms.
 */
function diamond(className: string, body: (terms: readonly string[]) => readonly string[]): string {
  const resolver = (name: string, parameters: readonly string[], terms: readonly string[]) => [
    "",
    "",
    "@online",
    `def ${name}(${parameters.map((one) => `${one}: ${className}.${one}`).join(", ")}) -> ${className}.${name}:`,
    ...body(terms).map((line) => `    ${line}`),
  ];
  return [
    '"""Ten resolvers: one at the top, eight beside each other, one at the bottom."""',
    "",
    "from svc import online",
    "from svc.features import features",
    "",
    "",
    "@features",
    `class ${className}:`,
    "    id: int",
    "    top: float",
    ...SIDE_NAMES.map((name) => `    ${name}: float`),
    "    bottom: float",
    ...resolver("top", ["id"], ["id", "1", "0.5"]),
    ...SIDE_NAMES.flatMap((name, index) => resolver(name, ["top"], ["top", `${index}.5`])),
    ...resolver("bottom", SIDE_NAMES, SIDE_NAMES),
    "",
  ].join("\n");
}

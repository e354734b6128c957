/** The rule about sinks: 207. */

import { message, rule } from "./rule.ts";

const HEAD = `from svc.streams import sink


@features
class User:
    id: int
    score: float | None = None


`;
const sunk = (signature: string): { "features.py": string } => ({
  "features.py": `${HEAD}@sink\ndef tell(${signature}:\n    print(rows)\n`,
});

export const BAD_SINK = rule(
  {
    code: 207,
    id: "bad-sink",
    title: "A sink is not a function of rows",
    severity: "error",
    foundBy: ["analyzer"],
    means:
      "A sink takes one parameter, a `DataFrame[...]` of features of one class, the primary key among them, and returns nothing. " +
      "`debounce=` is not longer than `max_delay=`.",
    why: "It is given rows as they become known, told apart by their key, and nobody waits for what it returns.",
    example: { broken: sunk("rows: DataFrame[User.score]) -> None"), mended: sunk("rows: DataFrame[User.id, User.score]) -> None") },
  },
  {
    parameters: message(
      "'{sink}' takes {count} parameters: a sink takes one, rows of a class, such as 'rows: DataFrame[User.id, User.score]'",
      "one parameter",
    ),
    unannotated: message(
      "the parameter '{parameter}' has no type: write rows of a class, such as '{parameter}: DataFrame[User.id, User.score]'",
      "no type",
    ),
    noRows: message("'{parameter}' is {written}: a sink takes rows of a class, such as DataFrame[User.id, User.score]", "no rows"),
    noKey: message("the columns lack {key}, the primary key: rows of {owner} are told apart by it", "no key"),
    keyAlone: message("the key {key} is the only column: name a feature that becomes known", "key alone"),
    related: message("{reference} is of a related row: a sink's columns are {owner}'s own features", "of a related row"),
    returns: message("'{sink}' returns {written}, which goes nowhere: write '-> None'", "goes nowhere"),
    generator: message("'{sink}' yields values: a sink is a plain function, whose rows it is given", "yields"),
    delays: message(
      "debounce is {debounce}, and max_delay {longest}: rows wait at most max_delay, so write a shorter debounce",
      "too long",
    ),
  },
);

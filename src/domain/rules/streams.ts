/** Rules about resolvers of streams: 200 to 209. */

import { message, rule } from "./rule.ts";

const HEAD = `from dataclasses import dataclass
from svc.sources import TopicSource
from svc.streams import make_stream_resolver, stream

events = TopicSource(name="events")


@features
class Txn:
    id: int
    amount: float
    memo: str | None = None


@dataclass
class TxnMsg:
    id: int
    amount: float


`;
const project = (text: string): { "features.py": string } => ({ "features.py": `${HEAD}${text}\n` });
const mapping = (decorator: string, signature: string, body = "return Txn(id=1, amount=0.5)"): { "features.py": string } =>
  project(`${decorator}\ndef on(${signature}:\n    ${body}`);
const SOUND = mapping(
  "@stream(source=events)",
  "message: TxnMsg) -> Features[Txn.id, Txn.amount]",
  "return Txn(id=message.id, amount=message.amount)",
);

export const UNREADABLE_MESSAGE = rule(
  {
    code: 200,
    id: "unreadable-message",
    title: "Nothing says how the messages of a stream are read",
    severity: "error",
    foundBy: ["analyzer"],
    means:
      "The parameter of a stream's function says what a message is: a dataclass or a pydantic model (a JSON object with its fields), `dict` (any JSON object), " +
      "`str` or `bytes`. Any other type needs `parse=`, a function that makes it of the bytes. `make_stream_resolver` reads fields by name, so it takes a dataclass.",
    why: "A message of which nothing is fixed cannot be told from a damaged one.",
    example: { broken: mapping("@stream(source=events)", "message: list) -> Features[Txn.id, Txn.amount]"), mended: SOUND },
  },
  {
    unannotated: message(
      "the parameter '{parameter}' has no type: write a dataclass, a pydantic model, dict, str or bytes, such as '{parameter}: TxnMsg'",
      "no type",
    ),
    noSchema: message(
      "messages of type {type} have no fixed schema: write a dataclass, a pydantic model, dict, str or bytes, or give parse= a function that makes them of the bytes",
      "no fixed schema",
    ),
    noFields: message(
      "make_stream_resolver reads the fields of a dataclass, and {type} is none: use @stream, which runs Python",
      "no fixed schema",
    ),
    field: message("messages of type {type} cannot be read from JSON: {error}", "{label}"),
    innerDefault: message(
      "{type}.{field} has a default, which a message read without Python knows of its own fields alone: use @stream with a function of Python, or write '| None = None'",
      "a default",
    ),
  },
);

export const STREAM_WITHOUT_KEY = rule(
  {
    code: 201,
    id: "stream-without-key",
    title: "A stream gives rows that cannot be stored",
    severity: "error",
    foundBy: ["analyzer"],
    means:
      "The outputs of a stream hold the primary key of their class, by which the row of a message is stored, and another feature of it.",
    why: "A row without its key belongs nowhere, and a key alone says nothing.",
    example: {
      broken: mapping("@stream(source=events)", "message: TxnMsg) -> Features[Txn.amount]", "return Txn(amount=message.amount)"),
      mended: SOUND,
    },
  },
  {
    noKey: message("the outputs lack {key}, the primary key: rows of {owner} are stored by it", "no key"),
    keyAlone: message("the key {key} is the only output: there is nothing to store", "key alone"),
  },
);

export const NO_TOPIC = rule(
  {
    code: 202,
    id: "no-topic",
    title: "A stream does not name a source that has a topic",
    severity: "error",
    foundBy: ["analyzer"],
    means: "`source=` is a `KafkaSource(...)` or a `TopicSource(...)`, a topic of the server itself.",
    why: "Messages come from topics alone; databases are read by SQL resolvers.",
    example: {
      broken: mapping('@stream(source="events")', "message: TxnMsg) -> Features[Txn.id, Txn.amount]"),
      mended: SOUND,
    },
  },
  {
    bare: message(
      '@stream is written without its source: write @stream(source=TopicSource(name="...")) or @stream(source=KafkaSource(name="..."))',
      "no source",
    ),
    absent: message("source is missing: write source=, a KafkaSource(...) or a TopicSource(...)", "no source"),
    other: message("source is {value}: write a KafkaSource(...) or a TopicSource(...)", "no topic"),
  },
);

export const BAD_PARSE = rule(
  {
    code: 203,
    id: "bad-parse",
    title: "`parse=` of a stream is no function of the message's bytes",
    severity: "error",
    foundBy: ["analyzer"],
    means:
      "`parse=` is a function with one parameter, the bytes of a message, that returns the message, or None for one that is to be left out. It is not `async`.",
    why: "It is called once for each message, with its bytes alone.",
    example: {
      broken: mapping('@stream(source=events, parse="json")', "message: TxnMsg) -> Features[Txn.id, Txn.amount]"),
      mended: SOUND,
    },
  },
  {
    noFunction: message("parse is {value}: write a function that takes the bytes of a message and returns it", "no function"),
    parameters: message("parse takes {count} parameters: it is called with one, the bytes of a message", "one parameter"),
    isAsync: message("parse is async: it is called for each message in turn, so write a plain function", "async"),
  },
);

export const BAD_MESSAGE_EXPRESSION = rule(
  {
    code: 204,
    id: "bad-message-expression",
    title: "An output of make_stream_resolver cannot be computed from a message",
    severity: "error",
    foundBy: ["analyzer", "graph"],
    means:
      "`output_features` gives an expression over the fields of a message for each feature of one class, such as `{Txn.id: _.id}`. Its type is that of the feature.",
    why: "The server computes it for every message without Python, so it has to be sure of names and types beforehand.",
    example: {
      broken: project(
        'make_stream_resolver(name="on", source=events, message_type=TxnMsg, output_features={Txn.id: _.id, Txn.amount: _.amuont})',
      ),
      mended: project(
        'make_stream_resolver(name="on", source=events, message_type=TxnMsg, output_features={Txn.id: _.id, Txn.amount: _.amount})',
      ),
    },
  },
  {
    noFeatures: message("output_features is {value}: write a dict from features to expressions, such as {example}", "no outputs"),
    noFeature: message("{value} is no feature: write one such as Txn.amount", "no feature"),
    noValue: message("{feature} holds no value of its own row: name a feature that does", "no value"),
    noExpression: message(
      "{feature} is computed from {value}: write an expression of the message's fields, such as _.amount",
      "no expression",
    ),
    aggregation: message("{item} is of rows: a message has fields alone", "of rows"),
    unknownField: message("{type} has no field '{field}'{near}", "no such field"),
    type: message("{feature}: {problem}", "type"),
  },
);

export const BAD_STREAM = rule(
  {
    code: 205,
    id: "bad-stream",
    title: "A stream's function is not one of messages",
    severity: "error",
    foundBy: ["analyzer"],
    means:
      "The function takes one message and returns `Features[...]` of one class, or None to leave the message out; or it takes the messages that came together as a " +
      "`DataFrame[...]` of a dataclass or a pydantic model and returns rows, `DataFrame[...]` of one class. The function may return a statement of SQL over them instead.",
    why: "Messages become rows of one class, which are stored with the position behind the messages.",
    example: {
      broken: mapping("@stream(source=events)", "message: TxnMsg, other: str) -> Features[Txn.id, Txn.amount]"),
      mended: SOUND,
    },
  },
  {
    parameters: message("'{resolver}' takes {count} parameters: a stream's function takes one, the message", "one message"),
    frame: message(
      "'{parameter}' is {written}: messages that came together are a DataFrame of one dataclass or pydantic model, whose fields are the columns, such as '{parameter}: DataFrame[TxnMsg]'",
      "no fields",
    ),
    noRows: message("'{resolver}' takes messages as a DataFrame, so it returns rows, such as DataFrame[Txn.id, Txn.amount]", "no rows"),
    rows: message(
      "a stream of one message gives one row: return Features[...], not {written}, or take the messages as a DataFrame",
      "one row",
    ),
    isAsync: message("'{resolver}' is async: messages of a partition are computed in their order, so write a plain function", "async"),
  },
);

const STATEMENT = "messages: DataFrame[TxnMsg]) -> DataFrame[Txn.id, Txn.amount]";

export const BAD_STREAM_STATEMENT = rule(
  {
    code: 206,
    id: "bad-stream-statement",
    title: "The statement of a stream cannot be computed",
    severity: "error",
    foundBy: ["analyzer", "server"],
    means:
      "A stream's function of a `DataFrame[...]` of a dataclass may return one select of DuckDB's SQL over its parameter: `{messages}` in an f-string. " +
      "It is called once, when the project is analyzed. The statement reads nothing but that table, and its columns are named as the outputs are, and have their types.",
    why: "The server computes the statement for all messages without Python, so it has to be sure of it beforehand.",
    example: {
      broken: mapping("@stream(source=events)", STATEMENT, 'return f"select id, amount from {messages.rows}"'),
      mended: mapping("@stream(source=events)", STATEMENT, 'return f"select id, 2 * amount as amount from {messages}"'),
    },
  },
  {
    severalReturns: message("'{resolver}' returns a statement in one place of several: write one return, as it is called once", "SQL"),
    raised: message(
      "the statement of '{resolver}' is not known: called with the name of its table, the function {problem}. Its text names the table as {table}, and hangs on nothing else",
      "SQL",
    ),
    message: message("'{parameter}' is {written}: the fields of messages of a statement are those of a dataclass", "no dataclass"),
    parse: message("a statement's messages are read as JSON, without Python: leave out parse=, or compute the rows in Python", "parse"),
    here: message("the statement cannot be computed: {problem}", "here"),
    somewhere: message("the statement cannot be computed: {problem}", "in this statement"),
  },
);

/**
 * Functions of `svc.functions` that differ in Python from the function table: functions that are
 * written there and make calls of the table, and chains.
 */

/** A function of `svc.functions` with the Python that makes its calls. */
export interface FunctionForm {
  readonly name: string;
  /** Family that it belongs to. */
  readonly family: string;
  /** One sentence. */
  readonly doc: string;
  /** A use of it in Python. */
  readonly example: string;
  /** Its parameters in Python. */
  readonly parameters: string;
  /** Its types, for the documentation. */
  readonly types: string;
  /** The Python expression that it returns. */
  readonly result: string;
}

/**
 * Functions that the table does not have: each call of one is a call of a function of the table,
 * or a template, which Python renders.
 */
export const FORMS: ReadonlyMap<string, FunctionForm> = new Map(
  [
    {
      name: "cast",
      family: "strings",
      doc: "The value as one of another type: what `to_int`, `to_float`, `to_string`, `to_date` and `to_datetime` give. The type is written as int, float, str, date or datetime.",
      example: "F.cast(_.code, int)",
      parameters: "value: Any, type: type",
      types: "any that the function of the type takes",
      result: "cast_call(as_operand(value), type)",
    },
    {
      name: "jinja",
      family: "strings",
      doc: "A template of Jinja, whose names are features of the row, as the whole expression of a str feature or as the content of a prompt. A worker renders it, by the package jinja2 of the project's requirements: in its sandbox, in 100,000 steps and to 100,000 characters at most. A null value is None.",
      example: 'F.jinja("Dear {{ User.name }}{% if User.vip %}, welcome back{% endif %}")',
      parameters: "template: str",
      types: "a text, as Python has it",
      result: "JinjaTemplate(template)",
    },
  ].map((form) => [form.name, form]),
);

/**
 * Functions of the table whose use in Python is more than a call with its arguments: parameters and
 * result in Python, by name.
 */
export const CALLS: ReadonlyMap<string, Pick<FunctionForm, "parameters" | "result">> = new Map([
  ["when", { parameters: "condition: Any, then: Any = LEFT_OUT, *more: Any", result: "when_call(condition, then, more)" }],
]);

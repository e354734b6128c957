/** Rules of lint: the number and name of a rule, its meaning, and the sentences of its findings. */

/** The severity of a finding: an error stops a deployment, a warning is shown and stops nothing. */
export type RuleSeverity = "error" | "warning";

/**
 * The part of svc that finds a problem: `text` reads the files as they stand in an editor,
 * `analyzer` imports the project with Python, `graph` looks at all definitions together, `server`
 * asks the databases and the stores, `machine` needs a tool that this computer may lack.
 */
export type Finder = "text" | "analyzer" | "graph" | "server" | "machine";

/** Text of files by path relative to the project. Python files leave out `EXAMPLE_IMPORTS`. */
export type ExampleFiles = Readonly<Record<string, string>>;

/** A small project that breaks a rule, and the same project corrected. */
export interface RuleExample {
  readonly broken: ExampleFiles;
  readonly mended: ExampleFiles;
}

/** The facts about a rule. */
export interface RuleFacts {
  /**
   * The number that a finding shows: `Error[110]`. It never changes, and is never given to another
   * rule.
   */
  readonly code: number;
  /** Kebab-case name, as stable as the number. */
  readonly id: string;
  /** The problem, as a sentence without a full stop. */
  readonly title: string;
  /** Severity of messages that state none of their own. */
  readonly severity: RuleSeverity;
  /** The parts of svc that can find it, the earliest first. */
  readonly foundBy: readonly Finder[];
  /** The cases in which the rule applies, and what to do. */
  readonly means: string;
  /** The harm that the rule prevents. */
  readonly why: string;
  /** An example, or the reason why a few files cannot show it. */
  readonly example: RuleExample | { readonly none: string };
  /**
   * The point from which the analyzer's findings replace those of the text: as soon as Python ran,
   * or when it found no error in the project. Absent = the finding of the text stands.
   */
  readonly yields?: "to-any-analysis" | "to-sound-analysis";
}

/** A problem that a rule states, without its span. */
export interface RuleProblem {
  readonly code: number;
  readonly severity: RuleSeverity;
  readonly message: string;
  /** A few words under the marker; may be empty. */
  readonly label: string;
}

/** A sentence of a rule and the words under the marker, with `{name}` where a value belongs. */
export interface Message<Text extends string = string, Label extends string = string> {
  readonly text: Text;
  readonly label: Label;
  /** Absent = that of the rule. */
  readonly severity?: RuleSeverity;
}

/** The names between braces of a template; text between braces that no name can be is left out. */
type Names<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}` ? PlainName<Name> | Names<Rest> : never;
type PlainName<Name extends string> = Name extends `${string}.${string}` | `${string} ${string}` ? never : Name;
type Values<Text extends string> = { readonly [Name in Names<Text>]: string | number };
type MessageFunction<M> =
  M extends Message<infer Text, infer Label>
    ? [Names<Text | Label>] extends [never]
      ? () => RuleProblem
      : (values: Values<Text | Label>) => RuleProblem
    : never;

/** The messages of a rule by name. A name of `RuleFacts` cannot be taken. */
type Messages = Readonly<Record<string, Message>> & { readonly [Name in keyof RuleFacts | "messages"]?: never };

/** A rule without its messages' types, for lists. */
export interface Rule extends RuleFacts {
  readonly messages: Readonly<Record<string, Message>>;
}

/** A rule whose messages are functions: `NO_PRIMARY_KEY.none({ name: "User", fields: "name" })`. */
export type RuleWithMessages<M> = Rule & { readonly [Name in keyof M]: MessageFunction<M[Name]> };

/** A message of the severity of its rule. */
export function message<const Text extends string, const Label extends string = "">(text: Text, label = "" as Label): Message<Text, Label> {
  return { text, label };
}

/** A message that is a warning, in a rule of errors. */
export function warning<const Text extends string, const Label extends string>(text: Text, label: Label): Message<Text, Label> {
  return { text, label, severity: "warning" };
}

/** A message that is an error, in a rule of warnings. */
export function error<const Text extends string, const Label extends string>(text: Text, label: Label): Message<Text, Label> {
  return { text, label, severity: "error" };
}

/** A rule from its facts and messages. */
export function rule<M extends Messages>(facts: RuleFacts, messages: M): RuleWithMessages<M> {
  const functions = Object.entries(messages as Readonly<Record<string, Message>>).map(([name, { label, severity, text }]) => [
    name,
    (values: Readonly<Record<string, string | number>> = {}): RuleProblem => ({
      code: facts.code,
      severity: severity ?? facts.severity,
      message: filled(text, values),
      label: filled(label, values),
    }),
  ]);
  return { ...facts, messages, ...Object.fromEntries(functions) } as RuleWithMessages<M>;
}

/** A template with its values; braces around anything but a name are text. */
function filled(template: string, values: Readonly<Record<string, string | number>>): string {
  return template.replaceAll(PLACEHOLDER, (whole, name: string) => String(values[name] ?? whole));
}

/** A name between braces in a template, which a value replaces. */
export const PLACEHOLDER = /\{([a-z][A-Za-z_]*)\}/g;

/** Texts of `--template`, in the language Mustache. */

import Mustache from "mustache";
import { didYouMean } from "../domain/closest.ts";
import { UsageError } from "../errors/cli-error.ts";

/** A context whose names exist: a name that no document has is an error, not an empty text. */
class StrictContext extends Mustache.Context {
  override push(view: unknown): Mustache.Context {
    return new StrictContext(view, this);
  }

  override lookup(name: string): unknown {
    const value: unknown = super.lookup(name);
    if (value === undefined) throw unknownName(name, this.view);
    return value;
  }
}

function unknownName(name: string, view: unknown): UsageError {
  if (Array.isArray(view))
    return new UsageError(`--template has '${name}', but the JSON is a list`, {
      hint: `{{#.}} and {{/.}} go through it: --template '{{#.}}{{${name}}}\\n{{/.}}'`,
    });
  const names = view !== null && typeof view === "object" ? Object.keys(view) : [];
  const close = didYouMean(name, names);
  return new UsageError(`--template has '${name}', which the JSON has not${close && `; ${close}`}`, {
    hint: names.length > 0 ? `There are: ${names.join(", ")}.` : "Use --json alone to see what there is.",
  });
}

/**
 * The text of a template given as one of a command's words, where `\n` and `\t` are a newline and a
 * tab.
 */
export function unescaped(given: string): string {
  return given.replace(/\\([nt\\])/g, (_, letter: string) => ({ n: "\n", t: "\t" })[letter] ?? "\\");
}

/**
 * A function from a JSON value to the template's text for it. Values are written as they are, lists
 * and objects as JSON. Throws a UsageError for a template that is none, and where it has a name
 * that the value lacks.
 */
export function renderTemplate(text: string): (value: unknown) => string {
  const writer = new Mustache.Writer();
  try {
    writer.parse(text);
  } catch (error) {
    throw new UsageError(`--template: ${error instanceof Error ? error.message : error}`, {
      hint: "The language is Mustache: --template '{{#features}}{{fqn}}\\n{{/features}}'",
    });
  }
  return (value) => writer.render(text, new StrictContext(value), undefined, { escape: written });
}

function written(value: unknown): string {
  return value !== null && typeof value === "object" ? JSON.stringify(value) : String(value);
}

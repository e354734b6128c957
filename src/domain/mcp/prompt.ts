/** Prompts that a program offers to its user over the Model Context Protocol. */

/** What a value of the caller's can be completed to. */
export type Completed = "class" | "feature" | "query run" | "resolver";

/** An argument of a prompt, a text. */
export interface PromptArgument {
  readonly name: string;
  readonly description: string;
  readonly isRequired?: boolean;
  readonly completes?: Completed;
}

/** A prompt: a task in words, which names the tools that it takes. */
export interface Prompt {
  /** In snake_case, starting with a verb. */
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly arguments: readonly PromptArgument[];
  /** The task. @param given the arguments by name; those that were left out are empty */
  readonly write: (given: Readonly<Record<string, string>>) => string;
}

/** Longest argument, in characters. */
export const MAX_PROMPT_ARGUMENT = 1_000;
/** Most values of a completion, as the protocol has it. */
export const MAX_COMPLETIONS = 100;

import { Status } from "../../parts/status.tsx";
import { enumWord, stateTone } from "./run-state.ts";

interface StateParts {
  readonly of: string | undefined;
  readonly prefix: string;
  /** Whether it is meant to run on and on: while it does, all is well. */
  readonly isService?: boolean;
}

/** A state of the contract: its word, shape and colour. */
export function State({ of, prefix, isService }: StateParts) {
  const word = enumWord(of, prefix);
  return <Status tone={isService && word === "running" ? "good" : stateTone(word)}>{word}</Status>;
}

import { Status } from "../../parts/status.tsx";
import { enumWord, stateTone } from "./run-state.ts";

/** A state of the contract: its word, shape and colour. */
export function State({ of, prefix }: { readonly of: string | undefined; readonly prefix: string }) {
  const word = enumWord(of, prefix);
  return <Status tone={stateTone(word)}>{word}</Status>;
}

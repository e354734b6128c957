import { CallError } from "../../api/call.ts";
import { toast } from "../../app/toasts.tsx";

/** Waits for a call, and says in a corner of the page when it failed. */
export async function perform(made: Promise<unknown>, onDone: () => void = () => undefined): Promise<void> {
  try {
    await made;
  } catch (error) {
    toast(error instanceof CallError ? `${error.message} ${error.hint}`.trim() : String(error), "bad");
  }
  onDone();
}

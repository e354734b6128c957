import { escapeControls } from "../../domain/name.ts";

/** A short word beside a name, such as a tag. */
export function Badge({ text, tone }: { readonly text: string; readonly tone?: "good" | "warn" | "bad" }) {
  return <span class={`badge ${tone ?? ""}`}>{escapeControls(text)}</span>;
}

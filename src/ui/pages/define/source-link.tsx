import { escapeControls } from "../../../domain/name.ts";
import { href } from "../../app/place.ts";

/** A source's name, which leads to its page. */
export function SourceLink({ name }: { readonly name: string }) {
  return (
    <a class="name" href={href("source", { name })}>
      {escapeControls(name)}
    </a>
  );
}

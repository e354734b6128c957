import { escapeControls } from "../../../domain/name.ts";
import { href } from "../../app/place.ts";

/** Containers that have a volume. */
export function VolumeUsers({ names }: { readonly names: readonly string[] }) {
  return (
    <>
      {names.map((name, at) => (
        <span key={name}>
          {at > 0 && ", "}
          <a class="name" href={href("container", { name })}>
            {escapeControls(name)}
          </a>
        </span>
      ))}
    </>
  );
}

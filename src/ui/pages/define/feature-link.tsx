import { escapeControls, readableName } from "../../../domain/name.ts";
import { href } from "../../app/place.ts";

/** A feature's name, which leads to its page. */
export function FeatureLink({ fqn }: { readonly fqn: string }) {
  return (
    <a class="name" href={href("feature", { fqn })}>
      {escapeControls(readableName(fqn))}
    </a>
  );
}

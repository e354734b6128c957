import { escapeControls } from "../../../domain/name.ts";
import { href } from "../../app/place.ts";

/** A link to the page of a deployment, whatever the scope of this one. */
export function DeploymentLink({ id = "" }: { readonly id?: string | undefined }) {
  return (
    <a class="name" href={href("deployment", { id }, { deployment: "" })}>
      {escapeControls(id)}
    </a>
  );
}

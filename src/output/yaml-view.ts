/** Documents shown as YAML; `--json` shows the same keys as JSON. */

import { escapeUnseen } from "../domain/visible.ts";
import { textView, type View } from "./view.ts";

/** A view that shows a document as YAML. `document` makes it of the data: a JSON value. */
export function yamlView<Data>(document: (data: Data) => unknown): View<Data> {
  return textView((data) => escapeUnseen(Bun.YAML.stringify(document(data), null, 2)), document);
}

/** Documents shown as YAML; `--json` shows the same keys as JSON. */

import { jsonLine } from "./json.ts";
import { textView, type View } from "./view.ts";

/** A view that shows a document as YAML, with values as JSON has them. */
export function yamlView<Data>(document: (data: Data) => unknown): View<Data> {
  return textView((data) => Bun.YAML.stringify(JSON.parse(jsonLine(document(data))), null, 2), document);
}

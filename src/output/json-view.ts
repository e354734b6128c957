/** The view of commands whose output is JSON always. */

import type { Message } from "@bufbuild/protobuf";
import { jsonDocument } from "./json.ts";
import { textView } from "./view.ts";

/** A document as JSON, with `--json` and without. */
export const jsonView = textView(jsonDocument, (document: unknown) => document, { long: true });

/** The JSON document of an answer. */
export async function answerDocument(answer: Message): Promise<unknown> {
  const { messageJson } = await import("../contract/message-json.ts");
  return messageJson(answer);
}

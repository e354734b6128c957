/** The view of what was done to a connection. */

import type { OfflineConnection } from "../../../../gen/svc/v1/offline_store_pb.ts";
import { messageJson } from "../../../contract/message-json.ts";
import { escapeControls } from "../../../domain/name.ts";
import { textView, type View } from "../../../output/view.ts";

/**
 * One line; `sentence` is given the connection's name with its id. The JSON is the connection.
 */
export function connectionLine<A>(
  sentence: (name: string, answer: A) => string,
  connectionOf: (answer: A) => OfflineConnection | undefined,
): View<A> {
  return textView(
    (answer: A) => {
      const { id = "", name = "" } = connectionOf(answer) ?? {};
      return sentence(`${escapeControls(name)} (${id})`, answer);
    },
    (answer) => {
      const connection = connectionOf(answer);
      return connection ? messageJson(connection) : null;
    },
  );
}

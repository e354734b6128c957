/** Views of secrets: their names and values are in an answer, and shown by these views alone. */

import type { ListSecretsResponse, RevealSecretsResponse, Secret } from "../../../gen/svc/v1/secret_pb.ts";
import { messageJson } from "../../contract/message-json.ts";
import { escapeControls } from "../../domain/name.ts";
import type { FieldViews } from "../../output/message-view.ts";
import { textView, type View } from "../../output/view.ts";

/** Lists of secrets, masked or revealed. */
export type Secrets = ListSecretsResponse | RevealSecretsResponse;

/** The fields of a secret. A value that cannot be opened is said to be so. */
export const SECRET_FIELDS: FieldViews<Secret> = {
  name: { header: "Name", json: ({ name }) => name },
  value: {
    header: "Value",
    cell: ({ value, problem }) => (problem === "" ? value : "(cannot be opened)"),
    json: ({ value, problem }) => (problem === "" ? value : null),
  },
  integration: { header: "Integration", json: null },
  updatedAt: { header: "Updated" },
};

/** One line for each secret that was changed, without its value. */
export function changedView<A extends { readonly secrets: readonly Secret[] }>(verb: string): View<A> {
  return textView(
    ({ secrets }: A) => secrets.map(({ name }) => `${verb} ${escapeControls(name)}.`).join("\n"),
    ({ secrets }) => ({ secrets: secrets.map((secret) => messageJson(secret, { name: ({ name }) => name, integration: null })) }),
  );
}

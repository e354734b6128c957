/** The view of an integration that was created or changed. */

import type { ApplyIntegrationResponse } from "../../../gen/svc/v1/integration_pb.ts";
import { messageJson } from "../../contract/message-json.ts";
import { escapeControls } from "../../domain/name.ts";
import { textView } from "../../output/view.ts";

/** One line that says what was done, with name, kind and id. */
export const APPLIED = textView(
  ({ created, integration }: ApplyIntegrationResponse) =>
    `${created ? "Created" : "Updated"} the integration ${escapeControls(integration?.name ?? "")} (${integration?.kind}, ${integration?.id}).`,
  ({ created, integration }) => ({
    created,
    ...(integration && messageJson(integration, { environmentVariables: false, secrets: (one) => one.secrets })),
  }),
);

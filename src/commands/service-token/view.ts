/** How service tokens are shown. */

import type { ServiceToken } from "../../../gen/svc/v1/service_token_pb.ts";
import type { FieldViews } from "../../output/message-view.ts";

/** The fields of a service token that people see. */
export const SERVICE_TOKEN_FIELDS: FieldViews<ServiceToken> = {
  id: "ID",
  name: "Name",
  clientId: "Client ID",
  permissions: "Permissions",
  createdAt: "Created",
};

/** The same with its limits. */
export const SERVICE_TOKEN_DETAILS: FieldViews<ServiceToken> = {
  ...SERVICE_TOKEN_FIELDS,
  environmentIds: { header: "Environments", cell: ({ environmentIds }) => environmentIds.join(", ") || "all" },
  expiresAt: "Expires",
};

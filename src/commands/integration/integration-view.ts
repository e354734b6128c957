/** Views of integrations, whose variables are in an answer and shown by these views alone. */

import type { Integration } from "../../../gen/svc/v1/integration_pb.ts";
import type { FieldViews } from "../../output/message-view.ts";

const opened = ({ environmentVariables, problem }: Integration) => (problem === "" ? environmentVariables : null);

/** The fields of an integration; `variables` is the text of their cell. */
export const integrationFields = (variables: (integration: Integration) => string): FieldViews<Integration> => ({
  id: {},
  name: "Name",
  kind: "Kind",
  environmentVariables: { json: opened },
  secrets: { header: "Secrets", cell: variables, json: ({ secrets }) => secrets },
  updatedAt: "Updated",
});

/** The names that resolvers read. */
export const names = ({ secrets }: Integration): string => secrets.join(", ");

/** The variables with their values. */
export const values = ({ environmentVariables, problem }: Integration): string =>
  problem === ""
    ? Object.entries(environmentVariables)
        .map(([name, value]) => `${name}=${value}`)
        .join(", ")
    : "(cannot be opened)";

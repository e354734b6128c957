/** The kinds of cloud accounts. */

import { setting } from "./kind-settings.ts";

const KEYS = [
  setting("region", "region", "region", "required"),
  setting("access_key_id", "access key id", "identifier", "required"),
  setting("secret_access_key", "secret access key", "text", "required", "secret"),
  setting("session_token", "session token of temporary keys", "text", "secret"),
];

/** The settings of the kinds of cloud accounts. */
export const CLOUD_ACCOUNT_KINDS = {
  aws: [...KEYS, setting("endpoint", "address in place of AWS's own, for all its services", "url")],
  gcp: [
    setting("service_account", "key of a service account, as JSON", "service-account", "required", "secret"),
    setting("endpoint", "address in place of Google's own, for all its services", "url"),
  ],
} as const;

/** A kind of cloud account. */
export type CloudAccountKind = keyof typeof CLOUD_ACCOUNT_KINDS;

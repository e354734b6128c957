/**
 * The sections of the settings: their names in the address, and the commands that print the same.
 */

import type { ComponentType } from "preact";

/** A section. */
export interface Section {
  readonly title: string;
  /** Words of the command that lists the same. */
  readonly words: readonly string[];
  readonly load: () => Promise<{ readonly default: ComponentType }>;
}

/** The sections by name, in their order. */
export const SECTIONS: Readonly<Record<string, Section>> = {
  environments: { title: "Environments", words: ["environment", "list"], load: () => import("./environments.tsx") },
  secrets: { title: "Secrets", words: ["secret", "list"], load: () => import("./secrets.tsx") },
  integrations: { title: "Integrations", words: ["integration", "list"], load: () => import("./integrations.tsx") },
  webhooks: { title: "Webhooks", words: ["webhook", "list"], load: () => import("./webhooks.tsx") },
  "service-tokens": { title: "Service tokens", words: ["service-token", "list"], load: () => import("./service-tokens.tsx") },
  clients: { title: "Team", words: ["logout", "--list"], load: () => import("./clients.tsx") },
  sessions: { title: "Browser sessions", words: ["logout", "--list"], load: () => import("./sessions.tsx") },
  permissions: { title: "Permissions", words: ["permissions", "list"], load: () => import("./permissions.tsx") },
  kept: { title: "What is kept", words: ["infra", "describe", "metrics"], load: () => import("./kept.tsx") },
  connections: { title: "Connections", words: ["offline-store", "connection", "list"], load: () => import("./connections.tsx") },
  export: { title: "Export", words: ["infra", "describe", "telemetry"], load: () => import("./export.tsx") },
  version: { title: "Version", words: ["version", "--server"], load: () => import("./version.tsx") },
};

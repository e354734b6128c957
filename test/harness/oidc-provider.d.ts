/** The part of `oidc-provider`, which has no types of its own, that tests use. */
declare module "oidc-provider" {
  import type { IncomingMessage, ServerResponse } from "node:http";

  /** An identity provider. */
  export default class Provider {
    constructor(issuer: string, configuration: Readonly<Record<string, unknown>>);
    callback(): (request: IncomingMessage, response: ServerResponse) => void;
    interactionDetails(request: IncomingMessage, response: ServerResponse): Promise<{ readonly uid: string }>;
    interactionFinished(request: IncomingMessage, response: ServerResponse, result: Readonly<Record<string, unknown>>): Promise<void>;
    readonly Grant: new (of: {
      readonly clientId: string;
      readonly accountId: string;
    }) => Grant;
  }

  /** What a person granted to a client. */
  export interface Grant {
    addOIDCScope(scope: string): void;
    save(): Promise<string>;
  }
}

declare module "oidc-provider/lib/adapters/memory_adapter.js" {
  /** Records in memory. */
  export default class MemoryAdapter {
    constructor(model: string);
    readonly model: string;
    find(id: string): Promise<Readonly<Record<string, unknown>> | undefined>;
  }
}

/**
 * A real identity provider, the certified library `oidc-provider`, in its own process:
 * `bun identity-provider-process.ts`. Prints its issuer as a line; each line of its stdin is the
 * directory as it is from then on, as JSON, and is answered by a line.
 */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import Provider from "oidc-provider";
import MemoryAdapter from "oidc-provider/lib/adapters/memory_adapter.js";
import type { Directory } from "./identity-provider.ts";

let directory: Directory = { clients: [], persons: {} };

/** Keeps all but clients, which are those of the directory. */
class Adapter extends MemoryAdapter {
  override async find(id: string): Promise<Readonly<Record<string, unknown>> | undefined> {
    if (this.model !== "Client") return super.find(id);
    const client = directory.clients.find(({ clientId }) => clientId === id);
    return client && describe(client);
  }
}

function describe({ clientId, clientSecret, redirectUris }: Directory["clients"][number]): Readonly<Record<string, unknown>> {
  const secret = clientSecret === undefined ? { token_endpoint_auth_method: "none" } : { client_secret: clientSecret };
  return { client_id: clientId, redirect_uris: redirectUris, ...secret };
}

const server = createServer((request, response) => {
  serve(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)));
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const provider = new Provider(issuer, {
  adapter: Adapter,
  claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name", "groups"] },
  features: { devInteractions: { enabled: false } },
  interactions: { url: (_: unknown, { uid }: { readonly uid: string }) => `/interaction/${uid}` },
  pkce: { required: () => true },
  findAccount: (_: unknown, sub: string) => ({ accountId: sub, claims: () => ({ sub, ...directory.persons[sub] }) }),
  async loadExistingGrant({ oidc }: Asking) {
    const grant = new provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId });
    grant.addOIDCScope("openid email profile");
    await grant.save();
    return grant;
  },
  cookies: { keys: [crypto.randomUUID()] },
  ttl: { AccessToken: 600, AuthorizationCode: 60, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
});
const answer = provider.callback();

/** What the provider knows of who asks. */
interface Asking {
  readonly oidc: { readonly client: { readonly clientId: string }; readonly session: { readonly accountId: string } };
}

/** Serves the login form, and the provider's own pages. */
async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (!request.url?.startsWith("/interaction/")) return answer(request, response);
  await provider.interactionDetails(request, response);
  if (request.method !== "POST") {
    const form = `<form method="post"><label>Name <input name="login"></label><button>Sign in</button><button name="deny" value="1">Deny</button></form>`;
    response.writeHead(200, { "content-type": "text/html" }).end(`<!doctype html><title>Identity provider</title>${form}`);
    return;
  }
  const fields = new URLSearchParams(await new Response(request as unknown as BodyInit).text());
  const denied = { error: "access_denied", error_description: "The person said no" };
  const result = fields.has("deny") ? denied : { login: { accountId: fields.get("login") } };
  await provider.interactionFinished(request, response, result);
}

console.log(issuer);
for await (const line of console) {
  directory = JSON.parse(line) as Directory;
  console.log("taken");
}

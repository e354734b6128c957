/**
 * A fake of an identity provider, for the answers that no real one gives. It checks nothing, and
 * says what a test tells it to.
 */

import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose";

/** What the fake answers with; each in place of what a provider would. */
export interface FakeAnswers {
  discovery?: (told: Record<string, unknown>) => Response | Promise<Response>;
  keys?: () => Response;
  token?: (idToken: string) => Response;
  userinfo?: () => Response;
  /** The claims of the ID token, from those that are right. */
  claims?: (right: JWTPayload) => JWTPayload;
  /** The ID token of some claims. */
  sign?: (claims: JWTPayload) => Promise<string>;
}

/** A running fake. */
export class FakeProvider implements Disposable {
  answers: FakeAnswers = {};
  /** Nonce of the login that is under way. */
  nonce = "";
  /** How the client proved its secret, and the body, of the last request for tokens. */
  exchange: { readonly authorization: string | null; readonly body: URLSearchParams } | undefined;
  /** Number of requests by path. */
  readonly asked = new Map<string, number>();
  private constructor(
    private readonly server: Bun.Server<undefined>,
    readonly issuer: string,
  ) {}

  /** Starts one whose answers are right, for a client. */
  static async start(clientId: string): Promise<FakeProvider> {
    const { publicKey, privateKey } = await generateKeyPair("ES256");
    const jwk = { ...(await exportJWK(publicKey)), kid: "one", alg: "ES256", use: "sig" };
    const routes: Record<string, (fake: FakeProvider) => Promise<Response> | Response> = {
      "/.well-known/openid-configuration": ({ issuer, answers }) => {
        const told = {
          issuer,
          authorization_endpoint: `${issuer}/auth`,
          token_endpoint: `${issuer}/token`,
          userinfo_endpoint: `${issuer}/userinfo`,
          jwks_uri: `${issuer}/jwks`,
        };
        return answers.discovery?.(told) ?? Response.json(told);
      },
      "/jwks": ({ answers }) => answers.keys?.() ?? Response.json({ keys: [jwk] }),
      "/userinfo": ({ answers }) => answers.userinfo?.() ?? Response.json({ sub: "dora" }),
      "/token": async ({ answers, issuer, nonce }) => {
        const now = Math.floor(Date.now() / 1000);
        const right = {
          iss: issuer,
          aud: clientId,
          sub: "dora",
          nonce,
          iat: now,
          exp: now + 300,
          email: "dora@example.com",
          groups: ["platform"],
        };
        const claims = answers.claims?.(right) ?? right;
        const sign = (given: JWTPayload) => new SignJWT(given).setProtectedHeader({ alg: "ES256", kid: "one" }).sign(privateKey);
        const idToken = await (answers.sign ?? sign)(claims);
        return answers.token?.(idToken) ?? Response.json({ id_token: idToken, access_token: "opaque", token_type: "Bearer" });
      },
    };
    const server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      async fetch(request) {
        const { pathname } = new URL(request.url);
        fake.asked.set(pathname, (fake.asked.get(pathname) ?? 0) + 1);
        if (pathname === "/token")
          fake.exchange = { authorization: request.headers.get("authorization"), body: new URLSearchParams(await request.text()) };
        return routes[pathname]?.(fake) ?? new Response("no such page", { status: 404 });
      },
    });
    const fake = new FakeProvider(server, `http://127.0.0.1:${server.port}`);
    return fake;
  }

  [Symbol.dispose](): void {
    this.server.stop(true);
  }
}

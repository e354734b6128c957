/** Two nodes behind one name: a login begins at one and is finished by the other. */

import { expect, test } from "bun:test";
import { AuthService } from "../../../../gen/svc/v1/auth_pb.ts";
import { decideLogin, redeem } from "../../../harness/browser-session.ts";
import { IdentityProvider, Visitor } from "../../../harness/identity-provider.ts";
import { Cluster } from "../../nodes/two-nodes.ts";

const NAME = "svc.example.com";

test("any node finishes a login, and every node knows at once what a person lost", async () => {
  using provider = await IdentityProvider.start();
  const know = (groups: readonly string[]) =>
    provider.know({
      clients: [{ clientId: "svc", redirectUris: [`https://${NAME}/login/oidc/callback`] }],
      persons: { bob: { email: "bob@example.com", groups } },
    });
  await know(["platform"]);
  await using cluster = new Cluster();
  const file = { login: { oidc: { issuer: provider.issuer, client_id: "svc", everyone: "viewer", roles: { platform: "admin" } } } };
  const options = { file, allowedHosts: [`${NAME}:443`] };
  const [one, two] = [await cluster.start("one", options), await cluster.start("two", options)];
  const behind = { host: NAME, "x-forwarded-proto": "https" };

  /** Begins at one node and comes back to the other, which opens the session. */
  const logIn = async () => {
    const visitor = new Visitor();
    const sent = await visitor.go(`${one.url}/login/oidc?to=/`, { headers: behind });
    const [cookie = ""] = sent.headers.getSetCookie().map((line) => line.split(";")[0] ?? "");
    expect(cookie).toStartWith("__Host-svc_login_");
    const back = await visitor.signIn(sent.headers.get("location") ?? "", "bob");
    expect(back.origin).toBe(`https://${NAME}`);
    const response = await fetch(`${two.url}${back.pathname}${back.search}`, { redirect: "manual", headers: { ...behind, cookie } });
    const code = new URLSearchParams(response.headers.get("location")?.split("#")[1]).get("code");
    return redeem(two.url, code ?? "");
  };

  const session = await logIn();
  const login = await two.client(AuthService, { token: null }).createLoginSession({ deviceName: "laptop" });
  const confirmed = await decideLogin(login.url, session, "all");
  expect(await confirmed.text()).toContain("Logged in");
  const { loginSessionId, sessionSecret } = login;
  const given = await one.client(AuthService, { token: null }).getLoginSession({ loginSessionId, sessionSecret });
  const { access_token: token } = (await (await one.exchange(given.clientId, given.clientSecret)).json()) as { access_token: string };
  const seen = async () => {
    const both = await Promise.all([one, two].map((node) => node.client(AuthService, { token }).listClients({})));
    return both.map(({ clients }) => clients.find(({ current }) => current)?.permissions);
  };
  expect(await seen()).toEqual([["admin"], ["admin"]]);
  await know([]);
  await logIn();
  expect(await seen()).toEqual([["read"], ["read"]]);
});

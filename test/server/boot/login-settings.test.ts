import { describe, expect, test } from "bun:test";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readLoginSettings } from "../../../src/server/boot/login-settings.ts";
import { readServerFile } from "../../../src/server/boot/server-file.ts";
import { StartError } from "../../../src/server/failure.ts";
import { TempFolder } from "../../harness/running-server.ts";

function read(login: unknown, env: Record<string, string> = {}) {
  using folder = new TempFolder();
  const path = join(folder.path, "server.yaml");
  writeFileSync(path, JSON.stringify({ login }));
  return readLoginSettings(readServerFile(path), env);
}

const MINIMAL = { issuer: "https://login.example.com/tenant/", client_id: "svc", everyone: "viewer" };

test("what is left out has its default", () => {
  expect(read({})).toBeUndefined();
  expect(read({ oidc: MINIMAL })).toEqual({
    issuer: "https://login.example.com/tenant/",
    clientId: "svc",
    clientSecret: undefined,
    scopes: ["openid", "profile", "email"],
    groupsClaim: "groups",
    roles: [{ group: undefined, role: "viewer", environments: undefined }],
    lifetimeMs: 43_200_000,
  });
});

test("everything can be said", () => {
  const oidc = {
    ...MINIMAL,
    issuer: "http://127.0.0.1:8081",
    scopes: ["openid", "groups"],
    groups_claim: "https://example.com/groups",
    session_lifetime: "1h30m",
    roles: { platform: "admin", "cn=ds,dc=example": { role: "developer", environments: ["staging"] } },
  };
  expect(read({ oidc }, { SVC_OIDC_CLIENT_SECRET: "s" })).toMatchObject({
    issuer: "http://127.0.0.1:8081",
    clientSecret: "s",
    scopes: ["openid", "groups"],
    groupsClaim: "https://example.com/groups",
    lifetimeMs: 5_400_000,
    roles: [
      { group: "platform", role: "admin", environments: undefined },
      { group: "cn=ds,dc=example", role: "developer", environments: ["staging"] },
      { group: undefined, role: "viewer" },
    ],
  });
});

test("the README's example is understood, but for the file that is not there", () => {
  const readme = readFileSync(join(import.meta.dir, "../../../README.md"), "utf8");
  const [, example = ""] = /```yaml not run: needs an identity provider\n([^`]*)```/.exec(readme) ?? [];
  const { login } = Bun.YAML.parse(example) as { login: { oidc: Record<string, unknown> } };
  expect(() => read(login)).toThrow("does not exist");
  expect(read({ oidc: { ...login.oidc, client_secret_file: undefined } })?.roles).toEqual([
    { group: "platform-team", role: "admin", environments: undefined },
    { group: "data-science", role: "developer", environments: ["staging"] },
    { group: undefined, role: "viewer", environments: undefined },
  ]);
});

describe("what is not understood is refused", () => {
  const CASES: Readonly<Record<string, [unknown, string]>> = {
    "another way to log in": [{ saml: {} }, "login has the key 'saml'"],
    "a provider that is a name": [{ oidc: "google" }, "login.oidc is not a mapping"],
    "an unknown key": [{ oidc: { ...MINIMAL, client_secret: "never-shown" } }, "login.oidc has the key 'client_secret'"],
    "no issuer": [{ oidc: { ...MINIMAL, issuer: undefined } }, "login.oidc.issuer is not text"],
    "an issuer that is not encrypted": [{ oidc: { ...MINIMAL, issuer: "http://login.example.com" } }, "no address of a provider"],
    "an issuer with a password": [{ oidc: { ...MINIMAL, issuer: "https://a:never-shown@login.example.com" } }, "no address of a provider"],
    "an issuer with a query": [{ oidc: { ...MINIMAL, issuer: "https://login.example.com/?x" } }, "no address of a provider"],
    "no client": [{ oidc: { ...MINIMAL, client_id: "" } }, "login.oidc.client_id is not text"],
    "nobody's role": [{ oidc: { ...MINIMAL, everyone: undefined } }, "gives nobody a role"],
    "an unknown role": [{ oidc: { ...MINIMAL, roles: { a: "amdin" } } }, "login.oidc.roles.a names the role 'amdin'"],
    "a role without a name": [{ oidc: { ...MINIMAL, roles: { a: { environments: ["x"] } } } }, "login.oidc.roles.a, the role, is not text"],
    "no environments": [{ oidc: { ...MINIMAL, everyone: { role: "viewer", environments: [] } } }, "everyone.environments is not a list"],
    "scopes without openid": [{ oidc: { ...MINIMAL, scopes: ["email"] } }, "lacks 'openid'"],
    "scopes that are two in one": [{ oidc: { ...MINIMAL, scopes: ["openid email"] } }, "a scope that is none"],
    "a lifetime without a unit": [{ oidc: { ...MINIMAL, session_lifetime: 12 } }, "session_lifetime is not"],
    "a lifetime without an end": [{ oidc: { ...MINIMAL, session_lifetime: "infinity" } }, "session_lifetime is not"],
    "a secret's file that is not there": [{ oidc: { ...MINIMAL, client_secret_file: "/nowhere/secret" } }, "does not exist"],
    "a secret's file of some folder": [{ oidc: { ...MINIMAL, client_secret_file: "secret" } }, "is not an absolute path"],
    "a secret that is a device": [{ oidc: { ...MINIMAL, client_secret_file: "/dev/zero" } }, "cannot be read"],
  };
  test.each(Object.entries(CASES))("%s", (_, [login, message]) => {
    let error: unknown;
    try {
      read(login);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(StartError);
    expect(error).toMatchObject({ code: "setting_invalid", message: expect.stringContaining(message) });
    expect(JSON.stringify([String(error), (error as StartError).hint])).not.toContain("never-shown");
  });
});

describe("the client secret's file", () => {
  const withFile = (content: string, mode: number, env: Record<string, string> = {}) => {
    using folder = new TempFolder();
    const path = join(folder.path, "secret");
    writeFileSync(path, content);
    chmodSync(path, mode);
    return read({ oidc: { ...MINIMAL, client_secret_file: path } }, env)?.clientSecret;
  };

  test("has one secret, which others may not read", () => {
    expect(withFile("s3cret\n", 0o640)).toBe("s3cret");
    expect(() => withFile("s3cret", 0o644)).toThrow("can be read by everybody");
    expect(() => withFile("two\nlines", 0o600)).toThrow("does not have one secret alone");
    expect(() => withFile("\n", 0o600)).toThrow("does not have one secret alone");
    expect(() => withFile("x".repeat(5000), 0o600)).toThrow("cannot be read");
  });

  test("and the variable exclude each other", () => {
    expect(() => withFile("s3cret", 0o600, { SVC_OIDC_CLIENT_SECRET: "other" })).toThrow("are set");
  });
});

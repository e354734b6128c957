import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createSettings as createSettingsOf, describeSource, type SettingFlags } from "../../src/config/resolve.ts";
import { CliError } from "../../src/errors/cli-error.ts";

const createSettings = (
  flags: SettingFlags,
  surroundings: { readonly env: Record<string, string | undefined>; readonly homeDir: string },
  ...more: [projectRoot: string | undefined, warn?: (text: string) => void]
) => createSettingsOf(flags, { ...surroundings, platform: "linux" }, ...more);

const root = mkdtempSync(join(tmpdir(), "svc-settings-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let made = 0;
function home(files: Record<string, string> = {}): string {
  const folder = join(root, `home${made++}`);
  mkdirSync(folder);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

const FILE = `
tokens:
  default: { clientId: id-default, clientSecret: secret-default, apiServer: "http://127.0.0.1:1111", activeEnvironment: staging }
  /p/one: { clientId: id-project, clientSecret: secret-project, apiServer: one.example.com, activeEnvironment: env_project }
  /p/two: { activeEnvironment: env_two }
`;

describe("a profile", () => {
  const env = { SVC_CLIENT_ID: "id-env", SVC_API_SERVER: "https://env.example.com", SVC_PROFILE: "two" };
  const files = { ".config/svc.yml": `${FILE}  two: { clientId: id-two, activeEnvironment: env_second }\n` };
  const read = async (flags: SettingFlags, variables: Record<string, string> = {}) => {
    const { clientId, clientSecret, apiServer, environment, configKey } = await createSettings(
      flags,
      { env: variables, homeDir: home(files) },
      "/p/one",
    );
    return [clientId.value, clientSecret.value, apiServer.value, environment.value, configKey];
  };
  test("that a flag names is all that counts beside other flags", async () => {
    expect(await read({ profile: "two" }, env)).toEqual(["id-two", undefined, "http://127.0.0.1:5757", "env_second", "two"]);
    expect(await read({ profile: "two", environment: "x" }, env)).toEqual(["id-two", undefined, "http://127.0.0.1:5757", "x", "two"]);
    expect(await read({ profile: "default" })).toEqual(["id-default", "secret-default", "http://127.0.0.1:1111", "staging", "default"]);
  });

  test("that a variable names stands behind the other variables", async () => {
    expect(await read({}, env)).toEqual(["id-env", undefined, "https://env.example.com", "env_second", "two"]);
  });

  test("that does not exist is a problem of who needs it; a name that cannot be one is refused", async () => {
    const folder = home(files);
    const { profile, configKey } = await createSettings({ profile: "tow" }, { env: {}, homeDir: folder }, undefined);
    expect([configKey, profile?.missing?.message]).toEqual([
      "tow",
      `there is no profile 'tow' in ${folder}/.config/svc.yml; did you mean 'two'?`,
    ]);
    for (const name of ["/p/one", "", "a b", "-x", "x".repeat(65)])
      expect(createSettings({ profile: name }, { env: {}, homeDir: folder }, undefined)).rejects.toThrow("no name of a profile");
  });
});

describe("precedence: flag, environment variable, project entry, default entry, built-in default", () => {
  const sources = ["flag", "env", "project", "default", "none"] as const;
  const fields = [
    { key: "clientId", flag: "clientId", env: "SVC_CLIENT_ID", inFile: ["id-project", "id-default"], name: "--client-id" },
    {
      key: "clientSecret",
      flag: "clientSecret",
      env: "SVC_CLIENT_SECRET",
      inFile: ["secret-project", "secret-default"],
      name: "--client-secret",
    },
    { key: "environment", flag: "environment", env: "SVC_ENVIRONMENT", inFile: ["env_project", "staging"], name: "--environment" },
    {
      key: "apiServer",
      flag: "apiHost",
      env: "SVC_API_SERVER",
      inFile: ["https://one.example.com", "http://127.0.0.1:1111"],
      name: "--api-host",
      built: "http://127.0.0.1:5757",
    },
  ] as const;
  for (const field of fields) {
    for (const [rank, source] of sources.entries()) {
      test(`${field.key} from ${source}`, async () => {
        const has = (at: number) => rank <= at;
        const folder = home(has(3) ? { ".config/svc.yml": FILE } : {});
        const flags: SettingFlags = has(0) ? { [field.flag]: "http://flag.example.com" } : {};
        const env = has(1) ? { [field.env]: "http://env.example.com" } : {};
        const settings = await createSettings(flags, { env, homeDir: folder }, has(2) ? "/p/one" : "/p/unknown");
        const path = join(folder, ".config/svc.yml");
        const expected = {
          flag: { value: "http://flag.example.com", source: { kind: "flag", name: field.name } },
          env: { value: "http://env.example.com", source: { kind: "env", name: field.env } },
          project: { value: field.inFile[0], source: { kind: "file", path } },
          default: { value: field.inFile[1], source: { kind: "file", path } },
          none: "built" in field ? { value: field.built, source: { kind: "default" } } : { value: undefined, source: { kind: "empty" } },
        } as const;
        expect(settings[field.key]).toEqual(expected[source] as never);
      });
    }
  }

  test("the id of an environment that was chosen outside is not meant in a project's folder", async () => {
    const folder = home({ ".config/svc.yml": FILE.replace("staging", "env_default") });
    const chosen = async (root?: string) => (await createSettings({}, { env: {}, homeDir: folder }, root)).environment.value;
    expect([await chosen(), await chosen("/p/unknown"), await chosen("/p/one")]).toEqual(["env_default", undefined, "env_project"]);
  });

  test("an entry that lacks a value leaves it to the default entry", async () => {
    const folder = home({ ".config/svc.yml": FILE });
    const settings = await createSettings({}, { env: {}, homeDir: folder }, "/p/two");
    expect([settings.clientId.value, settings.environment.value, settings.configKey]).toEqual(["id-default", "env_two", "/p/two"]);
  });

  test("an empty environment variable counts as not set", async () => {
    const settings = await createSettings({}, { env: { SVC_CLIENT_ID: "", SVC_API_SERVER: "" }, homeDir: home() }, undefined);
    expect([settings.clientId.source.kind, settings.apiServer.source.kind]).toEqual(["empty", "default"]);
  });

  test("an access token alone is enough; a client ID without a secret is not", async () => {
    const homeDir = home();
    expect((await createSettings({}, { env: { SVC_ACCESS_TOKEN: "t" }, homeDir }, undefined)).hasCredentials).toBe(true);
    expect((await createSettings({ clientId: "x" }, { env: {}, homeDir }, undefined)).hasCredentials).toBe(false);
  });
});

describe("the gRPC server", () => {
  test("is the API server unless it is named", async () => {
    const settings = await createSettings({ apiHost: "https://a.example.com" }, { env: {}, homeDir: home() }, undefined);
    expect(settings.grpcServer).toEqual({ value: "https://a.example.com", source: { kind: "default" } });
  });
  test("of the file does not outlive another API server from a flag", async () => {
    const text = `tokens: { default: { clientId: a, clientSecret: b, apiServer: "http://a.example.com", grpcServer: "http://grpc.a.example.com" } }`;
    const homeDir = home({ ".svc.yml": text });
    const kept = await createSettings({}, { env: {}, homeDir }, undefined);
    const dropped = await createSettings({ apiHost: "b.example.com" }, { env: {}, homeDir }, undefined);
    const named = await createSettings({ apiHost: "b.example.com", grpcHost: "grpc.b.example.com" }, { env: {}, homeDir }, undefined);
    expect(kept.grpcServer.value).toBe("http://grpc.a.example.com");
    expect(dropped.grpcServer.value).toBe("https://b.example.com");
    expect(named.grpcServer.value).toBe("https://grpc.b.example.com");
  });
});

describe("addresses", () => {
  const cases: [given: string, full: string | undefined][] = [
    ["example.com", "https://example.com"],
    ["example.com:8443/base/", "https://example.com:8443/base"],
    ["http://example.com/", "http://example.com"],
    ["localhost:5757", "http://localhost:5757"],
    ["127.0.0.1", "http://127.0.0.1"],
    ["[::1]:5757", "http://[::1]:5757"],
    ["  https://example.com  ", "https://example.com"],
    ["ftp://example.com", undefined],
    ["https://user:pw@example.com", undefined],
    ["https://example.com?token=1", undefined],
    ["http://", undefined],
    ["exa mple.com", undefined],
  ];
  for (const [given, full] of cases) {
    test(`${given} -> ${full ?? "refused"}`, async () => {
      const settings = createSettings({ apiHost: given }, { env: {}, homeDir: home() }, undefined);
      if (full === undefined) await expect(settings).rejects.toMatchObject({ code: "bad_address" });
      else expect((await settings).apiServer.value).toBe(full);
    });
  }
});

describe("where the config file is", () => {
  const order = [".config/svc.yml", ".config/svc.yaml", ".svc.yml", ".svc.yaml", ".config.yml", ".config.yaml"];
  const entry = (name: string) => `tokens: { default: { clientId: "${name}", clientSecret: s } }`;
  for (const [index, first] of order.entries()) {
    test(`${first} is read before what comes after it`, async () => {
      const folder = home(Object.fromEntries(order.slice(index).map((name) => [name, entry(name)])));
      const settings = await createSettings({}, { env: {}, homeDir: folder }, undefined);
      expect(settings.clientId.value).toBe(first);
      expect(settings.configFile).toBe(join(folder, index < 4 ? first : ".config/svc.yml"));
    });
  }
  test("XDG_CONFIG_HOME replaces the home folder", async () => {
    const xdg = home({ ".svc.yml": entry("hidden") });
    const folder = home({ ".config/svc.yml": entry("home") });
    const surroundings = { env: { XDG_CONFIG_HOME: xdg }, homeDir: folder };
    expect((await createSettings({}, surroundings, undefined)).clientId.value).toBe("hidden");
    writeFileSync(join(xdg, "svc.yml"), entry("plain"));
    expect((await createSettings({}, surroundings, undefined)).clientId.value).toBe("plain");
    const empty = home();
    const settings = await createSettings({}, { env: { XDG_CONFIG_HOME: empty }, homeDir: folder }, undefined);
    expect([settings.clientId.source.kind, settings.configFile]).toEqual(["empty", join(empty, "svc.yml")]);
  });
  test("--auth-config wins, also when the file is still missing", async () => {
    const folder = home({ ".config/svc.yml": entry("home"), "other.yml": entry("other") });
    const surroundings = { env: { XDG_CONFIG_HOME: folder }, homeDir: folder };
    expect((await createSettings({ authConfig: join(folder, "other.yml") }, surroundings, undefined)).clientId.value).toBe("other");
    const missing = join(folder, "missing.yml");
    const settings = await createSettings({ authConfig: missing }, surroundings, undefined);
    expect([settings.clientId.source.kind, settings.configFile]).toEqual(["empty", missing]);
  });
});

describe("a config file that is wrong", () => {
  const cases: [text: string, said: RegExp][] = [
    ["tokens:\n  default: {clientId: a\n  x: [", /svc\.yml:3:3: /],
    ["tokens:\n\tdefault: 1", /svc\.yml:2:1: /],
    ["tokens: [1, 2]", /expected a map below `tokens`/],
    ["- a", /expected a map with the key `tokens`/],
    [`tokens: ${"[".repeat(100_000)}${"]".repeat(100_000)}`, /svc\.yml:1:\d+: it is nested too deeply/],
    ["tokens: { default: text }", /expected a map below `tokens`, `default`/],
  ];
  for (const [text, said] of cases) {
    test(JSON.stringify(text).slice(0, 60), async () => {
      const failed = createSettings({}, { env: {}, homeDir: home({ ".config/svc.yml": text }) }, undefined);
      await expect(failed).rejects.toBeInstanceOf(CliError);
      await expect(failed).rejects.toThrow(said);
    });
  }
  for (const text of ["", "# nothing\n", "tokens:\n", "tokens:\n  default:\n", "other: 1\n"]) {
    test(`${JSON.stringify(text)} holds no credentials and is no error`, async () => {
      const settings = await createSettings({}, { env: {}, homeDir: home({ ".config/svc.yml": text }) }, undefined);
      expect(settings.clientId.source.kind).toBe("empty");
    });
  }
  test("unquoted values stay the text that was written", async () => {
    const text = "tokens:\n  default:\n    clientId: 0123\n    clientSecret: 1e5\n    activeEnvironment: yes\n";
    const settings = await createSettings({}, { env: {}, homeDir: home({ ".config/svc.yml": text }) }, undefined);
    expect([settings.clientId.value, settings.clientSecret.value, settings.environment.value]).toEqual(["0123", "1e5", "yes"]);
  });
});

test("sources are said in words", () => {
  expect(
    [
      { kind: "flag", name: "--api-host" } as const,
      { kind: "env", name: "SVC_API_SERVER" } as const,
      { kind: "file", path: "/x/svc.yml" } as const,
      { kind: "service" } as const,
      { kind: "default" } as const,
    ].map(describeSource),
  ).toEqual(["flag --api-host", "environment variable SVC_API_SERVER", "/x/svc.yml", "the token exchange", "built-in default"]);
});

import { describe, expect, test } from "bun:test";
import { createProxies } from "../../src/client/proxy.ts";
import VECTORS from "../fixtures/proxies.json";

/** What the Python client's rules are tested with too. */
interface Vector {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly url: string;
  readonly proxy?: string | null;
  readonly error?: string;
}

describe("the rules for proxies", () => {
  test.each((VECTORS as Vector[]).map((vector) => [JSON.stringify(vector.env), vector.url, vector] as const))(
    "%s for %s",
    (_, url, { env, proxy, error }) => {
      const found = () => createProxies(env)(url);
      if (error === undefined) expect(found()?.shown ?? null).toBe(proxy ?? null);
      else expect(found).toThrow(error);
    },
  );

  test("a user and password go to the proxy, and into no message", () => {
    const found = createProxies({ https_proxy: "http://user:p%40ss@p:1" })("https://svc.example.com");
    expect(found?.url).toBe("http://user:p%40ss@p:1/");
    expect(found?.shown).not.toContain("user");
  });
});

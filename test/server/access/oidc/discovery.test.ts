/** The discovery of a provider that is down, slow, or says what it should not; a fake of one. */

import { describe, expect, test } from "bun:test";
import { createDiscovery } from "../../../../src/server/access/oidc/discovery.ts";
import { type FakeAnswers, FakeProvider } from "../../../harness/fake-provider.ts";
import { TestClock } from "../../../harness/running-server.ts";

const clock = new TestClock();

async function discoverAt(answers: FakeAnswers, callMs = 10_000): Promise<unknown> {
  using fake = await FakeProvider.start("svc");
  fake.answers = answers;
  return await createDiscovery({ issuer: fake.issuer, clock, callMs })().catch((error: unknown) => error);
}

describe("the provider is of no use", () => {
  const CASES: Readonly<Record<string, [FakeAnswers, string]>> = {
    "when it fails": [{ discovery: () => new Response("", { status: 500 }) }, "answered 500 when asked for its configuration"],
    "when it answers with a page": [{ discovery: () => new Response("<html>") }, "something else than its configuration"],
    "when it leads elsewhere": [{ discovery: () => Response.redirect("https://evil.example/") }, "a redirect"],
    "when its answer is too long": [{ discovery: (told) => Response.json({ ...told, x: "x".repeat(300_000) }) }, "more than 256 KiB"],
    "when it is another issuer": [{ discovery: (told) => Response.json({ ...told, issuer: "https://evil.example" }) }, "another issuer"],
    "without an endpoint": [{ discovery: ({ token_endpoint: _, ...others }) => Response.json(others) }, "no usable token_endpoint"],
    "with an endpoint that is not encrypted": [
      { discovery: (told) => Response.json({ ...told, jwks_uri: "http://login.example.com/jwks" }) },
      "no usable jwks_uri",
    ],
    "with an endpoint that is a script": [
      { discovery: (told) => Response.json({ ...told, authorization_endpoint: "javascript:alert(1)" }) },
      "no usable authorization_endpoint",
    ],
  };
  test.each(Object.entries(CASES))("%s", async (_, [answers, reason]) => {
    expect(await discoverAt(answers)).toMatchObject({ kind: "unavailable", message: expect.stringContaining(reason) });
  });

  test("when it never answers", async () => {
    const { promise, resolve } = Promise.withResolvers<Response>();
    const failed = await discoverAt({ discovery: () => promise }, 100);
    expect(failed).toMatchObject({ kind: "unavailable", message: expect.stringContaining("did not answer within 0.1 s") });
    resolve(new Response(""));
  });

  test("when it is down", async () => {
    const failed = await createDiscovery({ issuer: "http://127.0.0.1:1", clock, callMs: 10_000 })().catch((error: unknown) => error);
    expect(failed).toMatchObject({
      kind: "unavailable",
      message: expect.stringMatching(/127\.0\.0\.1:1 cannot be reached: \w+\.$/),
    });
  });
});

test("keys that cannot be had are the provider's failure", async () => {
  for (const [keys, reason] of [
    [() => new Response("", { status: 500 }), "answered 500 when asked for its keys"],
    [() => new Response("x".repeat(300_000)), "more than 256 KiB"],
    [() => Response.redirect("https://evil.example/"), "a redirect"],
  ] as const) {
    using fake = await FakeProvider.start("svc");
    fake.answers = { keys };
    const metadata = await createDiscovery({ issuer: fake.issuer, clock, callMs: 10_000 })();
    const failed = await Promise.resolve(metadata.keys({ alg: "ES256", kid: "one" }, { payload: "", signature: "" })).catch(
      (error: unknown) => error,
    );
    expect(failed).toMatchObject({ kind: "unavailable", message: expect.stringContaining(reason) });
  }
});

test("many who ask at once ask once; a failure is remembered for seconds, the rest for an hour", async () => {
  using fake = await FakeProvider.start("svc");
  const own = new TestClock();
  const discover = createDiscovery({ issuer: fake.issuer, clock: own, callMs: 10_000 });
  const asked = () => fake.asked.get("/.well-known/openid-configuration");
  fake.answers = { discovery: () => new Response("", { status: 500 }) };
  const outcomes = await Promise.allSettled(Array.from({ length: 20 }, discover));
  expect([outcomes.every(({ status }) => status === "rejected"), asked()]).toEqual([true, 1]);
  fake.answers = {};
  await expect(discover()).rejects.toThrow("answered 500");
  own.advance(5_001);
  await discover();
  own.advance(3_500_000);
  expect([(await discover()).statesIssuer, asked()]).toEqual([false, 2]);
  own.advance(200_000);
  await discover();
  expect(asked()).toBe(3);
});

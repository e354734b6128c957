/** Deployments and their traffic with the compiled binary, also over the death of its server. */

import { afterEach, beforeEach, expect, test } from "bun:test";
import { join } from "node:path";
import { Sandbox } from "../harness/sandbox.ts";

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = new Sandbox();
});
afterEach(() => sandbox[Symbol.asyncDispose]());

const features = (word: string) => `import svc.functions as F
from svc import _
from svc.features import feature, features


@features
class User:
    id: int
    name: str
    word: str = feature(expression=F.concat("${word} ", _.name))
`;

test("blue and green are deployed, promoted and taken back; what was set outlives the server; a branch and a deployment are deleted", async () => {
  const cwd = await sandbox.write({ "svc.yaml": "project: colors\nenvironments:\n  default: {}\n", "features.py": features("one") });
  const svc = (...words: string[]) => sandbox.svc(words, { cwd });
  const apply = async (word: string, ...words: string[]): Promise<string> => {
    await Bun.write(join(cwd, "features.py"), features(word));
    return (await sandbox.json<{ deployment_id: string }>(["apply", "--yes", "--await", ...words], { cwd })).deployment_id;
  };
  const asked = async (): Promise<unknown> =>
    (await sandbox.json<{ data: { value: unknown }[] }>(["query", "--in=user.name=ada", "--in=user.id=1", "--out=user.word"], { cwd }))
      .data[0]?.value;
  await sandbox.startServer();
  await apply("one", "--blue-green");
  const green = await apply("two", "--blue-green", "--metadata=commit=abc123", "--description=the second");
  expect(await asked()).toBe("one ada");
  expect((await svc("traffic", "promote")).stdout).toContain(`- deployment_id: ${green}\n    tag: green\n    weight: 100\n`);
  expect(await asked()).toBe("two ada");
  expect((await svc("deployments", "list")).stdout).toMatch(new RegExp(`${green} +live +green +.* +abc123 the second`));

  await sandbox.killServer();
  await sandbox.startServer();
  expect(await asked()).toBe("two ada");
  expect((await svc("traffic", "promote")).exitCode).toBe(0);
  expect(await asked()).toBe("one ada");

  await apply("side", "--branch=side");
  expect((await svc("branch", "delete", "side", "--yes")).stdout).toBe("Deleted:     side\nDeployments: 1\n");
  expect((await svc("deployment", "delete", "green", "--yes")).stderr).toContain("has traffic (green=0)");
  expect((await svc("traffic", "suspend", "--deployment-tag=green")).exitCode).toBe(0);
  expect((await svc("deployment", "delete", "green", "--yes")).stdout).toBe(`Deleted: ${green}\n`);
  expect(await asked()).toBe("one ada");
}, 300_000);

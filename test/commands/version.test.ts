import { expect, test } from "bun:test";
import { runCommand } from "./platform.ts";

test("version --check where nobody has said where releases come from: unknown, and no server is asked", async () => {
  const env = { SVC_API_SERVER: "http://127.0.0.1:9" };
  const text = await runCommand("version", ["--check"], { env });
  expect([text.exitCode, text.stdout.split("\n")[4]]).toEqual([0, "Latest: unknown (this build was not told where releases come from)"]);
  expect((await runCommand("version", ["--check", "--json"], { env })).json()).toMatchObject({ latest: null, up_to_date: null });
  expect((await runCommand("version", ["--json"], { env })).json()).not.toHaveProperty("up_to_date");
});

test("version --licenses: the packages in the program, each with the text of its licence", async () => {
  const { packages } = (await runCommand("version", ["--licenses", "--json"])).json() as {
    packages: readonly { name: string; version: string; license: string; notice: string }[];
  };
  expect(packages.find(({ name }) => name === "preact")).toMatchObject({ license: "MIT", notice: expect.stringContaining("Permission") });
  expect(packages.filter(({ license, version }) => license === "" || version === "")).toEqual([]);
  expect((await runCommand("version", ["--licenses"])).stdout).toContain("preact 11.2.0: MIT\n\n    The MIT License");
  expect((await runCommand("version", ["--licenses", "--check"])).exitCode).toBe(2);
});

/** Logins whose secret is in the keychain of the system: GNOME's, on a bus of its own. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { lacksProgram } from "../harness/needs.ts";
import { Sandbox } from "../harness/sandbox.ts";

const withoutKeychain = lacksProgram("gnome-keyring-daemon") || lacksProgram("dbus-run-session");

const SDK = join(import.meta.dir, "../../src/sdk");

let sandbox: Sandbox;
let credentials: { readonly SVC_CLIENT_ID: string; readonly SVC_CLIENT_SECRET: string; readonly SVC_API_SERVER: string };
beforeAll(async () => {
  if (withoutKeychain) return;
  sandbox = new Sandbox({ SVC_KEYCHAIN: "" });
  await sandbox.startServer();
  const shown = (await sandbox.svc(["config", "--format", "env"])).stdout.trim().split("\n");
  credentials = Object.fromEntries(shown.map((line) => line.split("="))) as typeof credentials;
});
afterAll(async () => sandbox?.[Symbol.asyncDispose]());

/** Runs a script of bash, in which `svc` is the binary, beside a keychain that is unlocked. */
async function inSession(script: string): Promise<{ exitCode: number; stdout: string; stderr: string }> {
  const runtime = join(sandbox.home, "run");
  mkdirSync(runtime, { recursive: true, mode: 0o700 });
  const unlocked = "echo -n password | gnome-keyring-daemon --unlock --components=secrets > /dev/null 2>&1";
  const child = Bun.spawn(["dbus-run-session", "--", "bash", "-c", `${unlocked}\nsvc() { '${sandbox.binary}' "$@"; }\n${script}`], {
    cwd: sandbox.work,
    env: { ...sandbox.env, XDG_RUNTIME_DIR: runtime, SECRET: credentials.SVC_CLIENT_SECRET },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    timeout: 300_000,
    killSignal: "SIGKILL",
  });
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { exitCode: await child.exited, stdout, stderr };
}

test.skipIf(withoutKeychain)("a login is kept there, used from there, and removed from there", async () => {
  const file = join(sandbox.home, ".config/svc.yml");
  const { SVC_API_SERVER: server, SVC_CLIENT_ID: id } = credentials;
  const logIn = `echo "$SECRET" | svc login --profile kept --api-host ${server} --client-id ${id} --client-secret-stdin`;
  const kept = await inSession(
    `${logIn}\nsvc user --profile kept > /dev/null && echo known\nsvc config --profile kept --jq .client_secret`,
  );
  expect(kept.stdout.trim().split("\n")).toEqual([
    `Logged in to ${server} as ${id}.`,
    `Stored as the profile kept in ${file}, with the secret in the keychain of this system.`,
    "known",
    JSON.stringify({ value: credentials.SVC_CLIENT_SECRET, source: "keychain" }),
  ]);
  expect(Bun.YAML.parse(readFileSync(file, "utf8"))).toMatchObject({ tokens: { kept: { clientId: id, clientSecretIn: "keychain" } } });
  expect(readFileSync(file, "utf8").split("kept:")[1]).not.toContain(credentials.SVC_CLIENT_SECRET);

  symlinkSync(sandbox.binary, join(sandbox.home, "svc"));
  const code = "from svc._client.config import client_settings as found; print(found(None, None, None, None).client_secret)";
  const client = await inSession(`PATH="$HOME:$PATH" PYTHONPATH='${SDK}' SVC_PROFILE=kept python3 -c '${code}'`);
  expect([client.stdout, client.stderr.includes("Traceback")]).toEqual([`${credentials.SVC_CLIENT_SECRET}\n`, false]);
  const elsewhere = await sandbox.svc(["user", "--profile", "kept"]);
  expect(elsewhere.exitCode).toBe(4);
  expect(elsewhere.stderr).toContain(`the client secret of ${id} is in the keychain of this system, which this session cannot use`);

  const listed = await inSession("svc config profiles --jq '.profiles[]|[.name,.secret_in]|@tsv'");
  expect(listed.stdout).toBe("default\tfile\nkept\tkeychain\n");
  const gone = await inSession(`svc logout --local --profile kept > /dev/null; echo $?\n${logIn} --keychain=false | tail -1`);
  expect(gone.stdout).toBe(`0\nStored as the profile kept in ${file}.\n`);
});

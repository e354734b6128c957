/**
 * Protected environments with the binary: one person asks, another one approves, each with a login
 * of their own, and what scripts see of it.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { callAuth, decideLogin, openSession } from "../harness/browser-session.ts";
import { eventually } from "../harness/eventually.ts";
import { Sandbox } from "../harness/sandbox.ts";

const PROJECT = {
  "svc.yaml": "project: shop\n",
  "features.py": `from svc.features import features

@features
class User:
    id: int
    name: str
`,
  "resolvers.py": `from svc import online
from features import User

@online
def get_name(id: User.id) -> User.name:
    return f"user {id}"
`,
  "names.csv": "user.id,user.name\n17,Ann\n",
  "protected.yaml": "protected: true\n",
  "free.yaml": "protected: false\n",
};

interface Applied {
  readonly deployment_id: string;
  readonly approval_id: string | null;
  readonly status: string;
}
interface Approval {
  readonly id: string;
  readonly state: string;
  readonly names: readonly string[];
}
interface Listed {
  readonly approvals: readonly Approval[];
}
interface Requested {
  readonly approval: Approval;
}

let sandbox: Sandbox;
let cwd = "";
let bob: Record<string, string>;

/** Credentials of a login from another machine, confirmed by who started the server. */
async function login(decision: "all" | "other"): Promise<Record<string, string>> {
  const opened = await callAuth(sandbox.url, "CreateLoginSession", { deviceName: `${decision}-laptop` });
  const { loginSessionId, sessionSecret, url } = (await opened.json()) as { loginSessionId: string; sessionSecret: string; url: string };
  const confirmed = await decideLogin(url, await openSession(sandbox.url, await sandbox.accessToken()), decision);
  expect(confirmed.status).toBe(200);
  const taken = await callAuth(sandbox.url, "GetLoginSession", { loginSessionId, sessionSecret });
  const { clientId, clientSecret } = (await taken.json()) as { clientId: string; clientSecret: string };
  return { HOME: join(sandbox.root, decision), SVC_CLIENT_ID: clientId, SVC_CLIENT_SECRET: clientSecret, SVC_API_SERVER: sandbox.url };
}

beforeAll(async () => {
  sandbox = new Sandbox();
  await sandbox.startServer();
  cwd = await sandbox.write(PROJECT);
  bob = await login("other");
  const made = await sandbox.svc(["environment", "update", "-f", "protected.yaml", "--force"], { cwd });
  expect([made.exitCode, made.stderr]).toEqual([0, expect.stringContaining("protected")]);
}, 300_000);
afterAll(() => sandbox[Symbol.asyncDispose]());

describe("a protected environment", () => {
  test("takes a deployment when another person approves it, and no other login of the same one", async () => {
    const applied = await sandbox.json<Applied>(["apply", "--force"], { cwd });
    const id = applied.approval_id ?? "";
    expect([applied.status, id]).toEqual(["queued", expect.stringMatching(/^apr_/)]);
    const own = await login("all");
    for (const env of [{}, own]) {
      const refused = await sandbox.svc(["approval", "approve", id], { env });
      expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining("They can: other-laptop.")]);
    }
    const reader = await sandbox.json<{ client_id: string; client_secret: string }>(
      ["service-token", "create", "--name", "reader", "--permission", "read"],
      { env: bob },
    );
    const lacking = { ...bob, SVC_CLIENT_ID: reader.client_id, SVC_CLIENT_SECRET: reader.client_secret };
    const denied = await sandbox.svc(["approval", "approve", id], { env: lacking });
    expect([denied.exitCode, denied.stderr]).toEqual([1, expect.stringMatching(/^Who can approve it: other-laptop\nError: .*'approve'/)]);
    const isWaiting = async () => (await sandbox.svc(["deployment", "list"], { cwd })).stdout.includes("waiting for approval");
    await eventually(isWaiting, "the deployment waits");
    const asked = await sandbox.svc(["query", "--in", "user.id=1", "--out", "user.name"], { cwd });
    expect([asked.exitCode === 0, asked.stderr]).toEqual([false, expect.stringContaining("waiting for approval")]);

    const waited = sandbox.svc(["apply", "--force", "--await"], { cwd });
    let second = "";
    const hasSecond = async () => {
      const { approvals } = await sandbox.json<Listed>(["approval", "list", "--pending"], { env: bob });
      second = approvals.find((one) => one.id !== id)?.id ?? "";
      return second !== "" && approvals.length === 1;
    };
    await eventually(hasSecond, "the second deployment takes the place of the first");
    const approved = await sandbox.svc(["approval", "approve", second, "--reason", "looks good"], { env: bob });
    expect([approved.exitCode, approved.stdout]).toEqual([0, expect.stringMatching(/State: +approved[\s\S]*Reason: +looks good/)]);
    expect(await waited).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("is live") });
    expect((await sandbox.svc(["query", "--in", "user.id=1", "--out", "user.name"], { cwd })).stdout).toContain("user 1");
  }, 300_000);

  test("takes uploads, deletions and migrations of values in the same way", async () => {
    const approve = async (id: string) => expect((await sandbox.svc(["approval", "approve", id], { env: bob })).exitCode).toBe(0);
    const uploaded = await sandbox.svc(["upload", "names.csv"], { cwd });
    expect([uploaded.exitCode, uploaded.stdout]).toEqual([0, expect.stringContaining("Nothing was changed yet")]);
    await approve(/approve (apr_\w+)/.exec(uploaded.stdout)?.[1] ?? "");
    const count = async () =>
      (await sandbox.svc(["sql", "select key from historical.user.name where operation = 'upload'"], { cwd })).stdout;
    await eventually(async () => (await count()).includes("17"), "the file is stored");
    for (const [command, kind] of [
      [["delete", "--features", "user.name", "--keys", "17", "--yes"], "values.delete"],
      [["migrate-type", "--features", "user.name", "--yes"], "values.migrate"],
      [["drop-version", "--features", "user.name", "--yes"], "values.drop"],
    ] as const) {
      const { approval } = await sandbox.json<Requested & { readonly approval: { readonly kind: string } }>([...command], { cwd });
      expect([approval.kind, approval.state]).toEqual([kind, "pending"]);
      if (kind === "values.drop") expect((await sandbox.svc(["approval", "withdraw", approval.id])).exitCode).toBe(0);
      else await approve(approval.id);
    }
    expect((await sandbox.svc(["upload", "names.csv", "--dry-run"], { cwd })).stdout).toContain("Rows");
  }, 300_000);

  test("takes secrets and the end of its protection in the same way, and commands say what to do", async () => {
    const set = await sandbox.svc(["secret", "set", "KEY"], { input: "s3cret-value" });
    expect(set.exitCode).toBe(0);
    expect(set.stdout).toMatch(
      /^Nothing was changed yet: environment 'default' is protected, and another person approves this\.\nRequest: +apr_\w+, until \S+\nWho can: +other-laptop\nHow: +svc approval approve apr_\w+\n$/,
    );
    const { approval } = await sandbox.json<Requested>(["secret", "set", "OTHER=value"]);
    expect([approval.state, approval.names]).toEqual(["pending", ["OTHER"]]);
    expect((await sandbox.svc(["secret", "list"])).stdout).not.toContain("KEY");
    const listed = await sandbox.svc(["approval", "list", "--pending"], { env: bob });
    expect(listed.stdout).toMatch(/^ID +Kind +Changes +State +Requested by +Created\napr_\w+ +secret\.set +OTHER +pending/);
    const [, first = ""] = /approve (apr_\w+)/.exec(set.stdout) ?? [];
    expect((await sandbox.svc(["approval", "approve", first], { env: bob })).exitCode).toBe(0);
    expect((await sandbox.svc(["secret", "list"])).stdout).toContain("KEY");
    expect((await sandbox.svc(["approval", "withdraw", approval.id])).stdout).toMatch(/State: +withdrawn/);
    expect((await sandbox.svc(["approval", "reject", approval.id], { env: bob })).stderr).toContain("was withdrawn by");

    const end = await sandbox.json<Requested>(["environment", "update", "-f", "free.yaml", "--force"], { cwd });
    expect((await sandbox.svc(["environment", "config"])).stdout).toContain("protected: true");
    expect((await sandbox.svc(["approval", "approve", end.approval.id], { env: bob })).exitCode).toBe(0);
    expect((await sandbox.svc(["environment", "config"])).stdout).toContain("protected: false");
  }, 300_000);
});

/** `svc login` of somebody who decides in a browser. */

import { join } from "node:path";
import type { Sandbox } from "./sandbox.ts";

/**
 * Runs `svc login` without any settings of the server at `address`, in a home folder of that name,
 * while `decide` decides on the page.
 */
export async function loginWith(
  sandbox: Sandbox,
  home: string,
  decide: (url: string, code: string) => Promise<void>,
  address = sandbox.url,
): Promise<{ readonly exitCode: number; readonly text: string }> {
  const child = Bun.spawn([sandbox.binary, "login", "--api-host", address], {
    cwd: sandbox.work,
    env: { ...sandbox.env, HOME: join(sandbox.root, home) },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  let text = "";
  const { promise: asked, resolve } = Promise.withResolvers<RegExpExecArray>();
  const collect = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder();
    for await (const chunk of stream) {
      text += decoder.decode(chunk, { stream: true });
      const found = /Confirm the login (\S+) on this page:\s+(http\S+\/cli\/[\w-]+)\n/.exec(text);
      if (found) resolve(found);
    }
  };
  const collected = Promise.all([collect(child.stdout), collect(child.stderr)]);
  const [, code = "", url = ""] = await asked;
  await decide(url, code);
  const exitCode = await child.exited;
  await collected;
  return { exitCode, text };
}

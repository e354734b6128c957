/**
 * Files of a deployment's source. Its bundle is fetched once and read here, as `svc source` does on
 * a terminal; a bundle that lies on another host cannot be read by a page.
 */

import { readArchive } from "../../domain/tar/reader.ts";
import { CallError, call, unreachable } from "./call.ts";
import { isLoggedIn } from "./session.ts";

/** Bounds of a bundle that a page reads. */
const LIMITS = { maxEntries: 20_000, maxBytes: 64 * 1024 * 1024 };
/** Most bytes of a file that is shown. */
const MOST_SHOWN = 1024 * 1024;

let kept: { readonly deployment: string; readonly files: Promise<ReadonlyMap<string, string>> } | undefined;

/** The text of a file of a deployment. Rejects with CallError. */
export async function sourceText(deployment: string, environment: string, path: string): Promise<string> {
  if (kept?.deployment !== deployment) {
    const files = fetchFiles(deployment, environment);
    kept = { deployment, files };
    files.catch(() => {
      if (kept?.files === files) kept = undefined;
    });
  }
  const text = (await kept.files).get(path);
  if (text === undefined) throw new CallError("not_found", "The file is not among the deployment's sources, or is too long.");
  return text;
}

async function fetchFiles(deployment: string, environment: string): Promise<ReadonlyMap<string, string>> {
  const { url = "" } = await call("DeploymentService/GetSource", { target: deployment }, { environment, branch: "", deployment: "" });
  if (new URL(url, location.origin).origin !== location.origin)
    throw new CallError("unavailable", "The sources lie on another host.", "On a terminal: `svc source`.");
  const response = await fetch(url).catch(() => undefined);
  if (!response?.ok || !response.body) throw response ? new CallError("unknown", `The sources: ${response.status}.`) : unreachable();
  const files = new Map<string, string>();
  for await (const entry of readArchive(chunksOf(response.body.pipeThrough(new DecompressionStream("gzip"))), LIMITS)) {
    if (entry.kind !== "file" || entry.size > MOST_SHOWN || !/\.(py|sql|pyi)$/.test(entry.path)) continue;
    const decoder = new TextDecoder();
    let text = "";
    for await (const chunk of entry.content()) text += decoder.decode(chunk, { stream: true });
    files.set(entry.path, text + decoder.decode());
  }
  return files;
}

/** Not every engine iterates over streams. */
async function* chunksOf(stream: ReadableStream<Uint8Array>): AsyncIterable<Uint8Array> {
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}

// What one session saw is not for the next.
isLoggedIn.subscribe((now) => {
  if (!now) kept = undefined;
});

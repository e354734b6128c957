/** Uploading a project's source bundle. */

import type { Context } from "../context/context.ts";
import { sizeText } from "../domain/size.ts";
import type { SourceBundle } from "../project/project.ts";

/**
 * Uploads a bundle, unless the server has its bytes already; `say` shows how far it is. Returns the
 * id of the upload, for the calls that take one.
 */
export async function uploadBundle(
  { api, http }: Pick<Context, "api" | "http">,
  { bytes, sha256 }: SourceBundle,
  say: (doing: string) => void,
): Promise<string> {
  const { length } = bytes;
  const { complete, uploadId, url } = await (await api.deployments()).createUpload({ sha256, sizeBytes: BigInt(length) });
  if (!complete) await http.upload(url, bytes, (sent) => say(`${Math.floor((100 * sent) / length)}% of ${sizeText(length)}`));
  return uploadId;
}

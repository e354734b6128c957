/** Bundles that clients have uploaded, for the calls that name their upload. */

import { Failure } from "../../failure.ts";
import type { UploadRecord } from "../../stores/metadata/uploads.ts";
import type { Platform } from "../platform.ts";

/**
 * The upload of an id, whose bytes are in the object store. Rejects with Failure not_found when it
 * is unknown or has expired, and failed_precondition when the bytes are not there.
 */
export async function uploadedBundle({ clock, metadata, objects }: Platform, uploadId: string): Promise<UploadRecord> {
  const upload = await metadata.upload(uploadId);
  if (!upload || upload.expiresAt <= clock.now())
    throw new Failure("not_found", "There is no such upload, or it has expired.", { hint: "Upload the bundle again." });
  if ((await objects.size(upload.sha256)) !== upload.sizeBytes)
    throw new Failure("failed_precondition", "The bundle was not uploaded whole.", { hint: "Upload it again; nothing was changed." });
  return upload;
}

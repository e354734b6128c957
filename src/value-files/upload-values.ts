/** Uploading a file of values, and following it to its end. */

import type { MessageInitShape } from "@bufbuild/protobuf";
import { type UploadOptionsSchema, type ValueFileFormat, type ValueUpload, ValueUploadState } from "../../gen/svc/v1/feature_data_pb.ts";
import type { Context } from "../context/context.ts";
import { readRegularFile } from "../disk/regular-file.ts";
import { sizeText } from "../domain/size.ts";
import { CliError, isUnanswered } from "../errors/cli-error.ts";

/** Largest file, in bytes: what a server takes. */
const MAX_FILE_BYTES = 128 * 1024 * 1024;
const ASK_MS = 500;
/** Times that a server is asked again which does not answer. */
const ASK_TRIES = 20;

/** A file of values, and what is said of it. */
export interface ValueFile {
  /** Absolute path. */
  readonly path: string;
  readonly format: ValueFileFormat;
  readonly options: MessageInitShape<typeof UploadOptionsSchema>;
}

/** A file that waits for approval. */
export interface WaitingFile {
  readonly approvalId: string;
}

/**
 * Uploads a file and waits until it is stored, or waits for approval. Rejects with CliError when it
 * is refused or fails.
 */
export async function uploadValues(context: Context, { path, format, options }: ValueFile): Promise<ValueUpload | WaitingFile> {
  const { api, http, progress } = context;
  const service = await api.featureData();
  const bytes = readRegularFile(path, { maxBytes: MAX_FILE_BYTES });
  if (!bytes) throw new CliError(`there is no file ${path}`, { code: "not_found" });
  const { length } = bytes;
  if (length === 0) throw new CliError(`${path} is empty`, { code: "invalid_argument" });
  const answer = await progress.step("Sending the file", async (say) => {
    const sha256 = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
    const { uploadId, url } = await service.announceValueFile({ sha256, sizeBytes: BigInt(length) });
    await http.upload(url, bytes, (sent) => say(`${Math.floor((100 * sent) / length)}% of ${sizeText(length)}`));
    return service.uploadValueFile({ uploadId, format, options });
  });
  if (answer.approvalId !== "") return { approvalId: answer.approvalId };
  const begun = answer.upload;
  if (!begun) throw new CliError("the server did not say what it began", { code: "internal" });
  const ended = await progress.step(
    options.dryRun ? "Checking the values" : "Storing the values",
    (say) => follow(context, begun.id, say),
    ({ state }) => state === ValueUploadState.FAILED,
  );
  if (ended.state === ValueUploadState.SUCCEEDED) return ended;
  const stored = ended.rowsWritten > 0n ? `${ended.rowsWritten} rows were stored by then, and stay.` : "Nothing was stored.";
  throw new CliError(ended.problems.length > 0 ? `the file was refused\n${ended.error}` : `the upload failed: ${ended.error}`, {
    code: "failed_precondition",
    hint: stored,
  });
}

/** The upload when it has ended. */
async function follow({ api, clock, signal }: Context, id: string, say: (doing: string) => void): Promise<ValueUpload> {
  const service = await api.featureData();
  for (let unanswered = 0; ; ) {
    try {
      const { upload } = await service.getValueUpload({ id });
      if (!upload) throw new CliError("the server did not say how far the upload is", { code: "internal" });
      if (upload.state === ValueUploadState.SUCCEEDED || upload.state === ValueUploadState.FAILED) return upload;
      say(doing(upload));
      unanswered = 0;
    } catch (error) {
      if (!isUnanswered(error) || ++unanswered > ASK_TRIES) throw error;
    }
    await clock.sleep(ASK_MS, signal);
  }
}

function doing({ rows, rowsChecked, rowsWritten, state }: ValueUpload): string {
  if (state === ValueUploadState.RECEIVED) return "it waits for its turn";
  return rows === undefined ? `${rowsChecked} rows checked` : `${rowsWritten} of ${rows} rows stored`;
}

/**
 * Documents with a signature beside them: read, verified with the key of this build, and compared
 * with the signature's comment.
 */

import { buildInfo } from "../build-info.ts";
import { type PublicKey, parsePublicKey, verify } from "../domain/release/minisign.ts";
import { parseTrustedComment, type SignedThing } from "../domain/release/trusted-comment.ts";
import { ReleaseError, withFileName } from "./release-error.ts";
import type { ReleaseFiles } from "./release-files.ts";

/** Longest index or manifest that is read. */
const MAX_DOCUMENT_BYTES = 8 * 1024 * 1024;
const MAX_SIGNATURE_BYTES = 4096;
/** Milliseconds, longer than it takes to rename two files. */
const REPLACING_MS = 200;

/** The parts of a document that its signature's comment repeats. */
export interface SignedContent {
  readonly version: string;
  readonly expiresAt: string;
}

/** The key that this build trusts. Throws release_no_key when it was built without one. */
export function trustedKey(): PublicKey {
  if (buildInfo.publicKey === "") {
    throw new ReleaseError("this build carries no key to check releases with, so it cannot update itself", "release_no_key", {
      hint: "It was not built for a release: install one with install.sh or install.ps1.",
    });
  }
  return parsePublicKey(buildInfo.publicKey);
}

/**
 * Reads and verifies a document. Throws ReleaseError with the file's name in its message. When a
 * document and its signature do not match, both are read once more, because the host may just have
 * been replacing them.
 */
export async function readSigned<T>(...given: Parameters<typeof readOnce<T>>): Promise<T> {
  try {
    return await readOnce(...given);
  } catch (error) {
    if (!(error instanceof ReleaseError) || error.code !== "signature_wrong") throw error;
    await Bun.sleep(REPLACING_MS);
    return readOnce(...given);
  }
}

async function readOnce<T>(
  files: ReleaseFiles,
  path: string,
  what: SignedThing,
  parse: (text: string) => T,
  contentOf: (document: T) => SignedContent,
): Promise<T> {
  const key = trustedKey();
  const [read, signed] = await Promise.allSettled([
    files.read(path, MAX_DOCUMENT_BYTES),
    files.read(`${path}.minisig`, MAX_SIGNATURE_BYTES),
  ]);
  if (read.status === "rejected") throw read.reason;
  if (signed.status === "rejected") throw noSignature(signed.reason);
  try {
    const comment = parseTrustedComment(await verify(read.value, new TextDecoder().decode(signed.value), key));
    const document = parse(new TextDecoder().decode(read.value));
    const { version, expiresAt } = contentOf(document);
    if (comment?.what !== what || comment.version !== version || Date.parse(comment.expiresAt) !== Date.parse(expiresAt)) {
      throw new ReleaseError(`${files.nameOf(path)} is not trusted: its signature was made for something else`, "signature_wrong", {
        hint: "Nothing was installed. The files of the host were mixed up.",
      });
    }
    return document;
  } catch (error) {
    throw withFileName(error, files.nameOf(path));
  }
}

/** Throws release_expired when a document has expired and may no longer say what is latest. */
export function refuseExpired(expiresAt: string, now: number, where: string): void {
  if (now < Date.parse(expiresAt)) return;
  throw new ReleaseError(
    `${where} expired at ${expiresAt}; this machine's clock says ${new Date(now).toISOString().replace(/\.\d+Z$/, "Z")}`,
    "release_expired",
    {
      hint: "A host that holds newer releases back would look like this. Name another host with --from, or the version you want with --version.",
    },
  );
}

/** The error for a missing signature, or a file too long to be one. */
function noSignature(error: unknown): unknown {
  if (!(error instanceof ReleaseError) || !["release_not_found", "release_too_large"].includes(error.code)) return error;
  return new ReleaseError(error.message, "signature_malformed", { hint: "Nothing is taken without a signature.", cause: error });
}

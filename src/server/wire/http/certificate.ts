/** The certificate of a server that speaks TLS itself. */

import { createPrivateKey, X509Certificate } from "node:crypto";
import { readRegularFile } from "../../../disk/regular-file.ts";
import { StartError } from "../../failure.ts";

/**
 * Absolute paths of two files in PEM form. They are read once: a renewed certificate is used from
 * the next start on.
 */
export interface CertificateFiles {
  /** The server's own certificate first, then the intermediate ones. */
  readonly cert: string;
  /** Its private key, without a password. */
  readonly key: string;
}

/** The texts of the two files, which were checked to belong together. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

const LARGEST_FILE = 1024 * 1024;

/**
 * Reads a certificate and its key. Throws StartError "certificate_unusable" when a file cannot be
 * read or parsed, the two do not belong together, or the certificate has expired.
 */
export function readCertificate(files: CertificateFiles, now: number): Certificate {
  const cert = read(files.cert);
  const key = read(files.key);
  const parsed = parse(files.cert, "certificate", () => new X509Certificate(cert));
  const privateKey = parse(files.key, "private key without a password", () => createPrivateKey(key));
  if (!parsed.checkPrivateKey(privateKey)) throw unusable(`The key ${files.key} is not that of the certificate ${files.cert}.`);
  if (now > parsed.validToDate.getTime()) throw unusable(`The certificate ${files.cert} ended at ${parsed.validToDate.toISOString()}.`);
  return { cert, key };
}

function read(path: string): string {
  try {
    const text = readRegularFile(path, { maxBytes: LARGEST_FILE })?.toString("utf8");
    if (text !== undefined) return text;
  } catch (error) {
    throw unusable(`${error instanceof Error ? error.message : error}.`);
  }
  throw unusable(`There is no file ${path}.`);
}

function parse<T>(path: string, what: string, make: () => T): T {
  try {
    return make();
  } catch {
    throw unusable(`${path} holds no ${what} in PEM form.`);
  }
}

function unusable(message: string): StartError {
  return new StartError("certificate_unusable", message, "Name a certificate and its key with `--tls-cert` and `--tls-key`.");
}

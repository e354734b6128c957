/** Certificates for TLS, and their keys, as files in PEM form. */

import { createPrivateKey, X509Certificate } from "node:crypto";
import { readRegularFile } from "../disk/regular-file.ts";
import { StartError } from "./failure.ts";

/**
 * Absolute paths of two files in PEM form. They are read once: a renewed certificate is used from
 * the next start on.
 */
export interface CertificateFiles {
  /** The own certificate first, then the intermediate ones. */
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
 * @param hint the next step of whoever named the files
 */
export function readCertificate(files: CertificateFiles, now: number, hint: string): Certificate {
  return hinted(hint, () => {
    const cert = read(files.cert);
    const key = read(files.key);
    const parsed = parse(files.cert, "certificate", () => new X509Certificate(cert));
    const privateKey = parse(files.key, "private key without a password", () => createPrivateKey(key));
    if (!parsed.checkPrivateKey(privateKey)) throw new Unusable(`The key ${files.key} is not that of the certificate ${files.cert}.`);
    if (now > parsed.validToDate.getTime())
      throw new Unusable(`The certificate ${files.cert} ended at ${parsed.validToDate.toISOString()}.`);
    return { cert, key };
  });
}

/**
 * Reads the certificates of authorities, one after another in a file. Throws StartError
 * "certificate_unusable" when it cannot be read, or does not begin with one.
 * @param hint the next step of whoever named the file
 */
export function readAuthorities(path: string, hint: string): string {
  return hinted(hint, () => {
    const text = read(path);
    parse(path, "certificate", () => new X509Certificate(text));
    return text;
  });
}

/** Why files cannot be used. */
class Unusable extends Error {}

function hinted<T>(hint: string, make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (error instanceof Unusable) throw new StartError("certificate_unusable", error.message, hint);
    throw error;
  }
}

function read(path: string): string {
  try {
    const text = readRegularFile(path, { maxBytes: LARGEST_FILE })?.toString("utf8");
    if (text !== undefined) return text;
  } catch (error) {
    throw new Unusable(`${error instanceof Error ? error.message : error}.`);
  }
  throw new Unusable(`There is no file ${path}.`);
}

function parse<T>(path: string, what: string, make: () => T): T {
  try {
    return make();
  } catch {
    throw new Unusable(`${path} holds no ${what} in PEM form.`);
  }
}

/** The key that signs releases: from the environment or a file, never from the source tree. */

import { open, readFile } from "node:fs/promises";
import {
  createSecretKey,
  parseSecretKey,
  publicKeyText,
  type SecretKey,
  SignatureError,
  secretKeyText,
} from "../domain/release/minisign.ts";
import { PackagingError } from "./packaging-error.ts";

/** Environment variables with the key's text, or the path of its file. */
export const KEY_VARIABLES = { text: "SVC_SIGNING_KEY", file: "SVC_SIGNING_KEY_FILE" } as const;

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The key of the environment; undefined when none is set. Throws PackagingError when it is invalid.
 */
export async function signingKey(env: Environment): Promise<SecretKey | undefined> {
  const text = env[KEY_VARIABLES.text];
  if (text) return parsed(text, KEY_VARIABLES.text);
  const file = env[KEY_VARIABLES.file];
  if (!file) return undefined;
  const content = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw new PackagingError(`${KEY_VARIABLES.file}=${file}: ${error.code === "ENOENT" ? "there is no such file" : error.message}`);
  });
  return parsed(content, `${KEY_VARIABLES.file}=${file}`);
}

/** Like {@link signingKey}, for steps that need a key. Throws PackagingError when none is set. */
export async function requiredSigningKey(env: Environment): Promise<SecretKey> {
  const key = await signingKey(env);
  if (!key)
    throw new PackagingError(
      `a release is signed, and there is no key: set ${KEY_VARIABLES.text} or ${KEY_VARIABLES.file}, or make a key: bun build.ts --new-key FILE`,
    );
  return key;
}

/**
 * Writes a new key to a file that does not exist yet, readable by its owner only, and its public
 * half beside it as `<file>.pub`. Returns the text of the public half.
 */
export async function writeNewKey(file: string): Promise<string> {
  const key = await createSecretKey();
  const publicText = publicKeyText(key.public);
  await writeNew(file, secretKeyText(key), 0o600);
  await writeNew(`${file}.pub`, `untrusted comment: public key of the releases of svc\n${publicText}\n`, 0o644);
  return publicText;
}

async function parsed(text: string, where: string): Promise<SecretKey> {
  try {
    return await parseSecretKey(text);
  } catch (error) {
    if (error instanceof SignatureError) throw new PackagingError(`${where}: ${error.message}`);
    throw error;
  }
}

async function writeNew(file: string, text: string, mode: number): Promise<void> {
  const handle = await open(file, "wx", mode).catch((error: NodeJS.ErrnoException) => {
    throw new PackagingError(error.code === "EEXIST" ? `${file} exists; a key is never overwritten` : error.message);
  });
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Signatures in minisign's format (jedisct1.github.io/minisign): Ed25519 over the BLAKE2b-512 of a
 * file, and over that signature with its trusted comment. `minisign -V` checks what is signed here,
 * and the other way round.
 */

const PKCS8_ED25519 = Uint8Array.from(Buffer.from("302e020100300506032b657004220420", "hex"));
const ED25519 = { name: "Ed25519" } as const;

/** A public key. */
export interface PublicKey {
  /** 8 bytes that name it. */
  readonly id: Uint8Array<ArrayBuffer>;
  /** 32 bytes. */
  readonly key: Uint8Array<ArrayBuffer>;
}

/** A secret key. */
export interface SecretKey {
  readonly public: PublicKey;
  /** 32 bytes. */
  readonly seed: Uint8Array<ArrayBuffer>;
}

/**
 * The error of a key or signature that is malformed or does not fit; the message says what differs.
 */
export class SignatureError extends Error {
  override readonly name = "SignatureError";
  constructor(
    message: string,
    readonly code: "signature_malformed" | "signature_unknown_key" | "signature_wrong",
  ) {
    super(message);
  }
}

/** The one line that people pass around as the public key. */
export function publicKeyText({ id, key }: PublicKey): string {
  return Buffer.concat([Buffer.from("Ed"), id, key]).toString("base64");
}

/**
 * The public key of a text: its line, or a `.pub` file with a comment above. Throws SignatureError.
 */
export function parsePublicKey(text: string): PublicKey {
  const bytes = Buffer.from(lastLine(text), "base64");
  if (bytes.length !== 42 || bytes.toString("latin1", 0, 2) !== "Ed")
    throw new SignatureError("this is no minisign public key", "signature_malformed");
  return { id: bytes.subarray(2, 10), key: bytes.subarray(10) };
}

/** A new secret key. */
export async function createSecretKey(): Promise<SecretKey> {
  const seed = crypto.getRandomValues(new Uint8Array(32));
  return { seed, public: { id: crypto.getRandomValues(new Uint8Array(8)), key: await publicHalf(seed) } };
}

/** The text of a key's file, as `minisign -G -W` writes it: without a password. */
export function secretKeyText({ public: { id, key }, seed }: SecretKey): string {
  const bytes = Buffer.concat([Buffer.from("Ed\0\0B2", "latin1"), Buffer.alloc(48), id, seed, key, Buffer.alloc(32)]);
  return `untrusted comment: minisign secret key\n${bytes.toString("base64")}\n`;
}

/**
 * The secret key of a key's file or its last line. Throws SignatureError, also for keys with a
 * password.
 */
export async function parseSecretKey(text: string): Promise<SecretKey> {
  const bytes = Buffer.from(lastLine(text), "base64");
  if (bytes.length !== 158 || bytes.toString("latin1", 0, 2) !== "Ed")
    throw new SignatureError("this is no minisign secret key", "signature_malformed");
  if (bytes.readUInt16LE(2) !== 0)
    throw new SignatureError("this secret key has a password; make one without (minisign -G -W)", "signature_malformed");
  const [id, seed, key] = [bytes.subarray(54, 62), bytes.subarray(62, 94), bytes.subarray(94, 126)];
  if (!key.equals(await publicHalf(seed)))
    throw new SignatureError("this secret key is damaged: its two halves do not fit", "signature_malformed");
  return { seed, public: { id, key } };
}

/** The text of a `.minisig` file. `trustedComment` is one line; it is signed too. */
export async function sign(data: Uint8Array, secret: SecretKey, trustedComment: string): Promise<string> {
  const key = await crypto.subtle.importKey("pkcs8", Buffer.concat([PKCS8_ED25519, secret.seed]), ED25519, false, ["sign"]);
  const signature = Buffer.from(await crypto.subtle.sign(ED25519, key, blake2b512(data)));
  const whole = Buffer.from(await crypto.subtle.sign(ED25519, key, Buffer.concat([signature, Buffer.from(trustedComment)])));
  const head = Buffer.concat([Buffer.from("ED"), secret.public.id, signature]);
  return [
    "untrusted comment: signature of a release of svc",
    head.toString("base64"),
    `trusted comment: ${trustedComment}`,
    whole.toString("base64"),
    "",
  ].join("\n");
}

/** The trusted comment of a signature, once both are checked. Throws SignatureError. */
export async function verify(data: Uint8Array, signatureFile: string, publicKey: PublicKey): Promise<string> {
  const [, head, comment, tail] = signatureFile.split(/\r?\n/);
  const bytes = Buffer.from(head ?? "", "base64");
  const whole = Buffer.from(tail ?? "", "base64");
  const PREFIX = "trusted comment: ";
  if (bytes.length !== 74 || whole.length !== 64 || !comment?.startsWith(PREFIX))
    throw new SignatureError("this is no minisign signature", "signature_malformed");
  const [algorithm, id, signature] = [bytes.toString("latin1", 0, 2), bytes.subarray(2, 10), bytes.subarray(10)];
  if (algorithm !== "ED")
    throw new SignatureError("the signature is of a kind that is not taken: it must be over BLAKE2b-512", "signature_malformed");
  if (!id.equals(publicKey.id))
    throw new SignatureError(`it is signed by key ${keyName(id)}, and only ${keyName(publicKey.id)} is trusted`, "signature_unknown_key");
  const key = await crypto.subtle.importKey("raw", Buffer.from(publicKey.key), ED25519, false, ["verify"]);
  const trusted = comment.slice(PREFIX.length);
  const right =
    (await crypto.subtle.verify(ED25519, key, signature, blake2b512(data))) &&
    (await crypto.subtle.verify(ED25519, key, whole, Buffer.concat([signature, Buffer.from(trusted)])));
  if (!right) throw new SignatureError("the signature does not fit the file", "signature_wrong");
  return trusted;
}

/** The name of a key as minisign prints it: the id as 64 bits, little-endian, in hex. */
export function keyName(id: Uint8Array): string {
  return Buffer.from(id).reverse().toString("hex").toUpperCase();
}

async function publicHalf(seed: Uint8Array): Promise<Buffer<ArrayBuffer>> {
  const key = await crypto.subtle.importKey("pkcs8", Buffer.concat([PKCS8_ED25519, seed]), ED25519, true, ["sign"]);
  const { x } = await crypto.subtle.exportKey("jwk", key);
  return Buffer.from(x ?? "", "base64url");
}

function blake2b512(data: Uint8Array): Buffer<ArrayBuffer> {
  return Buffer.from(new Bun.CryptoHasher("blake2b512").update(data).digest());
}

function lastLine(text: string): string {
  return text.trim().split(/\r?\n/).at(-1)?.trim() ?? "";
}

/**
 * The trusted comment of a release's signatures. It names what is signed, so that a signature of
 * one thing is never taken for one of another, and repeats version and expiry for readers that know
 * no JSON.
 */

/** The kind of the signed file: a manifest, SHA256SUMS, or the feed's index. */
export type SignedThing = "manifest" | "sums" | "index";

/** The content of a trusted comment. */
export interface TrustedComment {
  readonly what: SignedThing;
  /** `v<major>.<minor>.<patch>`; of the index: the latest one. */
  readonly version: string;
  /** RFC 3339, UTC. */
  readonly expiresAt: string;
}

const FORM = /^svc (manifest|sums|index) version:(v\d+\.\d+\.\d+) expires:(\S+)$/;

/** The comment's line. */
export function trustedComment({ what, version, expiresAt }: TrustedComment): string {
  return `svc ${what} version:${version} expires:${expiresAt}`;
}

/** The content of a comment; undefined when it is not one of a release. */
export function parseTrustedComment(text: string): TrustedComment | undefined {
  const [, what, version, expiresAt] = FORM.exec(text) ?? [];
  if (what === undefined || version === undefined || expiresAt === undefined || Number.isNaN(Date.parse(expiresAt))) return undefined;
  return { what: what as SignedThing, version, expiresAt };
}

/** What a webhook is: its address, event types, and what is sent with every delivery. */

import { isLoopbackHost, parseAddress } from "../../domain/ip-address.ts";
import type { Sealer } from "../access/sealing.ts";
import type { CollectionOptions, Document } from "../documents/collection.ts";
import { Failure } from "../failure.ts";
import { ALLOW_VARIABLE, refusalOf } from "./address-guard.ts";
import { keyOf } from "./signature.ts";

/** The content of a webhook's document. */
export interface WebhookContent {
  readonly url: string;
  readonly subscriptions: readonly string[];
  /** Part of what its secrets are sealed for; never changes. */
  readonly sealedAs: string;
  /** Sealed; absent = deliveries are not signed. */
  readonly secret?: string;
  /** Sealed values by the header's name. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A webhook. */
export type Webhook = Document<WebhookContent>;

/** How webhooks are kept. */
export const WEBHOOKS: CollectionOptions = {
  kind: "webhook",
  noun: "webhook",
  idPrefix: "whk",
  listedBy: "svc webhook list",
  maxPerScope: 20,
};

const MAX_URL = 2_048;
const MAX_HEADERS = 20;
const MAX_HEADER_VALUE = 1_024;
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/;
/** Headers that are the connection's, the body's, or the signature's. */
const RESERVED =
  /^(connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|http2-settings|expect|host|content-.*|accept-encoding|webhook-.*)$/i;

/** The address as it is kept. Throws Failure invalid_argument or failed_precondition. */
export function checkUrl(text: string, allowed: readonly string[]): string {
  const hint = "For example https://hooks.example.com/svc";
  if (text.length > MAX_URL) throw new Failure("invalid_argument", `A webhook's URL has at most ${MAX_URL} characters.`);
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text) || /[\s\p{Cc}]/u.test(text))
    throw new Failure("invalid_argument", "A webhook's URL begins with http:// or https://, and this is none.", { hint });
  const url = new URL(text);
  if (url.username !== "" || url.password !== "")
    throw new Failure("invalid_argument", "A webhook's URL cannot hold a user or password.", {
      hint: `Send them in a header: --headers '{"Authorization": "Basic ..."}'`,
    });
  const address = isLoopbackHost(url.hostname) && parseAddress(url.hostname) === undefined ? "127.0.0.1" : url.hostname;
  const refusal = parseAddress(address) === undefined ? undefined : refusalOf(address, allowed);
  if (refusal !== undefined)
    throw new Failure("failed_precondition", `Nothing is delivered to ${url.host}: ${address} ${refusal}.`, {
      hint: `Whoever runs the server can allow networks with ${ALLOW_VARIABLE}.`,
    });
  url.hash = "";
  return url.href;
}

/** Throws Failure invalid_argument unless the headers can be sent. */
export function checkHeaders(headers: Readonly<Record<string, string>>): void {
  const names = Object.keys(headers);
  if (names.length > MAX_HEADERS) throw new Failure("invalid_argument", `A webhook has at most ${MAX_HEADERS} headers.`);
  if (new Set(names.map((name) => name.toLowerCase())).size < names.length)
    throw new Failure("invalid_argument", "A header of the webhook is given twice: upper and lower case are the same.");
  for (const [name, value] of Object.entries(headers)) {
    const shown = JSON.stringify(name.slice(0, 50));
    if (!TOKEN.test(name)) throw new Failure("invalid_argument", `${shown} cannot be the name of a header.`);
    if (RESERVED.test(name)) throw new Failure("invalid_argument", `The header ${shown} is set by svc, or belongs to the connection.`);
    if (value.length > MAX_HEADER_VALUE || !/^[\t\x20-\x7e]*$/.test(value))
      throw new Failure(
        "invalid_argument",
        `The value of the header ${shown} is not one line of at most ${MAX_HEADER_VALUE} ASCII characters.`,
      );
  }
}

/** Seals and opens the secrets of the webhooks of an environment. */
export function webhookSecrets(sealer: Sealer, environmentId: string) {
  const context = (sealedAs: string, field: string) => [environmentId, WEBHOOKS.kind, sealedAs, field];
  const secrets = {
    /** Undefined for an empty secret. Throws Failure invalid_argument. */
    async sealSecret(sealedAs: string, secret: string): Promise<string | undefined> {
      if (secret === "") return undefined;
      keyOf(secret);
      return sealer.seal(secret, context(sealedAs, "secret"));
    },
    /** Throws Failure invalid_argument. */
    async sealHeaders(sealedAs: string, headers: Readonly<Record<string, string>>): Promise<Record<string, string>> {
      checkHeaders(headers);
      const sealing = Object.entries(headers).map(async ([name, value]) => [
        name,
        await sealer.seal(value, context(sealedAs, `header ${name.toLowerCase()}`)),
      ]);
      return Object.fromEntries(await Promise.all(sealing));
    },
    /** The opened secret and headers. Rejects with Failure failed_precondition. */
    async open({ sealedAs, secret, headers }: WebhookContent) {
      const opening = Object.entries(headers).map(async ([name, value]) => [
        name,
        await sealer.open(value, context(sealedAs, `header ${name.toLowerCase()}`)),
      ]);
      const opened = await Promise.all([
        secret === undefined ? undefined : sealer.open(secret, context(sealedAs, "secret")),
        Promise.all(opening),
      ]);
      return { secret: opened[0], headers: Object.fromEntries(opened[1]) as Record<string, string> };
    },
    /** Whether the key that seals now sealed all of them. */
    isCurrent: ({ secret, headers }: WebhookContent): boolean =>
      [secret, ...Object.values(headers)].every((sealed) => sealed === undefined || sealer.isCurrent(sealed)),
    /** The content with all of them sealed anew. Rejects with Failure failed_precondition. */
    async reseal(content: WebhookContent): Promise<WebhookContent> {
      const { secret = "", headers } = await secrets.open(content);
      const sealed = await secrets.sealSecret(content.sealedAs, secret);
      return {
        ...content,
        headers: await secrets.sealHeaders(content.sealedAs, headers),
        ...(sealed === undefined ? {} : { secret: sealed }),
      };
    },
  };
  return secrets;
}

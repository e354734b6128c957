/** Signature version 4 of AWS, in the Authorization header. */

/** Keys of AWS. */
export interface AwsKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/** A request to be signed. */
export interface AwsRequest {
  readonly method: string;
  readonly url: URL;
  /** Headers to be signed beside `host` and `x-amz-date`; names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly service: string;
  readonly region: string;
  /** Epoch milliseconds. */
  readonly at: number;
}

/** The headers of the signed request, `host` among them. */
export function signAws(request: AwsRequest, { accessKeyId, secretAccessKey, sessionToken }: AwsKeys): Record<string, string> {
  const { method, url, body, service, region, at } = request;
  const time = `${new Date(at).toISOString().replace(/[-:]|\.\d+/g, "")}`;
  const day = time.slice(0, 8);
  const headers: Record<string, string> = {
    ...request.headers,
    host: url.host,
    "x-amz-date": time,
    ...(sessionToken !== undefined && { "x-amz-security-token": sessionToken }),
  };
  const names = Object.keys(headers).sort();
  const signed = names.join(";");
  const lines = names.map((name) => `${name}:${(headers[name] ?? "").trim().replace(/ +/g, " ")}\n`).join("");
  const canonical = [method, url.pathname, canonicalQuery(url), lines, signed, sha256(body)].join("\n");
  const scope = `${day}/${region}/${service}/aws4_request`;
  const text = ["AWS4-HMAC-SHA256", time, scope, sha256(canonical)].join("\n");
  const key = [day, region, service, "aws4_request"].reduce<Uint8Array>(hmac, new TextEncoder().encode(`AWS4${secretAccessKey}`));
  const signature = hmac(key, text).toHex();
  return {
    ...headers,
    authorization: `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope}, SignedHeaders=${signed}, Signature=${signature}`,
  };
}

function canonicalQuery({ searchParams }: URL): string {
  const pairs = [...searchParams].map(([name, value]) => [escaped(name), escaped(value)] as const);
  pairs.sort(([a, b], [c, d]) => (a < c || (a === c && b < d) ? -1 : 1));
  return pairs.map((pair) => pair.join("=")).join("&");
}

function escaped(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
}

function sha256(text: string): string {
  return new Bun.CryptoHasher("sha256").update(text).digest("hex");
}

function hmac(key: Uint8Array, text: string): Uint8Array {
  return new Uint8Array(new Bun.CryptoHasher("sha256", key).update(text).digest());
}

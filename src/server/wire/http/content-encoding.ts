/**
 * Compression of the bodies of requests and answers. Answers with secrets must not be compressed:
 * their length would reveal something of their content.
 */

/** The supported encodings, the cheapest first. */
export const ENCODINGS = ["zstd", "gzip"] as const;

/** Name of an encoding, as headers have it. */
export type Encoding = (typeof ENCODINGS)[number];

/**
 * Length in bytes from which a body is compressed: a shorter one hardly gets smaller, and is
 * delayed.
 */
export const MIN_COMPRESSED_BYTES = 1024;

/** The encoding of a name; undefined when there is none of that name. */
export function encodingOf(name: string): Encoding | undefined {
  return ENCODINGS.find((encoding) => encoding === name.trim().toLowerCase());
}

/**
 * The supported encoding with the greatest weight in an Accept-Encoding header, of equals the
 * cheapest; undefined when it accepts none.
 */
export function acceptedEncoding(header: string | null): Encoding | undefined {
  if (!header) return undefined;
  const weights = new Map<string, number>();
  for (const item of header.toLowerCase().split(",")) {
    const [name = "", weight] = item.split(";").map((part) => part.trim());
    weights.set(name, weight?.startsWith("q=") ? Number(weight.slice(2)) || 0 : 1);
  }
  const weightOf = (encoding: Encoding) => weights.get(encoding) ?? weights.get("*") ?? 0;
  const [best] = ENCODINGS.toSorted((a, b) => weightOf(b) - weightOf(a));
  return best && weightOf(best) > 0 ? best : undefined;
}

/** Gzip by the runtime's `node:zlib`, which takes too long to load at a server's start. */
async function gzipped(bytes: Uint8Array | string): Promise<Uint8Array> {
  const { gzip } = await import("node:zlib");
  return new Promise((resolve, reject) => gzip(bytes, (error, result) => (error ? reject(error) : resolve(result))));
}

/** Compresses bytes. */
export async function compress(bytes: Uint8Array | string, encoding: Encoding): Promise<Uint8Array<ArrayBuffer>> {
  return (await (encoding === "zstd" ? Bun.zstdCompress(bytes) : gzipped(bytes))) as Uint8Array<ArrayBuffer>;
}

/**
 * The inflated bytes of a compressed stream, as a stream. Reading rejects with TypeError when the
 * input is broken, cut, or followed by anything.
 */
export function inflated(stream: ReadableStream<Uint8Array>, encoding: Encoding): ReadableStream<Uint8Array> {
  // The types know fewer formats than the runtime.
  const inflater = new DecompressionStream(encoding as CompressionFormat);
  return stream.pipeThrough(inflater as ReadableWritablePair<Uint8Array, Uint8Array>);
}

/**
 * Headers for the answers of `encodedAnswer`, made once for all of them: those given, and `vary`,
 * so that no cache hands a compressed body to clients that accept none.
 */
export function encodedHeaders(given: Readonly<Record<string, string>>): Headers {
  return new Headers({ ...given, vary: "accept-encoding" });
}

/**
 * An answer of status 200 to a request with `headers`, compressed when the client accepts that and
 * the body is long enough.
 * @param own the answer's headers, from `encodedHeaders`
 */
export function encodedAnswer(headers: Headers, body: string | Uint8Array<ArrayBuffer>, own: Headers): Response | Promise<Response> {
  const encoding = body.length < MIN_COMPRESSED_BYTES ? undefined : acceptedEncoding(headers.get("accept-encoding"));
  if (encoding === undefined) return new Response(body, { headers: own });
  return compress(body, encoding).then((bytes) => {
    const response = new Response(bytes, { headers: own });
    response.headers.set("content-encoding", encoding);
    return response;
  });
}

/**
 * A fake of AWS, Google Cloud and Snowflake in one HTTP server of this process: it answers as their
 * documentation says, checks signatures and tokens, and keeps objects in memory.
 */

import { generateKeyPairSync } from "node:crypto";
import { jwtVerify } from "jose";
import { signAws } from "../../../src/server/probes/aws-signature.ts";

/** A request that came. */
export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: Headers;
  readonly body: string;
}

/** The fake. */
export interface FakeClouds extends Disposable {
  readonly url: string;
  readonly host: string;
  /** Every request, oldest first. */
  readonly seen: Seen[];
  /** Objects that are there, by path. */
  readonly objects: Map<string, string>;
  /** Answers in place of the fake; undefined leaves the request to it. */
  answer: ((request: Seen) => Response | undefined | Promise<Response | undefined>) | undefined;
  /** Settings that the fake takes. */
  readonly aws: { readonly region: string; readonly access_key_id: string; readonly secret_access_key: string; readonly endpoint: string };
  readonly gcp: { readonly service_account: string; readonly endpoint: string };
  readonly snowflake: Readonly<Record<string, string>>;
}

const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
/** The private key of the service account and of Snowflake's user. */
export const PEM = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
const ACCESS_KEY = "AKIDFAKE";
const SECRET_KEY = "c4nary-secret-access-key";
const TOKEN = "c4nary-google-token";
const REGION = "eu-central-1";

/** Starts the fake on a free port of loopback. */
export function startFakeClouds(): FakeClouds {
  const seen: Seen[] = [];
  const objects = new Map<string, string>();
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      const one = { method: request.method, path: pathname + search, headers: request.headers, body: await request.text() };
      seen.push(one);
      return (await fake.answer?.(one)) ?? answerAs(one);
    },
  });
  const host = `127.0.0.1:${server.port}`;
  const url = `http://${host}`;

  const answerAs = async (request: Seen): Promise<Response> => {
    const { body, headers, method, path } = request;
    const authorization = headers.get("authorization") ?? "";
    if (authorization.startsWith("AWS4-HMAC-SHA256")) {
      const service = /\/(sts|glue|s3)\/aws4_request/.exec(authorization)?.[1] ?? "";
      if (!isSigned(request, service, url)) return xml(403, "SignatureDoesNotMatch", "The signature does not match.");
      if (service === "sts") return new Response("<R><Arn>arn:aws:iam::1:user/me</Arn></R>");
      if (service === "glue") return Response.json({ DatabaseList: [] });
      const isWhole = headers.get("x-amz-content-sha256") === new Bun.CryptoHasher("sha256").update(body).digest("hex");
      return isWhole ? object(method, path, body) : xml(400, "XAmzContentSHA256Mismatch", "The body is another.");
    }
    if (path === "/token") {
      const audience = "https://oauth2.googleapis.com/token";
      await jwtVerify(new URLSearchParams(body).get("assertion") ?? "", publicKey, { audience, issuer: "robot@p.example" });
      return Response.json({ access_token: TOKEN });
    }
    if (path.startsWith("/api/v2/statements")) {
      await jwtVerify(authorization.replace("Bearer ", ""), publicKey, { subject: "XY12.ME" });
      return Response.json({ code: "090001" });
    }
    if (authorization !== `Bearer ${TOKEN}`) return Response.json({ error: { message: "no token" } }, { status: 401 });
    return path.startsWith("/bigquery/") ? Response.json({ jobComplete: true }) : object(method, path, body);
  };
  const object = (method: string, path: string, body: string): Response => {
    if (method === "PUT") objects.set(path, body);
    const kept = objects.get(path);
    if (kept === undefined) return xml(404, "NoSuchKey", "There is none.");
    if (method === "DELETE") objects.delete(path);
    return method === "DELETE" ? new Response(null, { status: 204 }) : new Response(method === "GET" ? kept : "");
  };
  const fake: FakeClouds = {
    url,
    host,
    seen,
    objects,
    answer: undefined,
    aws: { region: REGION, access_key_id: ACCESS_KEY, secret_access_key: SECRET_KEY, endpoint: url },
    gcp: {
      service_account: JSON.stringify({ client_email: "robot@p.example", private_key: PEM, project_id: "p" }),
      endpoint: url,
    },
    snowflake: { account: "xy12", user: "me", private_key: PEM, database: "db", endpoint: url },
    [Symbol.dispose]: () => void server.stop(true),
  };
  return fake;
}

/** A refusal as AWS writes it. */
export function xml(status: number, code: string, message: string): Response {
  return new Response(`<Error><Code>${code}</Code><Message>${message}</Message></Error>`, { status });
}

/** Whether a request has the signature that what came of its headers, path and body gives. */
function isSigned({ body, headers, method, path }: Seen, service: string, base: string): boolean {
  const given = headers.get("authorization") ?? "";
  const names = /SignedHeaders=([^,]+)/.exec(given)?.[1]?.split(";") ?? [];
  const at = Date.parse((headers.get("x-amz-date") ?? "").replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"));
  const own = names.filter((name) => name !== "host" && name !== "x-amz-date").map((name) => [name, headers.get(name) ?? ""] as const);
  const request = { method, url: new URL(path, base), headers: Object.fromEntries(own), body, service, region: REGION, at };
  return given === signAws(request, { accessKeyId: ACCESS_KEY, secretAccessKey: SECRET_KEY }).authorization;
}

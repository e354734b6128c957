/**
 * Requests of the token exchange: client credentials in the body or in HTTP Basic (RFC 6749
 * sections 2.3.1 and 4.4.2), codes with their verifiers (RFC 7636) and refresh tokens, as a form or
 * as JSON.
 */

/** The error code of a refused request, from RFC 6749 section 5.2. */
export type TokenErrorCode = "invalid_request" | "invalid_client" | "invalid_grant" | "unsupported_grant_type" | "invalid_scope";

/** A request that gets no token. */
export class TokenRequestRefused extends Error {
  override readonly name = "TokenRequestRefused";
  constructor(
    readonly code: TokenErrorCode,
    message: string,
  ) {
    super(message);
  }
}

/** A request with a client's own credentials. */
export interface CredentialsRequest {
  readonly grant: "client_credentials";
  readonly clientId: string;
  readonly clientSecret: string;
  /** The requested permissions; undefined = all that the client has. */
  readonly scope: readonly string[] | undefined;
}

/** A request of an application that a person let in. */
export interface CodeRequest {
  readonly grant: "authorization_code";
  readonly appId: string;
  readonly code: string;
  readonly verifier: string;
  /** Undefined = it was not repeated. */
  readonly redirectUri: string | undefined;
}

/** A request of an application whose access goes on. */
export interface RefreshRequest {
  readonly grant: "refresh_token";
  readonly appId: string;
  readonly refreshToken: string;
}

/** The content of a token request. */
export type TokenRequest = CredentialsRequest | CodeRequest | RefreshRequest;

/** Whether bodies of this content type are accepted. */
export function isTokenRequestType(contentType: string): boolean {
  return FORM.test(contentType) || JSON_TYPE.test(contentType);
}

const FORM = /^application\/x-www-form-urlencoded\b/i;
const JSON_TYPE = /^application\/json\b/i;

/** Whether a request's Authorization header has the scheme Basic. */
export function usesBasic(headers: Headers): boolean {
  return /^Basic\b/i.test(headers.get("authorization") ?? "");
}

/** Reads a request whose content type `isTokenRequestType` accepts. Throws TokenRequestRefused. */
export function readTokenRequest(headers: Headers, body: Uint8Array): TokenRequest {
  const given = FORM.test(headers.get("content-type") ?? "") ? formFields(body) : jsonFields(body);
  const field = (name: string): string | undefined => {
    const value = given[name];
    if (value === undefined || value === null || value === "") return undefined;
    if (typeof value === "string") return value;
    throw new TokenRequestRefused("invalid_request", `${name} must be a string.`);
  };
  const grantType = field("grant_type");
  if (grantType === undefined) throw new TokenRequestRefused("invalid_request", 'grant_type is missing: send "client_credentials".');
  const needed = (name: string): string => {
    const value = field(name);
    if (value === undefined) throw new TokenRequestRefused("invalid_request", `${name} is missing.`);
    return value;
  };
  switch (grantType) {
    case "client_credentials": {
      const { clientId, clientSecret } = usesBasic(headers) ? basicCredentials(headers, field) : bodyCredentials(field);
      return { grant: grantType, clientId, clientSecret, scope: field("scope")?.split(" ").filter(Boolean) };
    }
    case "authorization_code": {
      const [appId, code, verifier] = [needed("client_id"), needed("code"), needed("code_verifier")];
      return { grant: grantType, appId, code, verifier, redirectUri: field("redirect_uri") };
    }
    case "refresh_token":
      return { grant: grantType, appId: needed("client_id"), refreshToken: needed("refresh_token") };
    default:
      throw new TokenRequestRefused(
        "unsupported_grant_type",
        'grant_type must be "client_credentials", "authorization_code" or "refresh_token".',
      );
  }
}

type Field = (name: string) => string | undefined;
type Credentials = Pick<CredentialsRequest, "clientId" | "clientSecret">;

function bodyCredentials(field: Field): Credentials {
  const [clientId, clientSecret] = [field("client_id"), field("client_secret")];
  if (clientId !== undefined && clientSecret !== undefined) return { clientId, clientSecret };
  throw new TokenRequestRefused("invalid_request", "Send client_id and client_secret, in the body or as HTTP Basic.");
}

/**
 * The credentials of the header. The body may repeat the client's id, as some clients do, but
 * nothing else.
 */
function basicCredentials(headers: Headers, field: Field): Credentials {
  const credentials = parseBasic(headers.get("authorization") ?? "");
  if (!credentials) throw new TokenRequestRefused("invalid_client", "The Authorization header is no HTTP Basic credentials.");
  if (field("client_secret") !== undefined || (field("client_id") ?? credentials.clientId) !== credentials.clientId)
    throw new TokenRequestRefused("invalid_request", "Send the credentials in the body or as HTTP Basic, not both.");
  return credentials;
}

/**
 * The credentials in a Basic header, where id and secret are form-encoded and joined by a colon;
 * undefined when it has none.
 */
function parseBasic(header: string): Credentials | undefined {
  try {
    const bytes = Uint8Array.fromBase64(/^Basic +(\S+)$/i.exec(header.trim())?.[1] ?? "");
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    const colon = text.indexOf(":");
    if (colon < 0) return undefined;
    const decode = (part: string) => decodeURIComponent(part.replaceAll("+", " "));
    return { clientId: decode(text.slice(0, colon)), clientSecret: decode(text.slice(colon + 1)) };
  } catch {
    return undefined;
  }
}

function formFields(body: Uint8Array): Record<string, unknown> {
  const form = new URLSearchParams(new TextDecoder().decode(body));
  const fields = Object.fromEntries(form);
  if (Object.keys(fields).length < form.size) throw new TokenRequestRefused("invalid_request", "A field of the form is given twice.");
  return fields;
}

function jsonFields(body: Uint8Array): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Said below, as for JSON that is no object.
  }
  throw new TokenRequestRefused("invalid_request", "The body must be a JSON object with client_id, client_secret and grant_type.");
}

/**
 * The diagnosis of TLS failures. The runtime's fetch only says that a handshake failed; its sockets
 * say why.
 */

import { readFileSync } from "node:fs";
import { connect } from "node:tls";
import { systemWords } from "../disk/disk-error.ts";

/** Longest wait for the handshake that diagnoses a failed one. */
const DIAGNOSIS_TIMEOUT_MS = 3_000;

const UNTRUSTED = "no authority that this machine trusts has signed it";

/** The reason why a certificate is not accepted, by the runtime's code. */
const CERTIFICATE_FAULTS: Readonly<Record<string, string>> = {
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  DEPTH_ZERO_SELF_SIGNED_CERT: "it is signed by itself",
  CERT_HAS_EXPIRED: "it has expired",
  CERT_NOT_YET_VALID: "it is not valid yet",
  ERR_TLS_CERT_ALTNAME_INVALID: "it is for another host",
};

/** A failure of TLS. */
export interface TlsFault {
  /** The words after the server's name in a sentence. */
  readonly description: string;
  /** The next step; undefined when the default, checking the address, fits. */
  readonly hint: string | undefined;
}

/**
 * The fault of a certificate; undefined when the code names none. `extraAuthorities` is the value
 * of NODE_EXTRA_CA_CERTS.
 */
export function certificateFault(code: string, extraAuthorities: string | undefined): TlsFault | undefined {
  const why = CERTIFICATE_FAULTS[code] ?? (/CERT|SELF_SIGNED|ISSUER/.test(code) ? code.toLowerCase().replaceAll("_", " ") : undefined);
  if (why === undefined) return undefined;
  return { description: `has a certificate that is not accepted: ${why}`, hint: nextStep(code, extraAuthorities) };
}

function nextStep(code: string, extraAuthorities: string | undefined): string | undefined {
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") return undefined;
  if (code === "CERT_HAS_EXPIRED" || code === "CERT_NOT_YET_VALID") {
    return "Whoever runs the server must renew it, unless the clock of this machine is wrong.";
  }
  return unusableAuthorities(extraAuthorities) ?? "Name the authority's certificate in NODE_EXTRA_CA_CERTS.";
}

/**
 * The reason why the file of additional authorities that NODE_EXTRA_CA_CERTS names cannot be used;
 * undefined when it can, or none is named.
 */
export function unusableAuthorities(path: string | undefined): string | undefined {
  if (!path) return undefined;
  try {
    if (/-----BEGIN (TRUSTED )?CERTIFICATE-----/.test(readFileSync(path, "latin1"))) return undefined;
    return `NODE_EXTRA_CA_CERTS names ${path}, which holds no certificate in PEM form.`;
  } catch (error) {
    return `NODE_EXTRA_CA_CERTS names ${path}, which cannot be read: ${systemWords(error) ?? String(error)}.`;
  }
}

/**
 * The reason why no handshake succeeds, found by trying one; sends nothing else. `url` starts with
 * https.
 */
export async function handshakeFault(url: string, signal: AbortSignal): Promise<TlsFault> {
  const { hostname, port } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, "");
  const reason = await new Promise<string>((resolve) => {
    const socket = connect({
      host,
      port: Number(port || 443),
      servername: /^[\d.]+$|:/.test(host) ? undefined : host,
      rejectUnauthorized: false,
    });
    const stop = () => socket.destroy();
    const timer = setTimeout(stop, DIAGNOSIS_TIMEOUT_MS);
    signal.addEventListener("abort", stop, { once: true });
    let code = "";
    socket.on("error", (error: Error & { code?: string }) => {
      code = error.code ?? error.message;
    });
    socket.on("close", () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
      resolve(code);
    });
  });
  if (/ALERT_(CERTIFICATE_REQUIRED|HANDSHAKE_FAILURE|BAD_CERTIFICATE)/.test(reason)) {
    const certain = reason.includes("CERTIFICATE_REQUIRED");
    return {
      description: certain
        ? "wants a client certificate, which svc does not have"
        : "refused the TLS handshake, as one that wants a client certificate does",
      hint: "svc shows no client certificate; let the server, or what stands in front of it, take connections without one.",
    };
  }
  if (/WRONG_VERSION_NUMBER|UNKNOWN_PROTOCOL|HTTP_REQUEST/.test(reason)) {
    return { description: "does not speak TLS", hint: "Write http:// in front of the address if the server has no certificate." };
  }
  const why = reason
    .replace(/^ERR_SSL_(TLSV1_ALERT_|SSLV3_ALERT_)?/, "")
    .toLowerCase()
    .replaceAll("_", " ");
  return { description: `did not come to terms about TLS${why ? `: ${why}` : ""}`, hint: undefined };
}

/**
 * Certificates for tests, made by openssl: an authority, and leaf certificates that are valid or
 * have one fault.
 */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A certificate and its key, in PEM form. */
export interface Leaf {
  readonly cert: string;
  readonly key: string;
}

/** An authority that programs trust only when told to. */
export class Authority implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), "svc-authority-"));
  /** The authority's own certificate, for NODE_EXTRA_CA_CERTS. */
  readonly certificate = join(this.folder, "ca.crt");
  private made = 0;

  constructor() {
    this.openssl(
      "req",
      "-x509",
      "-newkey",
      "rsa:2048",
      "-nodes",
      "-days",
      "2",
      "-subj",
      "/CN=Test CA",
      "-addext",
      "keyUsage=critical,keyCertSign,cRLSign",
      ...this.out("ca"),
    );
  }

  /** A certificate for a host; one that has expired has `days` below zero. */
  sign(host: string, days = 2): Leaf {
    const name = `leaf${this.made++}`;
    const [request, extensions] = [join(this.folder, `${name}.csr`), join(this.folder, `${name}.ext`)];
    writeFileSync(extensions, `subjectAltName=DNS:${host}\nauthorityKeyIdentifier=keyid\n`);
    const key = join(this.folder, `${name}.key`);
    this.openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", `/CN=${host}`, "-keyout", key, "-out", request);
    const authority = ["-CA", this.certificate, "-CAkey", join(this.folder, "ca.key"), "-CAcreateserial"];
    const signed = join(this.folder, `${name}.crt`);
    this.openssl("x509", "-req", "-in", request, ...authority, "-extfile", extensions, "-days", String(days), "-out", signed);
    return this.read(name);
  }

  /** A self-signed certificate. */
  selfSigned(host: string): Leaf {
    const name = `leaf${this.made++}`;
    const names = ["-subj", `/CN=${host}`, "-addext", `subjectAltName=DNS:${host}`];
    this.openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", ...names, ...this.out(name));
    return this.read(name);
  }

  private out(name: string): string[] {
    return ["-keyout", join(this.folder, `${name}.key`), "-out", join(this.folder, `${name}.crt`)];
  }

  private read(name: string): Leaf {
    const [cert, key] = ["crt", "key"].map((end) => readFileSync(join(this.folder, `${name}.${end}`), "utf8"));
    return { cert: cert ?? "", key: key ?? "" };
  }

  private openssl(...args: string[]): void {
    const made = Bun.spawnSync(["openssl", ...args], { stdout: "ignore", stderr: "pipe" });
    if (!made.success) throw new Error(`openssl ${args.join(" ")}: ${made.stderr}`);
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

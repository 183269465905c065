/** OpenPGP key of releases: it signs their checksums, and the apt repository. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Signs with a key that is in a folder of its own, which is gone when this is disposed. */
export class ReleaseKey implements Disposable {
  readonly #home = mkdtempSync(join(tmpdir(), "sealift-gpg-"));
  readonly #fingerprint: string;

  /** @param secret file of the secret key, without a passphrase; undefined for a new one, which nobody trusts */
  constructor(secret?: string) {
    if (secret === undefined) {
      const never = ["Sealift rehearsal", "ed25519", "sign", "never"];
      this.#gpg("--passphrase", "", "--quick-gen-key", ...never);
    } else this.#gpg("--import", secret);
    const listed = this.#gpg("--with-colons", "--list-secret-keys");
    const [, fingerprint] = /^fpr:+([0-9A-F]+):/m.exec(listed) ?? [];
    if (fingerprint === undefined) throw new Error(`${secret ?? "gpg"} has no secret key of OpenPGP.`);
    this.#fingerprint = fingerprint;
  }

  #gpg(...words: string[]): string {
    return execFileSync("gpg", ["--homedir", this.#home, "--batch", "--yes", "--quiet", ...words], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    });
  }

  #sign(how: string, file: string, output: string): void {
    const format = ["--armor", "--digest-algo", "SHA512", "--local-user", this.#fingerprint];
    this.#gpg(...format, "--output", output, how, file);
  }

  /** Signs a file beside it. */
  sign(file: string, output: string): void {
    this.#sign("--detach-sign", file, output);
  }

  /** Signs a text that stays readable. */
  signText(file: string, output: string): void {
    this.#sign("--clear-sign", file, output);
  }

  /** Writes the public key. */
  write(output: string): void {
    this.#gpg("--armor", "--output", output, "--export", this.#fingerprint);
  }

  [Symbol.dispose](): void {
    execFileSync("gpgconf", ["--homedir", this.#home, "--kill", "all"], { stdio: "ignore" });
    rmSync(this.#home, { recursive: true, force: true });
  }
}

/** Verifies a signature by a public key alone. @throws Error */
export function verifySignature(publicKey: string, signature: string, file: string): void {
  const folder = mkdtempSync(join(tmpdir(), "sealift-gpgv-"));
  try {
    const keyring = join(folder, "keyring.gpg");
    execFileSync("gpg", ["--homedir", folder, "--batch", "--quiet", "--output", keyring, "--dearmor"], {
      input: readFileSync(publicKey),
      stdio: ["pipe", "ignore", "pipe"],
    });
    execFileSync("gpgv", ["--quiet", "--keyring", keyring, signature, file], { stdio: "pipe" });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

// Holds: the form of trust roots (lib/artifact/trust/root.ts, lib/artifact/trust/edit.ts)
/** Debian's securesystemslib as the other implementation: it verifies what is signed here, and signs roots. */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { changedRoot, keysOfRoot, newRoot, signedBy } from "../../../../lib/artifact/trust/edit.ts";
import { keyIdOf, rootSigner } from "../../../../lib/artifact/trust/keys.ts";
import { anchoredRoot, nextRoot, parseRoot } from "../../../../lib/artifact/trust/root.ts";
import { p256Key } from "../../../support/forged/p256-roots.ts";
import { heldKey } from "../../../support/forged/roots.ts";
import { needs, PYTHON3 } from "../../../support/programs/optional.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const PROGRAM = fileURLToPath(new URL("../../../support/programs/sslib_roots.py", import.meta.url));
const python = (...args: string[]): string => execFileSync(PYTHON3, [PROGRAM, ...args], { encoding: "utf8" });

/** The raw private key of Ed25519, hexadecimal. */
const seedOf = ({ privateKey }: ReturnType<typeof heldKey>): string =>
  privateKey.export({ format: "der", type: "pkcs8" }).subarray(-32).toString("hex");
const pemOf = ({ privateKey }: ReturnType<typeof heldKey>): string =>
  privateKey.export({ format: "pem", type: "pkcs8" }).toString();

t.test(
  "securesystemslib and sealift sign one root together, by keys of both kinds",
  { skip: needs("python3-nacl", "python3-securesystemslib") },
  (t) => {
    const folder = temporaryFolder(t);
    const file = (name: string, text: string): string => {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    };
    const [a, c, ci] = [heldKey(), heldKey(), heldKey()];
    const b = p256Key();
    const pem = file("b.pem", pemOf(b));
    const [alice, bob, carol] = [a, b, c].map((held) => rootSigner(Buffer.from(pemOf(held)), "it"));
    const root = [alice!, bob!, carol!].map(({ key }) => ({ key, name: 'ü ✓ "quoted" \\ 🚢' }));
    const made = newRoot({ root, signers: [{ key: ci.key }], threshold: 2 }, Date.now());

    const ours = signedBy(parseRoot(signedBy(parseRoot(made, "1"), alice!), "1"), bob!);
    t.equal(python("verify", file("ours.json", ours), file("ours.json", ours)).trim(), "2");
    const changed = ours.replace(/"version": 1/, '"version": 2');
    t.equal(python("verify", file("ours.json", ours), file("changed.json", changed)).trim(), "0");

    const once = python("sign", file("1.json", made), "ed25519", seedOf(a), keyIdOf(alice!.key));
    const text = python("sign", file("1.json", once), "ecdsa", pem, keyIdOf(bob!.key));
    const first = anchoredRoot(text, "1");
    const next = signedBy(parseRoot(changedRoot(first, keysOfRoot(first), Date.now()), "2"), carol!);
    const second = python("sign", file("2.json", next), "ecdsa", pem, keyIdOf(bob!.key));
    t.match(nextRoot(first, second, "2"), { version: 2 });
    t.equal(python("verify", file("1.json", text), file("2.json", second)).trim(), "2");
    t.end();
  },
);

// Only in test:all: each of its archives is published, and refused by a host, 9 s of a processor.
import { randomBytes } from "node:crypto";
import { cpSync } from "node:fs";
import t, { type Test } from "tap";
import type { Code } from "../../../lib/contract/codes.ts";
import type { ArtifactLocation, DeltaLocation } from "../../../lib/contract/surfaces/deploy.ts";
import { forgedArtifact, forgedFrame, type ForgedSigner, forgedSigner } from "../../support/forged/artifact.ts";
import { deltaFleet } from "../../support/host/delta-fleet.ts";
import { startScripted } from "../../support/hub/scripted-server.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

/** Changes that an attacker between hub and host makes to a delta; everything else passes as it is. */
interface Lies {
  /** Names the delta's place, size and signer. */
  location?: (delta: DeltaLocation, full: ArtifactLocation) => Partial<DeltaLocation>;
  /** The whole field. */
  deltas?: unknown;
  /** The delta's bytes. */
  bytes?: (honest: Buffer) => Buffer;
  /** The key that opens it, in base64. */
  dek?: string;
}

const ROUTES = [
  [/\/artifacts\//, "location"],
  [/\/deployments\/authorize$/, "authorize"],
  [/^\/delta$/, "delta"],
] as const;

/** Stands between a hub and its hosts, as whoever owns the wire or the hub. */
async function startAttacker(t: Test, hubUrl: string) {
  const attacker = { url: "", lies: {} as Lies, downloads: 0 };
  let honest: DeltaLocation;
  const pass = async (path: string, method: string, headers: Record<string, string>, body: Buffer) => {
    const answer = await fetch(hubUrl + path, {
      method,
      headers,
      ...(method !== "GET" && { body: Uint8Array.from(body) }),
    });
    return { status: answer.status, bytes: Buffer.from(await answer.arrayBuffer()) };
  };
  const server = await startScripted(t, {
    routes: ROUTES,
    truth: (route) => (response, request) => {
      const { lies } = attacker;
      const answer = async (): Promise<Buffer> => {
        if (route === "delta") {
          attacker.downloads++;
          const { bytes } = await pass(honest.download_url.slice(hubUrl.length), "GET", {}, Buffer.of());
          return lies.bytes?.(bytes) ?? bytes;
        }
        const names = ["authorization", "x-api-key", "content-type"];
        const headers = names.flatMap((name) => {
          const value = request.headers[name];
          return typeof value === "string" ? [[name, value] as const] : [];
        });
        const { status, bytes } = await pass(request.path, request.method, Object.fromEntries(headers), request.body);
        response.statusCode = status;
        if (route === "location") {
          const full = JSON.parse(bytes.toString()) as ArtifactLocation;
          honest = full.deltas![0]!;
          const deltas = [{ ...honest, download_url: `${attacker.url}/delta`, ...lies.location?.(honest, full) }];
          return Buffer.from(JSON.stringify({ ...full, deltas, ...("deltas" in lies && { deltas: lies.deltas }) }));
        }
        const { artifact_signature } = (route === "authorize" ? JSON.parse(request.body.toString()) : {}) as {
          artifact_signature?: string;
        };
        if (lies.dek !== undefined && artifact_signature === honest.signature)
          return Buffer.from(JSON.stringify({ dek: lies.dek }));
        return bytes;
      };
      answer().then(
        (bytes) => response.end(bytes),
        () => response.destroy(),
      );
    },
  });
  attacker.url = server.url;
  return attacker;
}

const flipped =
  (at: (length: number) => number) =>
  (honest: Buffer): Buffer => {
    const bytes = Buffer.from(honest);
    bytes[at(bytes.length)]! ^= 1;
    return bytes;
  };

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");

/** A delta that a stranger made and signed: nobody has to break anything for that. */
function strangersDelta(stranger: ForgedSigner): { location: Partial<DeltaLocation>; file: Buffer } {
  const { file, signature, publicKey } = forgedArtifact(forgedFrame(randomBytes(1000)), stranger);
  return {
    file,
    location: { signature: base64(signature), signer_public_key: base64(publicKey), size_bytes: file.length },
  };
}

const ATTACKS: Record<string, { lies: () => Lies; code: Code }> = {
  "a changed bit of the tag": {
    lies: () => ({ bytes: flipped((length) => length - 1) }),
    code: "signature_invalid",
  },
  "a changed bit of the nonce": { lies: () => ({ bytes: flipped(() => 0) }), code: "signature_invalid" },
  "a changed bit in the middle": {
    lies: () => ({ bytes: flipped((length) => length >> 1) }),
    code: "signature_invalid",
  },
  "no tag at all": { lies: () => ({ bytes: (honest) => honest.subarray(0, -16) }), code: "signature_invalid" },
  "bytes after the tag": {
    lies: () => ({ bytes: (honest) => Buffer.concat([honest, Buffer.alloc(16)]) }),
    code: "signature_invalid",
  },
  "no bytes": { lies: () => ({ bytes: () => Buffer.of() }), code: "signature_invalid" },
  "the full artifact's signature": {
    lies: () => ({ location: (_, { signature }) => ({ signature }) }),
    code: "signature_invalid",
  },
  "a stranger's delta under the pinned key's name": {
    lies: () => {
      const { file, location } = strangersDelta(forgedSigner());
      const { signer_public_key: _, signature: __, ...rest } = location;
      // The hub has a key for the honest signature only.
      return { location: () => rest, bytes: () => file };
    },
    code: "signature_invalid",
  },
  "another key": { lies: () => ({ dek: base64(randomBytes(32)) }), code: "decryption_failed" },
};

t.test("a delta with a wrong signer, tag or digest is of no use, and the full artifact is taken", async (t) => {
  const { hubUrl, publish, deployTo, release } = await deltaFleet(t);
  await publish("1.0.0");
  await publish("1.1.0");
  const attacker = await startAttacker(t, hubUrl);
  const wanted = temporaryFolder(t);
  await deployTo(wanted, "1.1.0", { delta: false });
  const base = temporaryFolder(t);
  await deployTo(base, "1.0.0");
  const upgrade = async (lies: Lies) => {
    const root = temporaryFolder(t);
    cpSync(base, root, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
    Object.assign(attacker, { lies, downloads: 0 });
    const deployed = await deployTo(root, "1.1.0", { hubUrl: attacker.url });
    t.match(deployed.result, { outcome: "deployed", version: "1.1.0" });
    t.strictSame(release(root), release(wanted), "the tree is the full artifact's");
    return deployed;
  };

  await t.test("nothing changed: the way through the attacker works", async (t) => {
    const { find } = await upgrade({});
    t.ok(find("delta.chosen"));
    t.equal(find("delta.failed"), undefined);
    t.equal(attacker.downloads, 1);
  });

  for (const [what, { lies, code }] of Object.entries(ATTACKS))
    await t.test(what, async (t) => {
      t.match((await upgrade(lies())).find("delta.failed"), { base_version: "1.0.0", code });
    });

  await t.test("a stranger's delta under the stranger's name is not even fetched", async (t) => {
    const { file, location } = strangersDelta(forgedSigner());
    const { find } = await upgrade({ location: () => location, bytes: () => file });
    t.equal(find("delta.chosen"), undefined);
    t.equal(attacker.downloads, 0);
  });

  await t.test("a base under another digest than the host's is not this host's", async (t) => {
    const { find } = await upgrade({ location: () => ({ base_content_sha256: "0".repeat(64) }) });
    t.equal(find("delta.chosen"), undefined);
    t.equal(attacker.downloads, 0);
  });

  await t.test("a field of another form is ignored, and an event says so", async (t) => {
    const whole = { base_version: "1.0.0", base_content_sha256: "0".repeat(64) };
    for (const deltas of [null, "x", [whole], [{ ...whole, size_bytes: 1, download_url: "file:///etc/passwd" }], {}]) {
      const { find } = await upgrade({ deltas });
      t.equal(find("delta.chosen"), undefined);
      t.match(find("warning"), { message: /deltas/ }, JSON.stringify(deltas));
    }
  });
});

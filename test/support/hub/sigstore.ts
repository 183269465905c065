/** A certificate authority and logs of our own, with which a workflow signs where something was built. */
import { createHash, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { initializeCA, initializeCTLog, initializeTLog } from "@sigstore/mock";

export const ISSUER = "https://token.actions.githubusercontent.com";
export const REPOSITORY = "https://github.com/acme/tide";
export const WORKFLOW = `${REPOSITORY}/.github/workflows/release.yml@refs/heads/main`;

interface KeyPair {
  publicKey: KeyObject;
  privateKey: KeyObject;
}

/** A log's answer to an entry. */
interface LogEntry {
  body: string;
  integratedTime: number;
  logID: string;
  logIndex: number;
  verification: {
    inclusionProof: { logIndex: number; rootHash: string; treeSize: number; checkpoint: string };
    signedEntryTimestamp: string;
  };
}

/** A statement, and who signs it. */
export interface Attestation {
  /** SHA-256 of what it is about. */
  subjects: readonly string[];
  predicateType?: string;
  issuer?: string;
  repository?: string;
  workflow?: string;
  /** Changes the statement before it is signed. */
  change?: (statement: Record<string, unknown>) => unknown;
  payloadType?: string;
}

export interface Sigstore {
  /** The root that verifiers trust, as JSON. */
  trustedRoot: string;
  /** Makes a bundle. */
  attest(attestation: Attestation): Promise<Record<string, unknown>>;
}

const ecdsa = (): KeyPair => generateKeyPairSync("ec", { namedCurve: "P-256" });
const sha256 = (bytes: Uint8Array): Buffer => createHash("sha256").update(bytes).digest();
const base64 = (bytes: Uint8Array | ArrayBuffer): string => Buffer.from(bytes as Uint8Array).toString("base64");
const bytesOf = (view: ArrayBufferView): Buffer => Buffer.from(view.buffer, view.byteOffset, view.byteLength);

const preAuthEncoding = (type: string, payload: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`DSSEv1 ${Buffer.byteLength(type)} ${type} ${payload.length} `), payload]);

/** The in-toto statement of a build. */
export const statementOf = ({ subjects, predicateType = "https://slsa.dev/provenance/v1" }: Attestation) => ({
  _type: "https://in-toto.io/Statement/v1",
  subject: subjects.map((digest, index) => ({ name: `artifact-${index}`, digest: { sha256: digest } })),
  predicateType,
  predicate: {
    buildDefinition: { buildType: "https://actions.github.io/buildtypes/workflow/v1", externalParameters: {} },
    runDetails: { builder: { id: WORKFLOW } },
  },
});

export async function startSigstore(): Promise<Sigstore> {
  const [ctKey, logKey] = [ecdsa(), ecdsa()];
  const ctLog = await initializeCTLog(ctKey);
  const authority = await initializeCA(generateKeyPairSync("ec", { namedCurve: "P-384" }), ctLog);
  const log = await initializeTLog("https://rekor.example.org", logKey);
  const start = new Date(Date.now() - 60_000).toISOString();
  const spki = ({ publicKey }: KeyPair): Buffer => publicKey.export({ format: "der", type: "spki" });
  const logOf = (key: KeyPair, baseUrl: string) => ({
    ...{ baseUrl, hashAlgorithm: "SHA2_256", logId: { keyId: base64(sha256(spki(key))) } },
    publicKey: { rawBytes: base64(spki(key)), keyDetails: "PKIX_ECDSA_P256_SHA_256", validFor: { start } },
  });
  return {
    trustedRoot: JSON.stringify({
      mediaType: "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
      tlogs: [logOf(logKey, "https://rekor.example.org")],
      ctlogs: [logOf(ctKey, "https://ct.example.org")],
      certificateAuthorities: [
        {
          subject: { organization: "sigstore.mock", commonName: "sigstore" },
          uri: "https://fulcio.example.org",
          certChain: { certificates: [{ rawBytes: base64(bytesOf(authority.rootCertificate)) }] },
          validFor: { start },
        },
      ],
      timestampAuthorities: [],
    }),
    async attest(attestation) {
      const { issuer = ISSUER, repository = REPOSITORY, workflow = WORKFLOW } = attestation;
      const { change = (statement) => statement, payloadType = "application/vnd.in-toto+json" } = attestation;
      const leaf = ecdsa();
      const certificate = bytesOf(
        await authority.issueCertificate({
          publicKey: new Uint8Array(spki(leaf)),
          subjectAltName: workflow,
          extensions: [
            { oid: "1.3.6.1.4.1.57264.1.8", value: issuer },
            { oid: "1.3.6.1.4.1.57264.1.12", value: repository },
          ],
        }),
      );
      const pem = `-----BEGIN CERTIFICATE-----\n${base64(certificate)
        .match(/.{1,64}/g)!
        .join("\n")}\n-----END CERTIFICATE-----\n`;
      const payload = Buffer.from(JSON.stringify(change(statementOf(attestation))));
      const signature = sign("sha256", preAuthEncoding(payloadType, payload), leaf.privateKey);
      const envelope = { payload: base64(payload), payloadType, signatures: [{ sig: base64(signature), keyid: "" }] };
      const logged: object = await log.log({
        apiVersion: "0.0.1",
        kind: "dsse",
        spec: {
          envelopeHash: { algorithm: "sha256", value: sha256(Buffer.from(JSON.stringify(envelope))).toString("hex") },
          payloadHash: { algorithm: "sha256", value: sha256(payload).toString("hex") },
          signatures: [{ signature: base64(signature), verifier: base64(Buffer.from(pem)) }],
        },
      });
      const entry = Object.values(logged)[0] as LogEntry;
      const { inclusionProof: proof, signedEntryTimestamp } = entry.verification;
      return {
        mediaType: "application/vnd.dev.sigstore.bundle.v0.3+json",
        verificationMaterial: {
          certificate: { rawBytes: base64(certificate) },
          tlogEntries: [
            {
              logIndex: String(entry.logIndex),
              logId: { keyId: base64(Buffer.from(entry.logID, "hex")) },
              kindVersion: { kind: "dsse", version: "0.0.1" },
              integratedTime: String(entry.integratedTime),
              inclusionPromise: { signedEntryTimestamp },
              inclusionProof: {
                logIndex: String(proof.logIndex),
                rootHash: base64(Buffer.from(proof.rootHash, "hex")),
                treeSize: String(proof.treeSize),
                hashes: [],
                checkpoint: { envelope: proof.checkpoint },
              },
              canonicalizedBody: entry.body,
            },
          ],
        },
        dsseEnvelope: envelope,
      };
    },
  };
}

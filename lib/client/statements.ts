import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { endorse } from "../artifact/statements/endorsement.ts";
import * as routes from "../contract/statements/routes.ts";
import {
  type Endorsed,
  STATEMENT_BYTES,
  STATEMENT_PART,
  type StatementKind,
  type StatementRecord,
  statementRecord,
  type StatementsAnswer,
} from "../contract/statements/statements.ts";
import type { Target } from "../contract/target.ts";
import { readJson, statusError } from "./answers.ts";
import { ask, type Asking, requestOf } from "./ask.ts";
import { formBody, wholeBytes } from "./file-form.ts";
import { bodyOf, type HttpRequest, operationError, send, transportError } from "./http.ts";
import type { HubConnection } from "./hub-connection.ts";
import { asNamed } from "./named-bytes.ts";

/** Statement to be sent to a hub. */
export interface NewStatement {
  kind: StatementKind;
  bytes: Buffer;
}

/** Signer of a version, if it has one: the 32-byte seed and its public key in base64. */
export interface StatementSigner {
  seed: Uint8Array;
  publicKey: string;
}

/**
 * Client of the statements of a target's versions (docs/contract/statements.md). @throws AuthenticationError;
 * DeploymentError
 */
export class StatementsClient {
  readonly #target: Target;
  readonly #hub: HubConnection;

  constructor(target: Target, hub: HubConnection) {
    this.#target = target;
    this.#hub = hub;
  }

  /** Lists the statements of a version. */
  list(version: string): Promise<StatementsAnswer> {
    const { kind, slug } = this.#target;
    const asking: Asking = { operation: "location", hub: this.#hub };
    return kind === "project"
      ? ask(routes.listProjectStatements, { params: { project_id: slug, version } }, asking)
      : ask(routes.listTargetStatements[kind], { params: { slug, version } }, asking);
  }

  /**
   * Adds a statement to a published version.
   *
   * @param about the digests of the version's bytes and tree
   * @throws AuthenticationError, PublishError
   */
  async add(
    { kind, bytes }: NewStatement,
    about: Omit<Endorsed, "target" | "kind" | "sha256">,
    signer: StatementSigner | undefined,
  ): Promise<StatementRecord> {
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    const endorsed = { target: this.#target, ...about, kind, sha256 };
    const signed = signer && {
      signature: Buffer.from(endorse(endorsed, signer.seed)).toString("base64"),
      signer_public_key: signer.publicKey,
    };
    const form = () =>
      Promise.resolve(formBody({ fields: { kind, ...signed }, part: STATEMENT_PART, file: wholeBytes(bytes) }));
    const request: HttpRequest = { ...this.#adding(about.version), form };
    const response = await send(request, this.#hub);
    try {
      return await readJson(response, request, statementRecord);
    } catch (error) {
      throw transportError(error, request, response.url, this.#hub);
    }
  }

  #adding(version: string): HttpRequest {
    const { kind, slug } = this.#target;
    const asking: Asking = { operation: "publish", hub: this.#hub };
    return kind === "project"
      ? requestOf(routes.addProjectStatement, { params: { project_id: slug, version } }, asking)
      : requestOf(routes.addTargetStatement[kind], { params: { slug, version } }, asking);
  }

  /** Streams the bytes of a statement. @throws ArtifactError `bad_answer` for bytes that differ from the record */
  async *read(
    version: string,
    { kind: statement, sha256, size_bytes: size }: Pick<StatementRecord, "kind" | "sha256" | "size_bytes">,
  ): AsyncGenerator<Buffer> {
    const { kind, slug } = this.#target;
    const asking: Asking = { operation: "download", hub: this.#hub };
    const request =
      kind === "project"
        ? requestOf(routes.readProjectStatement, { params: { project_id: slug, version, kind: statement } }, asking)
        : requestOf(routes.readTargetStatement[kind], { params: { slug, version, kind: statement } }, asking);
    const response = await send(request, this.#hub);
    const named = { size: Math.min(size, STATEMENT_BYTES[statement]), sha256 };
    const differing = () =>
      operationError("download", "bad_answer", `the ${statement} is not the one that the hub lists.`);
    try {
      if (response.status !== 200) throw await statusError(response, request);
      yield* asNamed(bodyOf(response, request), named, differing);
    } finally {
      if (!response.body.destroyed) response.discard();
    }
  }

  /** Saves the bytes of a statement as a file. @param file must not exist */
  async save(version: string, record: StatementRecord, file: string): Promise<void> {
    await pipeline(this.read(version, record), createWriteStream(file, { flags: "wx", mode: 0o644 }));
  }
}

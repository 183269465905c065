import type { FastifyRequest } from "fastify";
import type { Logger } from "../../support/logging.ts";
import { forbidden } from "../base/errors.ts";
import type { Principal } from "../base/principal.ts";
import { keyOfPerson, revokeKeysOfPerson } from "../records/person-keys.ts";
import { inTransaction, type Records } from "../records/port.ts";
import { lockIfThere } from "../records/projects.ts";
import { auditWriterOf } from "./audit.ts";
import type { Grant, Person } from "./sign-in-way.ts";
import { actAs } from "./web-calls.ts";
import { SESSION_MS } from "./web-sessions.ts";

/** Returns the name of a person's keys. */
const nameOf = ({ subject, issuer }: Person): string => `${subject} by ${issuer}`;

/** Keys of people who sign in by an identity provider. Sessions refer to them; their secrets are never handed out. */
export class PersonKeys {
  readonly #hub: Records & { logger: Logger | undefined };

  constructor(hub: Records & { logger: Logger | undefined }) {
    this.#hub = hub;
  }

  /**
   * Creates or renews the key behind a person's session, and writes an audit entry for the sign-in. Revokes the
   * person's keys with other rights.
   *
   * @throws HubError 403 for a grant of an unknown project
   */
  async give(
    request: FastifyRequest,
    { person, grant: { owner, scopes, projectId } }: { person: Person; grant: Grant },
  ): Promise<{ principal: Principal; keyHash: string }> {
    const { database, clock } = this.#hub;
    return inTransaction(database.kysely, async (transaction) => {
      const project = projectId === null ? null : await lockIfThere(transaction, projectId);
      if (project === undefined || (project !== null && project.owner !== owner))
        throw forbidden("The hub grants you a project that is not there. Ask its operator.");
      const now = clock();
      const expiresAt = new Date(now + SESSION_MS).toISOString();
      const wanted = { name: nameOf(person), owner, scopes, project, expiresAt };
      const { id, hash, replaced } = await keyOfPerson(transaction, wanted, now);
      const principal = { keyId: id, owner, scopes: new Set(scopes), projectId, host: null, expiresAt };
      actAs(request, hash, person);
      const ended = replaced.length > 0 && { revoked: replaced.join(" ") };
      const facts = { owner, scopes: scopes.join(" "), project_id: projectId, ...ended };
      await auditWriterOf(this.#hub, request, principal)(transaction, { action: "web.sign-in", subject: id, facts });
      return { principal, keyHash: hash };
    });
  }

  /** Revokes the keys of a person who has lost every grant, which ends the person's sessions. */
  async end(person: Person): Promise<void> {
    const { database, clock, logger } = this.#hub;
    const revoked = await inTransaction(database.kysely, (transaction) =>
      revokeKeysOfPerson(transaction, nameOf(person), clock()),
    );
    if (revoked.length > 0) logger?.info({ revoked }, "ended the sessions of a person who has no grant any more");
  }
}

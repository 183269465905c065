import type { PublisherRecord, PublisherRequest, PublisherTest } from "../contract/publishers/publishers.ts";
import * as publishers from "../contract/publishers/routes.ts";
import { ask, type Asking, askPages } from "./ask.ts";
import type { HubConnection } from "./hub-connection.ts";
import { findOne } from "./lookup.ts";

/** Client of trusted publishers (docs/contract/publishers.md). @throws AuthenticationError, DeploymentError */
export class PublishersClient {
  readonly #asking: Asking;

  constructor(hub: HubConnection) {
    this.#asking = { operation: "keys", hub };
  }

  /** Adds a trusted publisher. */
  add(publisher: PublisherRequest): Promise<PublisherRecord> {
    return ask(publishers.addPublisher, { body: publisher }, this.#asking);
  }

  /** Lists the caller's publishers, page by page. */
  list(): AsyncGenerator<PublisherRecord> {
    return askPages(publishers.listPublishers, {}, this.#asking);
  }

  /** Finds a publisher by its id or name. @throws DeploymentError `not_found`; UsageError `usage` for several */
  called(text: string): Promise<PublisherRecord> {
    return findOne(text, this.list(), [({ id }) => id === text, ({ name }) => name === text], {
      what: "publisher",
      list: "sealift publisher list",
      nameOf: ({ name }) => name,
      shown: ({ id, target, creates }) => `${id} (${target ?? creates?.slug})`,
    });
  }

  /** Removes a trusted publisher. */
  remove(id: string): Promise<void> {
    return ask(publishers.removePublisher, { params: { publisher: id } }, this.#asking);
  }

  /** Compares an identity token with a publisher. */
  test(id: string, token: string): Promise<PublisherTest> {
    return ask(publishers.testPublisher, { params: { publisher: id }, body: { token } }, this.#asking);
  }
}

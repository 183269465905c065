import { AsyncLocalStorage } from "node:async_hooks";
import { channel } from "node:diagnostics_channel";
import { mkdir, symlink } from "node:fs/promises";
import { dirname } from "node:path";
import { FollowedSettings } from "../../lib/agent/settings/follow.ts";
import { Hints } from "../../lib/agent/watch/hints.ts";
import type { WatchTarget } from "../../lib/agent/watch/target.ts";
import { DeployClient } from "../../lib/client/deploy-client.ts";
import { OwnSettingsClient } from "../../lib/client/settings.ts";
import { asSealiftError } from "../../lib/contract/errors.ts";
import { targetName } from "../../lib/contract/target.ts";
import { layoutOf } from "../../lib/releases/layout.ts";
import type { SettingsHost } from "../../test/support/hub/settings.ts";

/** Orders shared by all hosts of a run. */
export interface HostOrders {
  hubUrl: string;
  projectId: string;
  /** Public key of the operator, hexadecimal. */
  operator: string;
  /** Called when its stream of hints is open. */
  onConnected: () => void;
  /** Called with the number of settings that it has applied. */
  onApplied: (number: number) => void;
  onError: (code: string) => void;
}

/** Host whose requests are made now. */
const asking = new AsyncLocalStorage<WatchingHost>();
channel("http.client.request.created").subscribe(() => {
  const host = asking.getStore();
  if (host !== undefined) host.requests++;
});

const VERSION = "1.0.0";

/**
 * Host that follows its settings with the code of the watch: a stream of hints, a poll after each, its settings and
 * what became of them. It runs no application.
 */
export class WatchingHost implements AsyncDisposable {
  /** Requests so far, that of the stream among them. */
  requests = 0;
  readonly #host: SettingsHost;
  readonly #orders: HostOrders;
  readonly #root: string;
  readonly #client: DeployClient;
  readonly #stop = new AbortController();
  readonly #follows = new FollowedSettings();
  #etag: string | undefined;
  #named: number | undefined;
  #turn: Promise<void> = Promise.resolve();
  readonly #hints: Hints;

  /** Starts a host with a project root in a new folder, whose release is a name alone. */
  static async start(host: SettingsHost, orders: HostOrders, root: string): Promise<WatchingHost> {
    const [layout, target] = [layoutOf(root), targetName({ kind: "project", slug: orders.projectId })];
    await mkdir(dirname(layout.current(target)), { recursive: true });
    await symlink(layout.currentText(target, VERSION), layout.current(target));
    return new WatchingHost(host, orders, root);
  }

  private constructor(host: SettingsHost, orders: HostOrders, root: string) {
    this.#host = host;
    this.#orders = orders;
    this.#root = root;
    const connection = { hubUrl: orders.hubUrl, apiKey: host.api, hostId: host.name, timeoutMs: 30_000 };
    this.#client = new DeployClient(orders.projectId, { ...connection, signal: this.#stop.signal });
    this.#hints = new Hints({
      look: () => void asking.run(this, () => this.look()),
      flows: () => undefined,
      emit: ({ event }) => (event === "hints.connected" ? orders.onConnected() : orders.onError(event)),
      random: Math.random,
    });
    const hints = { target: `project:${orders.projectId}`, connection };
    const target = { name: host.name, hub: orders.hubUrl, hints } as unknown as WatchTarget;
    asking.run(this, () => this.#hints.replace([target]));
  }

  /** Polls, and follows what the answer says of settings; one look after the other. */
  look(): Promise<void> {
    this.#turn = this.#turn.then(() =>
      this.#check().catch((error: unknown) => {
        if (!this.#stop.signal.aborted) this.#orders.onError(asSealiftError(error).code);
      }),
    );
    return this.#turn;
  }

  async #check(): Promise<void> {
    const { projectId, operator, onApplied, onError, hubUrl } = this.#orders;
    const latest = await this.#client.latestIfChanged(this.#etag, VERSION);
    if (latest.changed) {
      this.#etag = latest.etag;
      this.#named = latest.value.settings_version;
    }
    const { signal } = this.#stop;
    const { key, card, terms, api } = this.#host;
    await this.#follows.followOrTell({
      layout: layoutOf(this.#root),
      of: { kind: "project", slug: projectId, target: targetName({ kind: "project", slug: projectId }) },
      ...{ named: this.#named, signal },
      source: {
        ...{ key, card: { card, terms }, project: projectId, operators: [operator] },
        client: () => new OwnSettingsClient({ hubUrl, apiKey: api, timeoutMs: 30_000, signal }, projectId),
      },
      emit: (event) => {
        if (event.event === "settings.refused") onError(event.code);
        if (event.event === "settings.done") onApplied(event.number);
      },
      run: () => Promise.resolve({ state: "applied", code: null, ignored: [], release: VERSION, units: [] }),
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#hints[Symbol.asyncDispose]();
    await this.#turn;
  }
}

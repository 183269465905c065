import type { IncomingMessage, ServerResponse } from "node:http";
import type { Descriptor } from "../../contract/files/descriptor.ts";
import type { ExecutionMode, PluginStatus, RuntimeCode } from "../../contract/surfaces/runtime.ts";
import type { HealthReport } from "../../sdk/definition.ts";
import type { Logger } from "../../support/logging.ts";
import type { TraceContext } from "../../support/trace-context.ts";
import type { ActionFacts } from "../guest/definition.ts";
import type { PluginPort } from "../guest/plugin-port.ts";

/**
 * One generation of a plugin in memory, whichever way it runs. The lifecycle swaps instances; callers see only this.
 */
export interface PluginInstance {
  readonly mode: ExecutionMode;
  readonly actions: ReadonlySet<string>;
  /** Calls that have not ended. */
  readonly inFlight: number;
  /** The plugin's actions, routes and events, for those who read them. */
  describe(): InstanceDescription;
  /** For status: what is particular to the mode. */
  facts(): Pick<PluginStatus, "pid" | "restarts" | "memory_mb" | "held_by" | "disk" | "instances">;
  /**
   * Runs an action and returns its result as JSON text: at once when the action needs no promise.
   * @throws RuntimeFault, at once or as the promise's rejection
   */
  call(action: string, payload: unknown, facts: CallFacts): string | Promise<string>;
  /** Asks the plugin how it is. @throws RuntimeFault `unhealthy` when no answer comes in time */
  health(timeoutMs: number): Promise<Required<HealthReport>>;
  deliver(event: string, payload: unknown, source: string): void;
  /** Serves a route of the plugin; absent where there are none. */
  handle?: (request: IncomingMessage, response: ServerResponse) => void;
  /** Resolves when nothing is in flight any more, or after `timeoutMs` milliseconds. */
  drain(timeoutMs: number): Promise<void>;
  /** Unloads the plugin; what is still in flight fails. */
  stop(): Promise<void>;
}

export interface InstanceDescription {
  actions: ReadonlyMap<string, ActionFacts>;
  /** Without those of a router of the plugin's own. */
  routes: readonly RouteFacts[];
}

export interface RouteFacts {
  methods: readonly string[];
  /** In Fastify's form, below the plugin's name. */
  path: string;
  /** Absent for a public route. */
  permissions: readonly string[] | undefined;
}

export interface CallFacts {
  requestId: string | undefined;
  /** The number of plugins that called each other up to here; a caller from outside is 0. */
  depth: number;
  /** The span that the call is below, also when the runtime sends none. */
  trace?: TraceContext | undefined;
  /** The payload as clean JSON text, where the caller sent it so. */
  payloadText?: string | undefined;
}

/** The parts that an instance is made from. */
export interface InstanceOptions {
  location: PluginLocation;
  descriptor: Descriptor;
  /** Real path of the entry point. */
  entry: string;
  env: Record<string, string>;
  /** An older instance still serves. */
  replaces: boolean;
  logger: Logger;
  /** The plugin's way to services, events and other plugins. */
  port: PluginPort<CallFacts>;
  observer: InstanceObserver;
}

/** Hears what happens to an instance between its start and its end. */
export interface InstanceObserver {
  /** A frame of a sandbox was dropped: `unknown_id`, `late`, `malformed` or `unread`. */
  dropped(reason: string): void;
  /** An audited plugin did something that a sandbox is refused. */
  used(use: Use): void;
  /** The network was refused to a sandbox. */
  denied(host: string): void;
  /** The instance restarted its process. */
  restarted(): void;
  /** The instance has given up; it serves no call any more. */
  failed(code: RuntimeCode, message: string): void;
}

/** The place of a plugin on this host. */
export interface PluginLocation {
  /** The folder's name under the plugins folder: the id that it was deployed under. */
  id: string;
  /** The plugins folder's own path to it, a link where the agent deployed it. */
  path: string;
  /** Its real path: the release. */
  folder: string;
  /** The real path of the host's store for its data, which `data/` of every release links to; absent without one. */
  hostData: string | undefined;
}

/** One thing that a plugin did and that a permission, a grant or the sandbox decides about. */
export type Use =
  /** A service, an event or another plugin: `permissions` of the descriptor. */
  | { what: "service"; target: string; action: string }
  /** A server that it spoke HTTP with, as `host:port`: `network`. */
  | { what: "host"; host: string }
  /** A use that Node's permission model would have refused, in its own words. */
  | { what: "node"; permission: string; resource: string };

/** Hears of every use. Where there is one, nothing is refused by permissions. */
export type Auditor = (plugin: string, use: Use) => void;

/**
 * Node's permission model in the sandboxes of a runtime: `audited` lets a plugin do what it would refuse, and tells;
 * `absent` is for tests, which see by it that the wall holds alone.
 */
export type PermissionModel = "enforced" | "audited" | "absent";

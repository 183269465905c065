import type { IncomingMessage, ServerResponse } from "node:http";
import type { Descriptor } from "../../contract/files/descriptor.ts";
import type { ExecutionMode, PluginStatus, RuntimeCode } from "../../contract/surfaces/runtime.ts";
import type { HealthReport } from "../../sdk/definition.ts";
import type { Logger } from "../../support/logging.ts";
import type { TraceContext } from "../../support/trace-context.ts";
import type { ActionFacts } from "../guest/definition.ts";
import type { PluginPort } from "../guest/plugin-port.ts";

/**
 * Instance of a plugin in memory, whichever way it runs. The lifecycle swaps instances; callers see only this
 * interface.
 */
export interface PluginInstance {
  readonly mode: ExecutionMode;
  readonly actions: ReadonlySet<string>;
  /** Number of calls that have not ended. */
  readonly inFlight: number;
  /** Describes the plugin's actions, routes and events. */
  describe(): InstanceDescription;
  /** Returns facts for status that depend on the execution mode. */
  facts(): Pick<PluginStatus, "pid" | "restarts" | "memory_mb" | "held_by" | "disk" | "instances">;
  /**
   * Runs an action and returns its result as JSON text, synchronously when the action needs no promise.
   * @throws RuntimeFault, directly or as the promise's rejection
   */
  call(action: string, payload: unknown, facts: CallFacts): string | Promise<string>;
  /** Runs the plugin's health check. @throws RuntimeFault `unhealthy` when no answer comes in time */
  health(timeoutMs: number): Promise<Required<HealthReport>>;
  deliver(event: string, payload: unknown, source: string): void;
  /** Serves a route of the plugin; undefined without routes. */
  handle?: (request: IncomingMessage, response: ServerResponse) => void;
  /** Resolves when nothing is in flight any more, or after `timeoutMs` milliseconds. */
  drain(timeoutMs: number): Promise<void>;
  /** Unloads the plugin; calls still in flight fail. */
  stop(): Promise<void>;
}

export interface InstanceDescription {
  actions: ReadonlyMap<string, ActionFacts>;
  /** Routes, without those of the plugin's own router. */
  routes: readonly RouteFacts[];
}

export interface RouteFacts {
  methods: readonly string[];
  /** Path below the plugin's name, in Fastify's form. */
  path: string;
  /** Undefined for a public route. */
  permissions: readonly string[] | undefined;
}

export interface CallFacts {
  requestId: string | undefined;
  /** Number of plugins in the call chain up to here; 0 for a caller from outside. */
  depth: number;
  /** Parent span of the call, even if the runtime exports none. */
  trace?: TraceContext | undefined;
  /** The payload as clean JSON text, where the caller sent it so. */
  payloadText?: string | undefined;
}

/** Parts that an instance is made from. */
export interface InstanceOptions {
  location: PluginLocation;
  descriptor: Descriptor;
  /** Real path of the entry point. */
  entry: string;
  env: Record<string, string>;
  /** Whether an older instance still serves. */
  replaces: boolean;
  logger: Logger;
  /** Port to services, events and other plugins. */
  port: PluginPort<CallFacts>;
  observer: InstanceObserver;
}

/** Observer of an instance between its start and its end. */
export interface InstanceObserver {
  /** Called when a frame of a sandbox was dropped: `unknown_id`, `late`, `malformed` or `unread`. */
  dropped(reason: string): void;
  /** Called when an audited plugin did something that a sandbox is refused. */
  used(use: Use): void;
  /** Called when a sandbox was refused the network. */
  denied(host: string): void;
  /** Called when the instance restarted its process. */
  restarted(): void;
  /** Called when the instance has given up; it serves no more calls. */
  failed(code: RuntimeCode, message: string): void;
}

/** Location of a plugin on this host. */
export interface PluginLocation {
  /** Name of the folder under the plugins folder: the id that it was deployed under. */
  id: string;
  /** Path of the folder in the plugins folder, a link where the agent deployed it. */
  path: string;
  /** Real path of the folder: the release. */
  folder: string;
  /** Real path of the host's store for its data, to which `data/` of every release links; undefined without one. */
  hostData: string | undefined;
}

/** Something that a plugin did and that is subject to a permission, a grant or the sandbox. */
export type Use =
  /** Use of a service, an event or another plugin: `permissions` of the descriptor. */
  | { what: "service"; target: string; action: string }
  /** HTTP exchange with a server, as `host:port`: `network`. */
  | { what: "host"; host: string }
  /** Use that Node's permission model would have refused, in its own words. */
  | { what: "node"; permission: string; resource: string };

/** Audit hook, called with every use. While set, permissions are recorded, not enforced. */
export type Auditor = (plugin: string, use: Use) => void;

/**
 * Node's permission model in the sandboxes of a runtime: `audited` reports what it would refuse, and lets it pass;
 * `absent` is for tests, which show that the wall holds alone.
 */
export type PermissionModel = "enforced" | "audited" | "absent";

import type { Descriptor } from "../../contract/files/descriptor.ts";
import type { DoubledAnswer, DoubledRequest } from "../../sdk/doubles.ts";
import type { Auditor, CallFacts, PluginInstance } from "../base/instance.ts";
import { messageOf, RequestFault, RuntimeFault } from "../guest/fault.ts";
import { parseJson } from "../guest/json.ts";
import type { PluginPort } from "../guest/plugin-port.ts";
import type { Service } from "../services/service.ts";
import type { Calls } from "./calls.ts";
import { isPermitted } from "./permissions.ts";

/** Most plugins that call each other in one chain. */
const MAX_CALL_DEPTH = 16;

/** Most events that one plugin listens to. */
const MAX_EVENTS = 256;

/** Instance of a plugin, from before it is loaded until after it is gone. */
export interface Caller {
  readonly descriptor: Descriptor;
  /** Instance while it serves: before and afterwards it gets no events. */
  readonly serving: PluginInstance | undefined;
}

/** Stand-ins for what a plugin under test requests. */
export interface StandIns {
  /** Loaded plugin that answers instead of services and other plugins, if there is one. */
  plugin: string | undefined;
  /** Returns advice about a missing service or plugin. */
  advice: (kind: string, name: string) => string;
}

/**
 * Handles everything that a plugin, trusted or sandboxed, requests of the runtime: services, events and other plugins.
 * All permissions are checked here.
 */
export class Broker {
  readonly #services: ReadonlyMap<string, Service>;
  readonly #calls: Calls;
  readonly #auditor: Auditor | undefined;
  readonly #standIns: StandIns | undefined;
  readonly #heard = new WeakMap<Caller, number>();
  readonly #listeners = new Map<string, Set<Caller>>();

  /**
   * @param services by target: `cache`, `database:<name>`, `extension:<name>`
   * @param auditor called with every request; permissions then refuse none
   * @param standIns of a trial
   */
  constructor(
    services: ReadonlyMap<string, Service>,
    calls: Calls,
    { auditor, standIns }: { auditor?: Auditor | undefined; standIns?: StandIns | undefined } = {},
  ) {
    this.#auditor = auditor;
    this.#standIns = standIns;
    this.#services = services;
    this.#calls = calls;
  }

  /** Returns the port of one plugin instance, bound to the permissions of its descriptor. */
  portFor(caller: Caller): PluginPort<CallFacts> {
    return {
      request: (target, method, parameters, call) => this.#request(caller, target, method, parameters, call),
    };
  }

  /** Removes the listeners of an instance. */
  forget(caller: Caller): void {
    for (const [event, listeners] of this.#listeners) {
      if (listeners.delete(caller) && listeners.size === 0) this.#listeners.delete(event);
    }
  }

  /**
   * Carries out a request. @throws RequestFault `permission_denied`, `service_unavailable`, `call_too_deep`, or with
   * the code of a failed call
   */
  async #request(
    caller: Caller,
    target: string,
    method: string,
    parameters: unknown[],
    call: CallFacts | undefined,
  ): Promise<unknown> {
    try {
      return await this.#perform(caller, target, method, parameters, call);
    } catch (error) {
      const { code, message } =
        error instanceof RuntimeFault ? error : { code: "internal" as const, message: messageOf(error) };
      throw new RequestFault(code, message, { cause: error });
    }
  }

  async #perform(
    caller: Caller,
    target: string,
    method: string,
    parameters: unknown[],
    call: CallFacts | undefined,
  ): Promise<unknown> {
    const { name, permissions, execution_mode } = caller.descriptor;
    this.#auditor?.(name, { what: "service", target, action: actionOf(target, method) });
    if (!this.#auditor && !isPermitted(permissions, execution_mode, target, actionOf(target, method))) {
      const rule = `{ resource: "${target}", actions: [${actionOf(target, method)}] }`;
      throw new RuntimeFault(
        "permission_denied",
        `${name} has no permission for ${method} on ${target}. ` +
          `It needs ${rule} among the permissions of its plugin.yaml, and no rule that denies it.`,
      );
    }
    const separator = target.indexOf(":");
    const kind = separator === -1 ? target : target.slice(0, separator);
    const rest = target.slice(separator + 1);
    if (kind === "events") return this.#event(caller, rest, method, parameters[0]);
    const doubled = name === this.#standIns?.plugin ? null : await this.#doubled({ target, method, parameters }, call);
    if (doubled !== null) {
      if ("answer" in doubled) return doubled.answer;
      throw new RuntimeFault(kind === "plugin" ? "action_failed" : "service_unavailable", doubled.failed);
    }
    if (kind === "plugin") return this.#callOther(rest, method, parameters[0], call);
    const service = this.#services.get(target);
    if (service === undefined) throw new RuntimeFault("service_unavailable", this.#lacks(kind, rest));
    return service.request(method, parameters, name);
  }

  /** Asks the stand-ins. @returns null where they have none for the target */
  async #doubled(request: DoubledRequest, call: CallFacts | undefined): Promise<DoubledAnswer | null> {
    const plugin = this.#standIns?.plugin;
    return plugin === undefined ? null : ((await this.#call(plugin, "request", request, call)) as DoubledAnswer | null);
  }

  async #callOther(plugin: string, action: string, payload: unknown, call: CallFacts | undefined): Promise<unknown> {
    try {
      return await this.#call(plugin, action, payload, call);
    } catch (error) {
      if (this.#standIns === undefined || !(error instanceof RuntimeFault) || error.code !== "plugin_not_found")
        throw error;
      const { code, message } = error;
      throw new RuntimeFault(code, `${message} ${this.#standIns.advice("plugin", plugin)}`, { cause: error });
    }
  }

  /** Describes which service the configuration lacks, and where it belongs. */
  #lacks(kind: string, name: string): string {
    if (this.#standIns !== undefined) return `The trial has no ${kind} ${name}. ${this.#standIns.advice(kind, name)}`;
    const others = [...this.#services.keys()]
      .filter((key) => key.startsWith(`${kind}:`))
      .map((key) => key.slice(kind.length + 1));
    const known = others.length === 0 ? "It has none." : `It has ${others.join(", ")}.`;
    return `The configuration has no ${kind} ${name}: add it to services.${kind}s of integration.yaml. ${known}`;
  }

  async #call(plugin: string, action: string, payload: unknown, call: CallFacts | undefined): Promise<unknown> {
    const depth = (call?.depth ?? 0) + 1;
    if (depth > MAX_CALL_DEPTH) {
      throw new RuntimeFault("call_too_deep", `Plugins call each other more than ${MAX_CALL_DEPTH} deep.`);
    }
    // A copy: the called plugin must not hold on to an object that the caller continues to change.
    const copy: unknown = payload === undefined ? {} : parseJson(JSON.stringify(payload) ?? "{}");
    const facts = { requestId: call?.requestId, depth, trace: call?.trace };
    return parseJson(await this.#calls.call(plugin, action, copy, facts));
  }

  #event(caller: Caller, event: string, method: string, payload: unknown): null {
    if (method === "listen") {
      const heard = (this.#heard.get(caller) ?? 0) + 1;
      if (heard > MAX_EVENTS)
        throw new RuntimeFault("service_unavailable", `A plugin listens to ${MAX_EVENTS} events.`);
      this.#heard.set(caller, heard);
      const listeners = this.#listeners.get(event) ?? new Set();
      this.#listeners.set(event, listeners.add(caller));
      return null;
    }
    if (method !== "emit") throw new RuntimeFault("service_unavailable", `Events have no method ${method}.`);
    const text = JSON.stringify(payload) ?? "null";
    for (const listener of this.#listeners.get(event) ?? []) {
      listener.serving?.deliver(event, parseJson(text), caller.descriptor.name);
    }
    return null;
  }
}

/** Returns the action of a request; for databases it depends on what the method does. */
function actionOf(target: string, method: string): string {
  if (!target.startsWith("database:")) return method;
  return method === "query" ? "read" : "write";
}

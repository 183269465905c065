import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { verifyPluginSignature } from "../../artifact/signatures/plugin-signature.ts";
import type { PluginContext } from "../../sdk/context.ts";
import type { HealthReport } from "../../sdk/definition.ts";
import { makeFolder } from "../../support/files.ts";
import { traceparentOf } from "../../support/trace-context.ts";
import { settledWithin, within } from "../../support/within.ts";
import { traceOf } from "../../support/work.ts";
import type { CallFacts, InstanceDescription, InstanceOptions, PluginInstance } from "../base/instance.ts";
import { type CallScope, ContextFactory } from "../guest/context.ts";
import { askHealth, type LoadedPlugin, type PluginAction, readPlugin } from "../guest/definition.ts";
import { faultOfAction, messageOf, RuntimeFault } from "../guest/fault.ts";
import { serialiseResult } from "../guest/json.ts";
import { describeLoadError } from "../guest/syntax-error.ts";
import type { TokenVerifier } from "../router/bearer-token.ts";
import { createPluginRouter, type PluginRouter, type ServedRoute } from "../router/plugin-router.ts";
import type { Guard } from "../watchdog/watchdog.ts";
import type { ModuleLoader } from "./module-loader.ts";

/** Parts shared by all trusted plugins of a runtime. */
export interface TrustedSetting {
  strict: boolean;
  signatureKey: string | undefined;
  verifyToken: TokenVerifier;
  /** `/plugin`. */
  prefix: string;
  bodyLimit: number;
  /** Time limit for loading one plugin, in milliseconds. */
  startTimeoutMs: number;
  databases: string[];
  extensions: string[];
  /** Returns a runner that attributes any block of the event loop to a plugin. */
  guardOf(plugin: string): Guard;
}

async function checkSignature({ location, descriptor }: InstanceOptions, setting: TrustedSetting): Promise<void> {
  if (!setting.strict) return;
  if (setting.signatureKey === undefined) {
    const message =
      "strict_trusted asks for a signature, and the configuration has no plugins.secret_key to check it with.";
    throw new RuntimeFault("signature_missing", message);
  }
  const { name, version, entry_point } = descriptor;
  const facts = { name, version, entryPoint: entry_point };
  const verdict = await verifyPluginSignature(location.folder, facts, setting.signatureKey);
  if (!verdict.valid) throw new RuntimeFault(verdict.code, `strict_trusted: ${verdict.reason}.`);
}

/** Returns the plugin's routes with handlers that run under the watchdog, each request with a context of its own. */
const servedRoutes = ({ routes }: LoadedPlugin, context: PluginContext, guard: Guard): ServedRoute[] =>
  routes.map(({ method, path, permissions, handler }) => ({
    ...{ methods: [method].flat(), path, permissions },
    handler: (request, reply) => {
      const trace = traceOf(request.raw);
      const own = Object.create(context, {
        requestId: { value: request.id, enumerable: true },
        traceparent: { value: trace && traceparentOf(trace), enumerable: true },
      }) as PluginContext;
      return guard(() => handler(request, reply, own));
    },
  }));

const isPromise = (value: unknown): value is Promise<unknown> =>
  typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";

/** Part of a plugin's context that one call adds. The signal is created on use, since most calls need none. */
class TrustedCall implements CallScope, CallFacts {
  readonly requestId: string | undefined;
  readonly depth: number;
  readonly trace: CallFacts["trace"];
  #controller: AbortController | undefined;

  constructor({ requestId, depth, trace }: CallFacts) {
    this.requestId = requestId;
    this.depth = depth;
    this.trace = trace;
  }

  get traceparent(): string | undefined {
    return this.trace && traceparentOf(this.trace);
  }

  signal(): AbortSignal {
    return (this.#controller ??= new AbortController()).signal;
  }

  abort(reason: Error): void {
    this.#controller?.abort(reason);
  }
}

/** Trusted plugin: its code runs, unconfined, in the runtime's own process. */
export class TrustedInstance implements PluginInstance {
  readonly mode = "trusted";
  readonly actions: ReadonlySet<string>;
  readonly handle?: (request: IncomingMessage, response: ServerResponse) => void;
  readonly #options: InstanceOptions;
  readonly #setting: TrustedSetting;
  readonly #plugin: LoadedPlugin;
  readonly #contexts: ContextFactory<TrustedCall>;
  readonly #loader: ModuleLoader;
  readonly #router: PluginRouter | undefined;
  readonly #timeoutMs: number;
  readonly #guard: Guard;
  readonly #generation: number | undefined;
  #inFlight = 0;
  #idle: PromiseWithResolvers<void> | undefined;

  private constructor(
    options: InstanceOptions,
    setting: TrustedSetting,
    loader: ModuleLoader,
    {
      plugin,
      contexts,
      router,
    }: { plugin: LoadedPlugin; contexts: ContextFactory<TrustedCall>; router: PluginRouter | undefined },
  ) {
    this.#options = options;
    this.#setting = setting;
    this.#loader = loader;
    this.#plugin = plugin;
    this.#contexts = contexts;
    this.#router = router;
    this.#generation = loader.generationOf(options.location.folder);
    this.#timeoutMs = options.descriptor.resources.timeout_seconds * 1000;
    this.#guard = setting.guardOf(options.descriptor.name);
    this.actions = new Set(plugin.actions.keys());
    if (router) this.handle = (request, response) => this.#serve(router, request, response);
  }

  /** Checks the signature, loads the code and runs onLoad. @throws RuntimeFault with the reason that it cannot run */
  static async load(options: InstanceOptions, setting: TrustedSetting, loader: ModuleLoader): Promise<TrustedInstance> {
    await checkSignature(options, setting);
    const { location, descriptor, entry, env, logger, replaces, port } = options;
    const dataDir = join(location.folder, "data");
    await makeFolder(dataDir).catch(() => logger.warn("the plugin's data folder cannot be made"));
    const guard = setting.guardOf(descriptor.name);
    const { name, version, config } = descriptor;
    const { databases, extensions } = setting;
    const facts = { name, version, config, env, dataDir, databases, extensions };
    const contexts = new ContextFactory<TrustedCall>(facts, port, (level, message, fields) =>
      logger[level]({ fields }, message),
    );
    let router: PluginRouter | undefined;
    try {
      const start = async (): Promise<LoadedPlugin> => {
        const plugin = await readPlugin(await guard(() => loader.load(entry, location.folder)));
        await guard(() => contexts.configure(plugin));
        await guard(() => plugin.onLoad?.(contexts.base));
        router = await createPluginRouter({
          routes: servedRoutes(plugin, contexts.base, guard),
          router: plugin.router,
          prefix: `${setting.prefix}/${name}`,
          logger,
          verifyToken: setting.verifyToken,
          bodyLimit: setting.bodyLimit,
          maxBodyValues: options.descriptor.runtime.max_body_values,
        });
        if (replaces) await guard(() => plugin.onReload?.(contexts.base));
        return plugin;
      };
      const plugin = await within(start(), setting.startTimeoutMs, () => {
        return new RuntimeFault("load_failed", `The plugin was not ready after ${setting.startTimeoutMs} ms.`);
      });
      return new TrustedInstance(options, setting, loader, { plugin, contexts, router });
    } catch (error) {
      contexts.unload();
      await router?.close();
      // A reload that fails in the folder of the running instance must not remove that instance's hooks.
      if (!replaces) loader.unload(location.folder, loader.generationOf(location.folder));
      if (error instanceof RuntimeFault) throw error;
      throw new RuntimeFault("load_failed", describeLoadError(error, messageOf(error), location.folder), {
        cause: error,
      });
    }
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  describe(): InstanceDescription {
    const routes = this.#plugin.routes.map(({ method, path, permissions }) => ({
      methods: [method].flat(),
      path,
      permissions,
    }));
    return { actions: this.#plugin.actions, routes };
  }

  facts(): Record<string, never> {
    return {};
  }

  call(action: string, payload: unknown, facts: CallFacts): string | Promise<string> {
    const found = this.#plugin.actions.get(action);
    if (found === undefined) throw new RuntimeFault("action_not_found", `There is no action ${action}.`);
    const scope = new TrustedCall(facts);
    this.#inFlight++;
    let isPending = false;
    try {
      const outcome = this.#start(found, payload, this.#contexts.forCall(scope));
      if (!isPromise(outcome)) return serialiseResult(outcome);
      isPending = true;
      return this.#finish(action, outcome, scope);
    } catch (error) {
      throw faultOfAction(error);
    } finally {
      if (!isPending) this.#leave();
    }
  }

  async health(timeoutMs: number): Promise<Required<HealthReport>> {
    return within(askHealth(this.#plugin, this.#contexts.base), timeoutMs, () => {
      return new RuntimeFault("unhealthy", `The plugin did not answer its health check within ${timeoutMs / 1000} s.`);
    });
  }

  deliver(event: string, payload: unknown, source: string): void {
    this.#contexts.listeners.deliver(event, payload, source);
  }

  async drain(timeoutMs: number): Promise<void> {
    if (this.#inFlight === 0) return;
    this.#idle ??= Promise.withResolvers();
    await settledWithin(this.#idle.promise, timeoutMs);
  }

  async stop(): Promise<void> {
    this.#contexts.unload();
    await this.#router?.close();
    try {
      const unloaded = (async () => this.#plugin.onUnload?.(this.#contexts.base))();
      await within(unloaded, this.#setting.startTimeoutMs, () => new Error("onUnload took too long"));
    } catch (error) {
      this.#options.logger.error({ err: error }, "onUnload failed");
    }
    this.#loader.unload(this.#options.location.folder, this.#generation);
  }

  #start({ check, run }: PluginAction, payload: unknown, context: PluginContext): unknown {
    if (check === undefined) return this.#guard(() => run(payload, context));
    const checked = check(payload);
    if (!isPromise(checked)) return this.#guard(() => run(checked, context));
    return checked.then((value) => this.#guard(() => run(value, context)));
  }

  async #finish(action: string, outcome: Promise<unknown>, scope: TrustedCall): Promise<string> {
    try {
      const result = await within(outcome, this.#timeoutMs, () => {
        const fault = new RuntimeFault(
          "timed_out",
          `The action ${action} took longer than ${this.#timeoutMs / 1000} s.`,
        );
        scope.abort(fault);
        return fault;
      });
      return serialiseResult(result);
    } catch (error) {
      throw faultOfAction(error);
    } finally {
      this.#leave();
    }
  }

  #serve(router: PluginRouter, request: IncomingMessage, response: ServerResponse): void {
    this.#inFlight++;
    response.once("close", () => this.#leave());
    router.handle(request, response);
  }

  #leave(): void {
    if (--this.#inFlight > 0) return;
    this.#idle?.resolve();
    this.#idle = undefined;
  }
}
